"""Play jobs as Prefect tasks, in parallel processes.

An episode that the machinery lost is retried; if it stays lost it comes back as a
`MissingEpisode`, and the others are not held up. What is already in the store is not even
submitted.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any, cast

from prefect import task
from prefect.client.schemas.objects import State
from prefect.futures import PrefectFuture, as_completed, wait
from prefect.task_runners import ProcessPoolTaskRunner, TaskRunner

from flows.reporting import reporter
from orchestrator.episodes.job import EpisodeJob, run_job, stored_result
from orchestrator.episodes.spec import EpisodeResult, MissingEpisode
from orchestrator.errors import InfrastructureError, SlowwaveError

Outcome = EpisodeResult | MissingEpisode

PR_SET_PDEATHSIG = 1
RETRIES = 2
RETRY_SECONDS = 2


def processes(workers: int) -> TaskRunner[PrefectFuture[Any]]:
    """A task runner with that many processes, started once for a whole flow."""
    return cast(TaskRunner[PrefectFuture[Any]], ProcessPoolTaskRunner(max_workers=workers))


def was_lost(task: object, run: object, state: State[Any]) -> bool:
    """Whether an episode failed for a reason that may pass; a spent budget does not."""
    try:
        state.result()
    except InfrastructureError:
        return True
    except Exception:
        return False
    return False


@task(
    name="play episode",
    task_run_name="{label} seed {seed}",
    retries=RETRIES,
    retry_delay_seconds=RETRY_SECONDS,
    retry_condition_fn=was_lost,
    persist_result=False,
)
def play_episode(job: EpisodeJob, seed: int, label: str) -> EpisodeResult:
    """One episode, in whatever process the task runner gives it."""
    _die_with_parent()
    return run_job(job)


def play_all(jobs: Sequence[EpisodeJob], label: str) -> list[Outcome]:
    """Play what is not in the store yet; call inside a flow whose task runner has processes.

    Args:
        jobs: The episodes wanted.
        label: What they are for.

    Returns:
        One outcome per job, in the jobs' order.

    Raises:
        SlowwaveError: A failure that is no matter of one episode, such as a spent budget.
    """
    outcomes: dict[int, Outcome] = {}
    wanted: dict[str, list[int]] = {}
    for number, job in enumerate(jobs):
        found = stored_result(job)
        if found is not None:
            outcomes[number] = found
        else:
            wanted.setdefault(job.spec.key, []).append(number)
    # The same episode is asked for twice when two names stand for one tree; it is played once.
    futures: dict[PrefectFuture[EpisodeResult], list[int]] = {}
    for numbers in wanted.values():
        job = jobs[numbers[0]]
        futures[play_episode.submit(job, job.spec.seed, label)] = numbers
    reporter().advance(label, len(outcomes), len(jobs))
    try:
        for future in as_completed(list(futures)):
            numbers = futures[future]
            outcome = _outcome(future, jobs[numbers[0]])
            outcomes.update(dict.fromkeys(numbers, outcome))
            reporter().advance(label, len(outcomes), len(jobs))
    except SlowwaveError:
        # Whoever asks for one of them again must not have it played twice at once.
        wait(list(futures))
        raise
    return [outcomes[number] for number in range(len(jobs))]


def _die_with_parent() -> None:
    """Have the kernel end this worker when the process that started it is gone.

    A worker that outlived a killed night would go on playing beside the resumed one.
    """
    parent = multiprocessing.parent_process()
    if sys.platform == "linux" and parent is not None:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        # The kernel does not tell of a parent that was gone before it was asked to.
        if os.getppid() != parent.pid:
            os._exit(1)


def _outcome(future: PrefectFuture[EpisodeResult], job: EpisodeJob) -> Outcome:
    try:
        return future.result()
    except InfrastructureError as error:
        return MissingEpisode(
            key=job.spec.key,
            environment=job.spec.environment,
            seed=job.spec.seed,
            error=type(error).__name__,
            message=str(error),
        )
