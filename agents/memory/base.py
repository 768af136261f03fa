"""What a memory backend is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


class MemoryRefusal(Exception):
    """An operation was refused; the text is for whoever asked: the model or a hook."""


@dataclass(frozen=True, slots=True)
class MemoryResult:
    """What one operation returned and did.

    Attributes:
        text: The result, for the model to read.
        matches: Lines found, for a search or count; ``None`` otherwise.
        novel: For a write, whether it added a line the file did not already hold (white space and
            step numbers aside); ``None`` for a read.
    """

    text: str
    matches: int | None = None
    novel: bool | None = None


@dataclass(frozen=True, slots=True)
class MemoryStats:
    """Size of memory: number of files and characters in all of them."""

    files: int
    characters: int


class MemoryBackend(Protocol):
    """How a scaffold remembers; the host carries out every operation.

    An operation is the name of a command (``SEARCH``) or of a hook's access (``TEXT``), with its
    arguments as text. `MemoryRefusal` is raised for what cannot be done, with the reason.
    """

    def begin_episode(self, seed_files: Mapping[str, str]) -> None:
        """Start an episode from the scaffold's seed memory."""

    def run(self, operation: str, arguments: Sequence[str]) -> MemoryResult:
        """Carry out one operation."""

    def end_episode(self, outcome: str) -> None:
        """Close an episode; a backend that persists learns from it here."""

    def snapshot(self) -> dict[str, str]:
        """Everything remembered, as text by name."""

    def restore(self, snapshot: Mapping[str, str]) -> None:
        """Go back to a snapshot."""

    def stats(self) -> MemoryStats:
        """How large memory is."""

    @property
    def operations(self) -> Mapping[str, Any]:
        """Operation names with what they need."""
