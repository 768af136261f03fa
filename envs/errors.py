"""What can go wrong in an environment, as a flat list."""

from __future__ import annotations


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


class InvalidAction(EnvironmentFault):
    """The action is not in the environment's vocabulary; the game has not moved."""


class InvalidSeed(EnvironmentFault):
    """The seed is not a whole number that the environment can take."""


class EpisodeNotRunning(EnvironmentFault):
    """`step` was called before `reset`, or after the episode had ended."""
