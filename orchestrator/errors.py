"""Errors that a person reads.

Every error that can reach a user derives from `SlowwaveError` and carries the mend beside the
message. `InfrastructureError` marks what was not the agent's fault: an episode that meets one is
*missing* and is retried, never scored as a bad game.
"""

from __future__ import annotations


class SlowwaveError(Exception):
    """Something a user can act on.

    Args:
        message: What happened, to which file or id, in one sentence.
        mend: What to do about it, in one sentence; ``None`` if nothing can be advised.
    """

    exit_code = 1

    def __init__(self, message: str, *, mend: str | None = None) -> None:
        """Keep the message and the mend apart, so that ``--json`` can show both."""
        super().__init__(message)
        self.message = message
        self.mend = mend

    def __str__(self) -> str:
        """The sentence with its mend."""
        return f"{self.message} {self.mend}" if self.mend else self.message

    def __reduce__(self) -> tuple[object, ...]:
        """Survive the trip between processes with every attribute."""
        return (_rebuild, (type(self), self.args, self.__dict__.copy()))


def _rebuild(
    kind: type[SlowwaveError], args: tuple[object, ...], state: dict[str, object]
) -> SlowwaveError:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(state)
    return error


class InfrastructureError(SlowwaveError):
    """The machinery failed, not the agent: the episode is missing and may be retried."""


class UsageError(SlowwaveError):
    """The command was asked for something that cannot be done as asked."""

    exit_code = 2
