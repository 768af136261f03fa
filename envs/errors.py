"""What can go wrong in an environment, as a flat list."""

from __future__ import annotations

import difflib
import errno
from collections.abc import Sequence

LISTED = 40
"""Longest vocabulary that a message spells out."""


class EnvironmentFault(Exception):
    """The base of every error of this room.

    Args:
        message: What happened, to which environment or action, in one sentence.
        mend: What to do about it, in one sentence; ``None`` if nothing can be advised.
    """

    def __init__(self, message: str, *, mend: str | None = None) -> None:
        """Keep the message and the mend apart, so that a caller can show both."""
        super().__init__(message)
        self.message = message
        self.mend = mend

    def __str__(self) -> str:
        """The sentence with its mend."""
        return f"{self.message} {self.mend}" if self.mend else self.message

    def __reduce__(self) -> tuple[object, ...]:
        """Survive the trip between processes with the mend."""
        return (_rebuild, (type(self), self.message, self.mend))


def _rebuild(kind: type[EnvironmentFault], message: str, mend: str | None) -> EnvironmentFault:
    return kind(message, mend=mend)


class UnknownEnvironment(EnvironmentFault):
    """No environment has this id or this short name."""


class EnvironmentUnavailable(EnvironmentFault):
    """The environment is known, but a package or a file that it needs is missing here."""


class BadLevels(EnvironmentFault):
    """Level files that were to be added are missing or faulty; nothing has been added."""


class EnvironmentBroken(EnvironmentFault):
    """An environment broke its contract while it was played; its scores cannot be trusted."""


class InvalidAction(EnvironmentFault):
    """The action is not in the environment's vocabulary; the game has not moved."""


class InvalidSeed(EnvironmentFault):
    """The seed is not a whole number that the environment can take."""


class EpisodeNotRunning(EnvironmentFault):
    """`step` was called before `reset`, or after the episode had ended."""


def invalid_action(environment: str, action: object, actions: Sequence[str]) -> InvalidAction:
    """The refusal of an action: names it, the nearest that exists, and the vocabulary."""
    close = difflib.get_close_matches(str(action).strip().lower(), actions, n=1, cutoff=0.5)
    hint = f"Did you mean {close[0]!r}? " if close else ""
    shown = ", ".join(actions[:LISTED])
    more = f" and {len(actions) - LISTED} more" if len(actions) > LISTED else ""
    return InvalidAction(
        f"{environment} has no action {str(action)[:80]!r}.",
        mend=f"{hint}Its actions are {shown}{more}.",
    )


def invalid_seed(environment: str, seed: object, largest: int) -> InvalidSeed:
    """The refusal of a seed."""
    return InvalidSeed(
        f"{environment} cannot start from the seed {seed!r}.",
        mend=f"Use a whole number from 0 to {largest}.",
    )


def not_running(environment: str, why: str) -> EpisodeNotRunning:
    """The refusal of a step where no game is under way."""
    return EpisodeNotRunning(
        f"{environment} cannot play a step: {why}.", mend="Call reset(seed) first."
    )


_MACHINE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.ENOMEM, errno.EMFILE, errno.ENFILE})


def is_of_the_machine(error: BaseException) -> bool:
    """Whether an error tells of a full disk or too little memory, and not of the environment."""
    if isinstance(error, OSError):
        return error.errno in _MACHINE
    return isinstance(error, MemoryError)
