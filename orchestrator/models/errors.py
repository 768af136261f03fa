"""How a model call can fail, one flat list.

`ModelFailure` and its kinds are infrastructure: retried, and if they persist the episode is
*missing*. The others derive from `SlowwaveError` directly, because trying again cannot help (no
key, no such model, no money) or because the request itself is at fault (`PromptTooLong`,
`RequestRejected`). Those two must not make an episode missing: a scaffold could then make its
losing games disappear by writing a prompt that no server takes.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Literal

from orchestrator.errors import InfrastructureError, SlowwaveError
from orchestrator.models.base import Usage

BudgetKind = Literal["money", "tokens", "hours", "calls"]


class ModelFailure(InfrastructureError):
    """A model could not be asked or did not answer properly.

    Args:
        message: What happened, at which address.
        mend: What to do about it.
        retryable: Whether the same request may succeed later; the class's own answer if omitted.
        usage: What the failed try is known to have used.
        billed: False if the server surely charged nothing; True if it did or may have. Without
            `usage`, a try that may have been billed is settled at what was reserved for it.
    """

    retryable: bool = True

    def __init__(
        self,
        message: str,
        *,
        mend: str | None = None,
        retryable: bool | None = None,
        usage: Usage | None = None,
        billed: bool = True,
    ) -> None:
        """Keep what the retry and the ledger need to know."""
        super().__init__(message, mend=mend)
        if retryable is not None:
            self.retryable = retryable
        self.usage = usage
        self.billed = billed


class ModelTimeout(ModelFailure):
    """The server took longer than `timeout_s` or `deadline_s` allows."""


class ModelOverloaded(ModelFailure):
    """The server has no room now (429, 503, 529, or "overloaded" in mid-stream).

    Args:
        retry_after: Seconds that the server asked to wait; ``None`` if it did not say.
    """

    def __init__(
        self,
        message: str,
        *,
        mend: str | None = None,
        retry_after: float | None = None,
        retryable: bool | None = None,
        billed: bool = False,
    ) -> None:
        """Keep the server's wish, which the retry honours."""
        super().__init__(message, mend=mend, retryable=retryable, billed=billed)
        self.retry_after = retry_after


class ModelUnreachable(ModelFailure):
    """No connection to the server, or it broke."""


class ModelRefused(ModelFailure):
    """The model or a content filter would not answer."""


class BadModelReply(ModelFailure):
    """The server answered with something that is not a whole completion."""


class MissingKey(SlowwaveError):
    """A key is not there, or the server does not accept it.

    Args:
        variable: The environment variable it is expected in; ``None`` if none is configured.
    """

    retryable = False

    def __init__(
        self, message: str, *, mend: str | None = None, variable: str | None = None
    ) -> None:
        """Keep the variable's name, never its value."""
        super().__init__(message, mend=mend)
        self.variable = variable


class UnknownModel(SlowwaveError):
    """The server does not have the model.

    Args:
        model: The name asked for.
        known: The names that the server has, if it would say.
    """

    retryable = False

    def __init__(
        self, message: str, *, mend: str | None = None, model: str, known: tuple[str, ...] = ()
    ) -> None:
        """Keep what was asked for and what there is."""
        super().__init__(message, mend=mend)
        self.model = model
        self.known = known


class PromptTooLong(SlowwaveError):
    """The conversation does not fit the model's context: the scaffold's doing."""

    retryable = False


class RequestRejected(SlowwaveError):
    """The server calls the request wrong (400, 413, 422): the scaffold's or configuration's."""

    retryable = False


class BudgetExhausted(SlowwaveError):
    """A limit leaves no room for the next call; what is running stops, nothing is lost.

    Args:
        kind: Which limit.
        value: What the call would have brought the sum to.
        limit: How much is allowed.
        where: Where the limit was set.
    """

    retryable = False

    def __init__(
        self,
        kind: BudgetKind,
        *,
        value: Decimal | int | float,
        limit: Decimal | int | float,
        where: str,
    ) -> None:
        """Say which limit, by how much, and where to change it."""
        shown, allowed = _amount(kind, value), _amount(kind, limit)
        reason = (
            f"the night has run for {shown}"
            if kind == "hours"
            else f"the next call could bring it to {shown}"
        )
        super().__init__(
            f"The {kind} budget is spent: {reason}, and the limit is {allowed} ({where}).",
            mend="Everything finished so far is kept; raise the limit for the next night.",
        )
        self.kind: BudgetKind = kind
        self.value = value
        self.limit = limit
        self.where = where


class StoreFailure(SlowwaveError):
    """The ledger or a journal cannot be read or written."""

    retryable = False


class DuplicateCall(SlowwaveError):
    """A ledger key was used again for another amount or another night: a bug in the caller."""

    retryable = False


def _amount(kind: BudgetKind, value: Decimal | int | float) -> str:
    if kind == "money":
        return f"{Decimal(value):.4f} USD"
    if kind == "hours":
        return f"{value:.2f} hours"
    return f"{value:,} {kind}"
