"""An episode as a piece of work that any process can be handed.

A job is plain data: what to play (`EpisodeSpec`) and where things lie. `run_job` looks into the
store first, plays only what is not there, and stores the result.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

import envs.registry
from agents.manifest import Manifest, read_manifest
from agents.memory.files import FilesBackend
from envs.base import Environment
from envs.errors import EnvironmentFault
from orchestrator.episodes.player import Cast, play
from orchestrator.episodes.spec import EpisodeResult, EpisodeSpec
from orchestrator.episodes.store import EpisodeStore
from orchestrator.episodes.trajectory import TrajectoryWriter
from orchestrator.errors import InfrastructureError
from orchestrator.files import raise_if_full
from orchestrator.models.broker import Broker
from orchestrator.models.config import ModelConfig, Role
from orchestrator.models.heuristic import make_heuristic
from orchestrator.models.journal import ResponseJournal
from orchestrator.models.ledger import Limits, SpendLedger
from orchestrator.sandbox import make_sandbox
from orchestrator.sandbox.choice import refuse_unsandboxed
from orchestrator.sandbox.containers.config import DockerConfig

OUTSIDE_NIGHTS = "outside-nights"
"""The ledger's account for what is played outside a night."""


class EnvironmentFailure(InfrastructureError):
    """The environment cannot be played here, or broke its contract: the episode is missing."""


class EpisodeJob(BaseModel):
    """One episode to play.

    Attributes:
        spec: What to play; its key names the result.
        scaffold: Folder with the scaffold, whose tree hash is in the spec.
        artifacts: The artifacts folder.
        models: The model of each role.
        sandbox: Kind of sandbox.
        docker: How containers are made.
        author: The editor that wrote the scaffold's code; empty if people have read it.
        allow_unsandboxed: Whether such code may run where it is not locked in.
        night: Id of the night that pays; empty outside one.
        started_at: When the night started, in seconds since the epoch.
        limits: What may be spent; ``None`` is no limit. Inside a night this is the night's whole
            budget. Outside one, its money and tokens bind all such episodes of the workspace
            together, which share the account `OUTSIDE_NIGHTS`; there is no limit in hours.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    spec: EpisodeSpec
    scaffold: Path
    artifacts: Path
    models: dict[Role, ModelConfig]
    sandbox: str = "process"
    docker: DockerConfig = Field(default_factory=DockerConfig)
    author: str = ""
    allow_unsandboxed: bool = False
    night: str = ""
    started_at: float | None = None
    limits: Limits | None = None


def run_job(
    job: EpisodeJob, on_step: Callable[[int], None] | None = None, *, again: bool = False
) -> EpisodeResult:
    """The job's result, from the store or played now.

    Args:
        job: What to play.
        on_step: Called with the number of steps played.
        again: Play although the result is stored. What is stored stays as it is, whatever comes
            out; the new game's trajectory lies beside the stored one.

    Raises:
        InfrastructureError: The machinery failed: the episode is missing.
    """
    found = stored_result(job)
    if found is not None and not again:
        return found
    store = EpisodeStore(job.artifacts)
    path = store.trajectory_path(job.spec.key, again=found is not None)
    try:
        return _play(job, store, path, on_step, keep=found is None)
    except EnvironmentFault as fault:
        raise EnvironmentFailure(fault.message, mend=fault.mend) from fault
    except OSError as error:
        raise_if_full(error, path)
        raise


def stored_result(job: EpisodeJob) -> EpisodeResult | None:
    """The job's result if it was played before.

    Answers that are still kept for it are deleted: the run was killed between storing the result
    and deleting them, and nobody will ask for them again.
    """
    found = EpisodeStore(job.artifacts).get(job.spec.key)
    if found is not None:
        # A file that cannot be deleted is only untidy; it must not cost a result.
        with suppress(OSError):
            _journal_path(job).unlink(missing_ok=True)
    return found


def _play(
    job: EpisodeJob,
    store: EpisodeStore,
    path: Path,
    on_step: Callable[[int], None] | None,
    *,
    keep: bool,
) -> EpisodeResult:
    spec = job.spec
    sandbox = make_sandbox(job.sandbox, job.artifacts, job.docker)
    refuse_unsandboxed(job.author, sandbox, allowed=job.allow_unsandboxed)
    manifest, seed_memory = read_scaffold(job.scaffold)
    environment = _environment(spec.environment, job.artifacts / "worlds")
    header = {
        "spec": spec.model_dump(mode="json"),
        "key": spec.key,
        "sandbox": job.sandbox,
        "instructions": environment.instructions,
    }
    with _broker(job) as broker:
        cast = Cast(
            environment=environment,
            sandbox=sandbox,
            limits=spec.limits,
            scaffold=job.scaffold,
            seed_memory=seed_memory,
            options=dict(manifest.options),
            memory=FilesBackend(
                search_limit=spec.budgets.search_limit,
                read_limit=spec.budgets.read_limit,
                size_limit=spec.budgets.memory_characters,
            ),
            handover="memory" in job.models,
            call_model=broker.complete,
            on_step=on_step,
        )
        played = play(spec, cast, TrajectoryWriter(path, header))
        result = EpisodeResult(
            key=spec.key,
            environment=spec.environment,
            seed=spec.seed,
            replicate=spec.replicate,
            tree=spec.tree,
            steps=played.steps,
            progression=played.progression,
            outcome=played.outcome,
            digest=played.digest,
            metrics=played.metrics,
            details=played.details,
            usage=_usage(broker),
            seconds=played.seconds,
            trajectory=store.relative(path),
        )
        if keep:
            store.put(result)
        broker.finish()
    return result


def read_scaffold(folder: Path) -> tuple[Manifest, dict[str, str]]:
    """A scaffold's manifest and seed memory; nothing of it is imported."""
    manifest = read_manifest((folder / "scaffold.toml").read_text(encoding="utf-8"))
    seeds = sorted((folder / "memory").glob("*")) if (folder / "memory").is_dir() else []
    return manifest, {path.stem: path.read_text(encoding="utf-8") for path in seeds}


@lru_cache(maxsize=8)
def _environment(name: str, worlds: Path) -> Environment:
    # One instance a process: worlds already generated stay in memory. Reset makes it as new.
    return envs.registry.make(name, world_cache=worlds)


def _journal_path(job: EpisodeJob) -> Path:
    return job.artifacts / "journal" / f"{job.spec.key}.jsonl"


def _broker(job: EpisodeJob) -> Broker:
    """The choke point of the episode's model calls.

    Whatever costs money or calls a server is entered in the ledger, inside a night and outside.
    """
    paid = any(not model.prices.free for model in job.models.values())
    remote = any(model.provider != "heuristic" for model in job.models.values())
    limits = job.limits
    if limits is not None and not job.night:
        limits = replace(limits, hours=None)
    return Broker(
        job.models,
        factories={"heuristic": make_heuristic},
        night=job.night or OUTSIDE_NIGHTS,
        started_at=job.started_at,
        episode=job.spec.key,
        ledger=SpendLedger(job.artifacts / "ledger.db", limits) if paid or remote else None,
        journal=ResponseJournal(_journal_path(job), job.spec.key) if remote else None,
    )


def _usage(broker: Broker) -> dict[str, dict[str, float]]:
    return {
        role: {
            "calls": metrics.calls,
            "input_tokens": metrics.input_tokens,
            "output_tokens": metrics.output_tokens,
            "money_usd": float(metrics.money_usd),
        }
        for role, metrics in broker.metrics.items()
    }
