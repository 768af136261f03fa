"""What an editor is: from a champion and how it played to one candidate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from orchestrator.episodes.spec import EpisodeResult
from orchestrator.scaffolds.revision import EditorView, Proposal


@dataclass(frozen=True, slots=True)
class Failed:
    """A candidate of the night that was rejected against the champion that still stands.

    Attributes:
        view: What an editor may know of it.
        files: Its files by path.
        episodes: Its episodes on the propose bank, on the champion's seeds.
    """

    view: EditorView
    files: Mapping[str, bytes]
    episodes: Sequence[EpisodeResult]


@dataclass(frozen=True, slots=True)
class Brief:
    """What an editor may see.

    Attributes:
        night: Id of the night.
        number: The candidate's number in the night, from 1.
        environment: Environment family, e.g. ``crafter``.
        files: The champion's files by path.
        episodes: The champion's episodes on the propose bank.
        history: What was tried before on this lineage, newest first, with the bare word of each
            verdict.
        lineage: The edits in force in the champion, oldest first, by subject.
        others: What other lineages accepted, by lineage, newest first.
        champion: The champion's tree hash.
        place: The candidate's place among those that are made from this champion before any is
            judged, from 1.
        proposals: How many these are at most; they are then judged against each other.
        failed: A rejected candidate that may be gone on from.
    """

    night: str
    number: int
    environment: str
    files: Mapping[str, bytes]
    episodes: Sequence[EpisodeResult]
    history: Sequence[EditorView]
    lineage: Sequence[str]
    others: Mapping[str, Sequence[EditorView]]
    champion: str = ""
    place: int = 1
    proposals: int = 1
    failed: Failed | None = None


Changes = Mapping[str, bytes | None]
"""Changed files by path; ``None`` deletes."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A candidate before it is committed: the changed files (``None`` deletes) and the reasons."""

    changes: Changes
    proposal: Proposal


@dataclass(frozen=True, slots=True)
class Trial:
    """A short episode with a draft.

    Attributes:
        refusal: Why the draft would be refused; empty if it may go to the gate.
        episode: How the episode went; ``None`` if none was played.
    """

    refusal: str
    episode: EpisodeResult | None


class Bench(Protocol):
    """What is done for an editor while it works, on the champion that it revises."""

    def try_it(self, changes: Changes) -> Trial:
        """Check a draft, and play a short episode with it, before anything expensive."""

    def diff(self, name: str) -> str:
        """What a revision of the history changed, as a unified difference."""


class ScaffoldEditor(Protocol):
    """Proposes one candidate at a time.

    Attributes:
        name: For commits: ``rules``, or provider and model.
        continues: It looks at a rejected candidate and may go on from it, so that it is worth
            having that one play the propose bank.
    """

    name: str
    continues: bool

    def propose(self, brief: Brief, bench: Bench) -> Draft | None:
        """The next candidate; ``None`` when the editor has nothing left to try."""

    def settle(self, night: str, number: int) -> None:
        """This candidate is committed: what was kept in case of a crash may go.

        Said again by a night that goes on after a crash, of what the unfinished round had
        committed.
        """
