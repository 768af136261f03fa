"""Scaffolds that probe the room they run in, and a sandbox that is away for a while."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agents.messages import MemoryRequest, Observe, Ready, Start
from orchestrator.sandbox.base import Sandbox, SandboxAway, SandboxLimits, ScaffoldFailure
from orchestrator.sandbox.line import LineSession
from orchestrator.sandbox.process import ProcessSandbox
from tests.support.episode_parts import write_scaffold

START = Start(
    environment="corridor-v1",
    instructions="Walk.",
    actions=["wait", "right"],
    steps=3,
    log_turns=5,
    plan_turns=5,
    handover=False,
    files=["notes"],
    commands=[{"name": "SEARCH"}, {"name": "ACTION"}],
    options={},
)
LONG = 20.0
"""Seconds that are enough on any machine; nothing here waits for them."""


Begin = Callable[..., LineSession]


@contextlib.contextmanager
def beginning(folder: Path, usual: Callable[[], Sandbox]) -> Iterator[Begin]:
    """Starts sandboxes with some hooks; all are closed, twice, at the end.

    Args:
        folder: For the scaffolds.
        usual: Makes the sandbox unless a test brings its own.
    """
    sessions: list[LineSession] = []

    def start(
        hooks: str | None = None,
        *,
        limits: SandboxLimits | None = None,
        sandbox: Sandbox | None = None,
        **files: Any,
    ) -> LineSession:
        scaffold = write_scaffold(folder / f"scaffold{len(sessions)}", hooks=hooks, **files)
        session = (sandbox or usual()).start(scaffold, limits or SandboxLimits())
        assert isinstance(session, LineSession)
        sessions.append(session)
        session.send(START)
        return session

    yield start
    for session in sessions:
        session.close()
        session.close()


def observe(session: LineSession) -> None:
    """Bring the scaffold to its first step."""
    assert isinstance(session.receive(LONG), Ready)
    session.send(Observe(0, "You are in room 0.", None, ""))


def says(session: LineSession) -> Any:
    """What a hook wrote to the file `out`, as JSON."""
    observe(session)
    message = session.receive(LONG)
    assert isinstance(message, MemoryRequest), message
    return json.loads(message.arguments[1])


def fails(session: LineSession, seconds: float = LONG) -> ScaffoldFailure:
    """How the scaffold fails after `Ready`."""
    observe(session)
    with pytest.raises(ScaffoldFailure) as failure:
        session.receive(seconds)
    return failure.value


def on_observation(*lines: str) -> str:
    body = "".join(f"    {line}\n" for line in lines)
    return f"import json, os, sys, time\n\n\ndef on_observation(context):\n{body}"


def tell(expression: str) -> str:
    """Hooks that write the value of an expression to the file `out`."""
    return on_observation(f"context.memory.write('out', json.dumps({expression}))")


def is_running(pid: int) -> bool:
    """Whether a process exists and is no mere zombie."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def ends(pid: int) -> bool:
    """Whether a process that nobody here can wait for is gone, now or soon."""
    deadline = time.monotonic() + LONG
    while is_running(pid) and time.monotonic() < deadline:
        os.sched_yield()
    return not is_running(pid)


AWAY = "away"
"""File in the artifacts folder with the number of looks at which the sandbox is still away."""


class PassingAway(ProcessSandbox):
    """The process sandbox, on something that does not answer for a number of looks."""

    def __init__(self, artifacts: Path) -> None:
        super().__init__(artifacts / "bundles")
        self._away = artifacts / AWAY

    def check(self) -> None:
        looks = int(self._away.read_text()) if self._away.exists() else 0
        if looks:
            self._away.write_text(str(looks - 1))
            raise SandboxAway("The machine room is dark.", mend="Switch the light on.")


def passing_away(artifacts: Path) -> PassingAway:
    """The factory for ``module:factory``."""
    return PassingAway(artifacts)
