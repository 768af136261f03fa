"""Play given episodes, as a flow."""

from __future__ import annotations

from prefect import flow

from flows.episodes import Outcome, play_all
from orchestrator.episodes.job import EpisodeJob


@flow(name="evaluate", flow_run_name="{label}", persist_result=False)
def evaluate(jobs: list[EpisodeJob], label: str) -> list[Outcome]:
    """One outcome per job, in the jobs' order.

    Args:
        jobs: The episodes wanted.
        label: What they are for.
    """
    return play_all(jobs, label)
