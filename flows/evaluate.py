"""Play one scaffold on given seeds, as a flow."""

from __future__ import annotations

from collections.abc import Sequence

from prefect import flow

from flows.episodes import Outcome, Progress, play_all, processes
from orchestrator.episodes.job import EpisodeJob


def evaluate(
    jobs: Sequence[EpisodeJob], label: str, workers: int, progress: Progress
) -> list[Outcome]:
    """One outcome per job, in the jobs' order."""

    @flow(
        name="evaluate",
        flow_run_name=label,
        task_runner=processes(workers),
        validate_parameters=False,
        persist_result=False,
    )
    def run() -> list[Outcome]:
        return play_all(jobs, label, progress)

    return run()
