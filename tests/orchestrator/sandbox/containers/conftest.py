"""A scaffold in a container, begun and ended for each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.sandbox.base import SandboxLimits
from orchestrator.sandbox.containers.sandbox import DockerSandbox
from orchestrator.sandbox.line import LineSession
from tests.support.docker_parts import docker_sandbox
from tests.support.episode_parts import write_scaffold
from tests.support.sandbox_parts import START

Begin = Callable[..., LineSession]


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Begin]:
    """Starts a container with some hooks; all are closed, twice, at the end."""
    sessions: list[LineSession] = []

    def start(
        hooks: str | None = None,
        *,
        limits: SandboxLimits | None = None,
        sandbox: DockerSandbox | None = None,
        **files: Any,
    ) -> LineSession:
        room = sandbox or docker_sandbox()
        folder = write_scaffold(tmp_path / f"scaffold{len(sessions)}", hooks=hooks, **files)
        session = room.start(folder, limits or SandboxLimits())
        sessions.append(session)
        session.send(START)
        return session

    yield start
    for session in sessions:
        session.close()
        session.close()
