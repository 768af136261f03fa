"""Playing jobs without Prefect: one after the other, in this process."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.episodes.job import EpisodeJob, run_job
from orchestrator.episodes.spec import EpisodeResult, MissingEpisode
from orchestrator.errors import InfrastructureError


def lost_episode(job: EpisodeJob, *, error: str, message: str) -> MissingEpisode:
    """What the flow makes of an episode that the machinery lost."""
    spec = job.spec
    return MissingEpisode(
        key=spec.key, environment=spec.environment, seed=spec.seed, error=error, message=message
    )


def play_serially(jobs: Sequence[EpisodeJob]) -> list[EpisodeResult | MissingEpisode]:
    """One outcome per job, as the flow gives it, without a second try."""
    outcomes: list[EpisodeResult | MissingEpisode] = []
    for job in jobs:
        try:
            outcomes.append(run_job(job))
        except InfrastructureError as error:
            outcomes.append(lost_episode(job, error=type(error).__name__, message=str(error)))
    return outcomes
