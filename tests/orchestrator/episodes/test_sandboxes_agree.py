"""The same game in every sandbox: digest and trajectory are equal, but for its name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import zstandard

from orchestrator.config import Config
from orchestrator.episodes.job import run_job
from orchestrator.episodes.planner import EpisodePlanner
from orchestrator.episodes.spec import EpisodeResult
from orchestrator.sandbox.containers.config import DockerConfig
from tests.support.crafter_parts import SCAFFOLD
from tests.support.docker_parts import docker_or_skip

SEED, STEPS = 7, 120


def played(artifacts: Path, kind: str, **docker: Any) -> EpisodeResult:
    config = Config(sandbox=kind, docker=DockerConfig(**docker))
    planner = EpisodePlanner.make(config, artifacts, "crafter", steps=STEPS)
    (job,) = planner.jobs(SCAFFOLD, "0" * 40, [SEED], author="")
    return run_job(job)


def records(artifacts: Path, result: EpisodeResult) -> list[dict[str, Any]]:
    """The trajectory without what must differ: which sandbox it was."""
    data = (artifacts / result.trajectory).read_bytes()
    text = zstandard.ZstdDecompressor().stream_reader(data).read().decode()
    header, *rest = [json.loads(line) for line in text.splitlines()]
    for name in ("key", "sandbox"):
        assert header.pop(name)
    assert header["spec"].pop("agent")
    return [header, *rest]


@pytest.fixture
def in_process(artifacts: Path) -> EpisodeResult:
    return played(artifacts, "process")


@pytest.mark.parametrize("how", ["mount", "copy"])
def test_docker_plays_the_same_game(artifacts: Path, in_process: EpisodeResult, how: str) -> None:
    docker_or_skip()
    other = played(artifacts, "docker", scaffold=how)
    assert other.key != in_process.key
    assert other.digest == in_process.digest
    assert other.metrics == in_process.metrics
    assert records(artifacts, other) == records(artifacts, in_process)
    assert other.steps == STEPS
