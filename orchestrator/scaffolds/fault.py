"""A fault of a scaffold: where it is, what it is, how to mend it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.errors import SlowwaveError

_SHOWN = 8


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """One thing that is wrong with a scaffold.

    Args:
        file: Path inside the scaffold.
        line: Line in it, from 1; None if the fault is not of a line.
        message: What is wrong, without the place and without a full stop.
        mend: What to do about it, as a sentence.
    """

    file: str
    line: int | None
    message: str
    mend: str

    def __str__(self) -> str:
        """The fault as a person reads it, place first."""
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {self.message}. {self.mend}"


class BrokenScaffold(SlowwaveError):
    """A scaffold has faults that keep it from being played.

    Args:
        where: Which scaffold.
        faults: What is wrong with it.
    """

    def __init__(self, where: str, faults: Sequence[Fault]) -> None:
        shown = "\n".join(f"  {fault}" for fault in faults[:_SHOWN])
        more = f"\n  and {len(faults) - _SHOWN} more" if len(faults) > _SHOWN else ""
        count = "1 fault" if len(faults) == 1 else f"{len(faults)} faults"
        super().__init__(f"The scaffold {where} has {count}:\n{shown}{more}")
        self.where = where
        self.faults = tuple(faults)


def raise_for_faults(faults: Sequence[Fault], where: str) -> None:
    """Raise BrokenScaffold if there are any faults.

    Args:
        faults: What a check found.
        where: Which scaffold, for the message: a folder, or a revision's name.
    """
    if faults:
        raise BrokenScaffold(where, faults)
