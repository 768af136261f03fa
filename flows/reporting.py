"""Who is told how a flow gets on.

Flows take plain data, so that Prefect can store and hand on their parameters; whoever wants to
watch one in this process says so here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Reporter(Protocol):
    """Told what happens."""

    def say(self, text: str) -> None:
        """One line for a person."""

    def advance(self, label: str, done: int, total: int) -> None:
        """How many episodes of a set are there."""


class Silence:
    """Tells nobody."""

    def say(self, text: str) -> None:
        """Nothing."""

    def advance(self, label: str, done: int, total: int) -> None:
        """Nothing."""


_reporters: list[Reporter] = [Silence()]


def reporter() -> Reporter:
    """The one who is told now."""
    return _reporters[-1]


@contextmanager
def report_to(listener: Reporter) -> Iterator[None]:
    """Tell `listener` what happens inside the block."""
    _reporters.append(listener)
    try:
        yield
    finally:
        _reporters.remove(listener)
