"""When the machinery is down, a night stops and can be run again; no candidate pays for it."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.episodes.spec import EpisodeResult, MissingEpisode
from orchestrator.errors import InfrastructureError

SHARE = 0.5
"""Share of missing episodes from which it is the machinery and no accident."""
FATAL = frozenset({"DiskFull"})
"""Failures that more episodes would only meet again."""


class Outage(InfrastructureError):
    """Too many episodes were lost for anything to be judged."""


def check_outage(outcomes: Sequence[EpisodeResult | MissingEpisode]) -> None:
    """Stop where the machinery is down.

    Raises:
        Outage: At least half of the episodes are missing, or one for a reason that stays.
    """
    missing = [one for one in outcomes if isinstance(one, MissingEpisode)]
    if not missing:
        return
    if len(missing) >= SHARE * len(outcomes) or any(one.error in FATAL for one in missing):
        raise Outage(
            f"{len(missing)} of {len(outcomes)} episodes could not be played: {missing[0].message}",
            mend="Mend that and run the same command again; it goes on where it stopped.",
        )
