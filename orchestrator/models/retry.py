"""The one place that tries a model call again.

Clients never retry by themselves and the SDKs' own retry is off; nesting two would multiply waits
and hide spending. Waits grow exponentially with jitter, a server's ``retry-after`` is honoured,
and no wait is begun that could not end before the call's deadline.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from tenacity import RetryCallState, Retrying, retry_if_exception

from orchestrator.models.errors import ModelFailure, ModelOverloaded, ModelTimeout

T = TypeVar("T")

FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 30.0


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How patient to be.

    Args:
        max_retries: Tries after the first.
        deadline_s: Seconds for all tries and waits together.
        sleep: Waits that many seconds.
        clock: A monotonic clock in seconds.
        jitter: A number in [0, 1), drawn for each wait.
    """

    max_retries: int
    deadline_s: float
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    jitter: Callable[[], float] = random.random


def call(attempt: Callable[[float], T], policy: RetryPolicy) -> T:
    """Try until it works, or until it cannot be expected to.

    Args:
        attempt: One try; it is told how many seconds are left and has to end within them.
        policy: How often and how long.

    Returns:
        What the first successful try returned.

    Raises:
        ModelFailure: The last try's failure.
    """
    end = policy.clock() + policy.deadline_s

    def left() -> float:
        return end - policy.clock()

    def once() -> T:
        seconds = left()
        if seconds <= 0:
            raise ModelTimeout(
                f"The model call did not end within its {policy.deadline_s:g} s.",
                retryable=False,
                billed=False,
            )
        return attempt(seconds)

    def stop(state: RetryCallState) -> bool:
        return state.attempt_number > policy.max_retries or state.upcoming_sleep >= left()

    retrying = Retrying(
        stop=stop,
        wait=lambda state: _wait(state, policy.jitter),
        retry=retry_if_exception(_worth_another),
        sleep=policy.sleep,
        reraise=True,
    )
    return retrying(once)


def _worth_another(error: BaseException) -> bool:
    return isinstance(error, ModelFailure) and error.retryable


def _wait(state: RetryCallState, jitter: Callable[[], float]) -> float:
    """Half to all of 0.5, 1, 2 … 30 s, and never less than the server asked for."""
    ceiling = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0 ** (state.attempt_number - 1))
    wait = ceiling * (0.5 + 0.5 * jitter())
    error = state.outcome.exception() if state.outcome is not None else None
    if isinstance(error, ModelOverloaded) and error.retry_after is not None:
        # A little more than asked, so that many waiting processes do not come back at once.
        return error.retry_after + 0.1 * wait
    return wait
