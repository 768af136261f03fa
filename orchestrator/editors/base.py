"""What an editor is: from a champion and how it played to one candidate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from orchestrator.episodes.spec import EpisodeResult
from orchestrator.scaffolds.revision import EditorView, Proposal


@dataclass(frozen=True, slots=True)
class Brief:
    """What an editor may see.

    Attributes:
        night: Id of the night.
        environment: Environment family, e.g. ``crafter``.
        files: The champion's files by path.
        episodes: The champion's episodes on the propose bank.
        history: What was tried before on this lineage, newest first, with the bare word of each
            verdict.
        lineage: The edits in force in the champion, oldest first, by subject.
    """

    night: str
    environment: str
    files: Mapping[str, bytes]
    episodes: Sequence[EpisodeResult]
    history: Sequence[EditorView]
    lineage: Sequence[str]


@dataclass(frozen=True, slots=True)
class Draft:
    """A candidate before it is committed: the changed files (``None`` deletes) and the reasons."""

    changes: Mapping[str, bytes | None]
    proposal: Proposal


class ScaffoldEditor(Protocol):
    """Proposes one candidate at a time."""

    name: str

    def propose(self, brief: Brief) -> Draft | None:
        """The next candidate; ``None`` when the editor has nothing left to try."""
