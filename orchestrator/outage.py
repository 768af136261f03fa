"""When the machinery is down, a night waits or stops and can be run again; no candidate pays."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

from orchestrator.episodes.spec import EpisodeResult, MissingEpisode
from orchestrator.errors import InfrastructureError
from orchestrator.sandbox.base import SandboxAway

SHARE = 0.5
"""Share of missing episodes from which it is the machinery and no accident."""
FATAL = frozenset({"DiskFull"})
"""Failures that more episodes would only meet again."""
LOOK_SECONDS = 5.0
"""How often it is looked whether what was away is back."""

MEND = "Mend that and run the same command again; it goes on where it stopped."
Outcomes = Sequence[EpisodeResult | MissingEpisode]


class Outage(InfrastructureError):
    """Too many episodes were lost for anything to be judged."""


def check_outage(outcomes: Outcomes, share: float = SHARE) -> None:
    """Stop where the machinery is down.

    Args:
        outcomes: What was played.
        share: Share of missing episodes from which it is the machinery.

    Raises:
        Outage: So many of the episodes are missing, or one for a reason that stays.
    """
    missing = [one for one in outcomes if isinstance(one, MissingEpisode)]
    if not missing:
        return
    if len(missing) >= share * len(outcomes) or any(one.error in FATAL for one in missing):
        raise Outage(
            f"{len(missing)} of {len(outcomes)} episodes could not be played: {missing[0].message}",
            mend=MEND,
        )


def is_away(outcomes: Outcomes) -> bool:
    """Whether episodes are missing because the sandbox does not answer, which may pass."""
    return any(
        isinstance(one, MissingEpisode) and one.error == SandboxAway.__name__ for one in outcomes
    )


def wait_until_back(check: Callable[[], None], hours: float, say: Callable[[str], None]) -> None:
    """Wait until the sandbox answers again.

    Args:
        check: Raises `SandboxAway` as long as it does not.
        hours: Hours to wait at most.
        say: Told that there is a wait, and that it is over.

    Raises:
        Outage: It was away for all that time.
    """

    def tell(state: RetryCallState) -> None:
        if state.attempt_number == 1 and state.outcome is not None:
            say(f"{state.outcome.exception()} Waiting for it, {_span(hours)} at most.")

    attempts = Retrying(
        retry=retry_if_exception_type(SandboxAway),
        wait=wait_fixed(LOOK_SECONDS),
        stop=stop_after_delay(hours * 3600),
        before_sleep=tell,
        reraise=True,
    )
    try:
        attempts(check)
    except SandboxAway as away:
        raise Outage(
            f"{away.message} The night has waited for {_span(hours)}; everything finished is kept.",
            mend=MEND,
        ) from None
    say("The sandbox is back: going on.")


def _span(hours: float) -> str:
    return f"{hours:.1f} hours" if hours >= 1 else f"{hours * 60:.0f} minutes"
