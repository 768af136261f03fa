from __future__ import annotations

import pickle
from decimal import Decimal

import pytest

from orchestrator.errors import InfrastructureError, SlowwaveError
from orchestrator.models.base import Usage
from orchestrator.models.errors import (
    BadModelReply,
    BudgetExhausted,
    DuplicateCall,
    MissingKey,
    ModelFailure,
    ModelOverloaded,
    ModelRefused,
    ModelTimeout,
    ModelUnreachable,
    PromptTooLong,
    RequestRejected,
    StoreFailure,
    UnknownModel,
)

ALL: list[SlowwaveError] = [
    ModelTimeout("m", mend="n"),
    ModelOverloaded("m", retry_after=3.5),
    ModelUnreachable("m", billed=False),
    ModelRefused("m", usage=Usage(1, 2), retryable=False),
    BadModelReply("m"),
    MissingKey("m", variable="V"),
    UnknownModel("m", model="x", known=("y",)),
    PromptTooLong("m"),
    RequestRejected("m"),
    BudgetExhausted("money", value=Decimal("5.1"), limit=Decimal(5), where="here"),
    StoreFailure("m"),
    DuplicateCall("m"),
]


@pytest.mark.parametrize("error", ALL, ids=lambda error: type(error).__name__)
def test_every_failure_survives_the_trip_between_processes(error: SlowwaveError) -> None:
    back = pickle.loads(pickle.dumps(error))
    assert type(back) is type(error)
    assert str(back) == str(error)
    assert vars(back) == vars(error)
    assert back.retryable == error.retryable  # type: ignore[attr-defined]


def test_only_failures_of_the_machinery_make_an_episode_missing() -> None:
    missing = {type(error) for error in ALL if isinstance(error, InfrastructureError)}
    assert missing == {
        ModelTimeout,
        ModelOverloaded,
        ModelUnreachable,
        ModelRefused,
        BadModelReply,
    }
    assert all(issubclass(kind, ModelFailure) for kind in missing)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (
            BudgetExhausted(
                "money", value=Decimal("5.01"), limit=Decimal(5), where="slowwave.toml, [budget]"
            ),
            "The money budget is spent: the next call could bring it to 5.0100 USD, and the "
            "limit is 5.0000 USD (slowwave.toml, [budget]).",
        ),
        (
            BudgetExhausted("tokens", value=1_000_001, limit=1_000_000, where="--tokens"),
            "The tokens budget is spent: the next call could bring it to 1,000,001 tokens, and "
            "the limit is 1,000,000 tokens (--tokens).",
        ),
        (
            BudgetExhausted("hours", value=8.004, limit=8, where="--hours"),
            "The hours budget is spent: the night has run for 8.00 hours, and the limit is 8.00 "
            "hours (--hours).",
        ),
    ],
)
def test_a_spent_budget_says_which_and_where_it_is_set(error: BudgetExhausted, text: str) -> None:
    assert error.message == text
