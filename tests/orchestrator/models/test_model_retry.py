from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from orchestrator.models.errors import (
    BadModelReply,
    MissingKey,
    ModelOverloaded,
    ModelRefused,
    ModelTimeout,
)
from orchestrator.models.retry import RetryPolicy, call
from orchestrator.models.sdk_errors import retry_after


class Time:
    """A clock that only moves when somebody sleeps on it or says so."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.waits: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds

    def policy(self, retries: int, deadline_s: float = 600, jitter: float = 1.0) -> RetryPolicy:
        return RetryPolicy(retries, deadline_s, self.sleep, lambda: self.now, lambda: jitter)


def failing(*errors: Exception) -> Callable[[float], str]:
    left = list(errors)

    def attempt(_seconds: float) -> str:
        if left:
            raise left.pop(0)
        return "answer"

    return attempt


def test_waits_double_up_to_thirty_seconds() -> None:
    time = Time()
    errors = [BadModelReply("500")] * 8
    assert call(failing(*errors), time.policy(8)) == "answer"
    assert time.waits == [0.5, 1, 2, 4, 8, 16, 30, 30]


def test_jitter_takes_away_up_to_half() -> None:
    time = Time()
    call(failing(*[BadModelReply("500")] * 3), time.policy(3, jitter=0.0))
    assert time.waits == [0.25, 0.5, 1]


def test_the_servers_wish_is_honoured_with_a_little_added() -> None:
    time = Time()
    errors = [ModelOverloaded("429", retry_after=7), ModelOverloaded("429", retry_after=0)]
    call(failing(*errors), time.policy(2))
    assert time.waits == [7.05, 0.1]


def test_the_last_failure_comes_out() -> None:
    time = Time()
    last = ModelRefused("no")
    with pytest.raises(ModelRefused) as caught:
        call(failing(BadModelReply("500"), BadModelReply("500"), last), time.policy(2))
    assert caught.value is last
    assert len(time.waits) == 2


@pytest.mark.parametrize(
    "error", [MissingKey("k"), ModelRefused("no", retryable=False), ZeroDivisionError()]
)
def test_what_cannot_get_better_is_not_tried_again(error: Exception) -> None:
    time = Time()
    with pytest.raises(type(error)):
        call(failing(error), time.policy(5))
    assert time.waits == []


def test_no_wait_is_begun_that_ends_behind_the_deadline() -> None:
    time = Time()
    with pytest.raises(ModelOverloaded):
        call(failing(ModelOverloaded("429", retry_after=60)), time.policy(5, deadline_s=60))
    assert time.waits == []


def test_each_try_is_told_what_is_left() -> None:
    time = Time()
    told: list[float] = []

    def attempt(seconds: float) -> str:
        told.append(seconds)
        time.now += 10
        raise BadModelReply("500")

    with pytest.raises(BadModelReply):
        call(attempt, time.policy(5, deadline_s=33))
    # 10 s each and waits of 0.5, 1 and 2 s: the fourth try would begin 33.5 s in
    assert told == [33, 22.5, 11.5]
    assert time.waits == [0.5, 1]


def test_a_wait_that_overslept_ends_the_call() -> None:
    time = Time()

    def oversleep(seconds: float) -> None:
        time.now += seconds + 100

    policy = RetryPolicy(5, 60, oversleep, lambda: time.now, lambda: 1.0)
    with pytest.raises(ModelTimeout):
        call(failing(BadModelReply("500")), policy)


NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "Thu, 01 Jan 2026 12:00:30 GMT"}, 30),
        ({"retry-after": "Thu, 01 Jan 2026 11:00:00 GMT"}, 0),
        (  # the server's clock is an hour ahead of ours; only the difference counts
            {
                "date": "Thu, 01 Jan 2026 13:00:00 GMT",
                "retry-after": "Thu, 01 Jan 2026 13:00:05 GMT",
            },
            5,
        ),
        ({"retry-after": "-3"}, 0),
        ({"retry-after": "inf"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "Thu, 99 Foo 2026"}, None),
        ({"retry-after-ms": "x", "retry-after": "2"}, 2),
        ({}, None),
    ],
)
def test_retry_after_in_all_its_forms(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOW) == seconds
