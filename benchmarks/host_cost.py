"""What a step costs on the host, without the model: LOG and PLAN, channel, memory, trajectory.

The same episodes of Crafter are played for real in each sandbox, turn about, with the seed scaffold
and the heuristic model; the time spent inside the model client is taken off. What remains is
everything else: the game, the prompts rendered in the sandbox, the messages, the commands, the
records. Docker is measured where its daemon answers and its image is built.

Run: ``python -m benchmarks.host_cost [--steps N] [--rounds N] [--json]``
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import envs.registry
from agents.memory.files import FilesBackend
from benchmarks.machine import describe
from envs.base import Environment
from orchestrator.episodes.job import read_scaffold
from orchestrator.episodes.player import Cast, play
from orchestrator.episodes.spec import EpisodeSpec
from orchestrator.episodes.trajectory import TrajectoryWriter
from orchestrator.models.base import Completion, Message
from orchestrator.models.heuristic import HeuristicClient
from orchestrator.sandbox import make_sandbox
from orchestrator.sandbox.base import Sandbox, SandboxFailure, SandboxLimits
from orchestrator.sandbox.process import ProcessSandbox
from orchestrator.workspace import seed_scaffolds

GOALS_MS = {"process": 2.0, "namespaces": 2.0, "docker": 4.0}
"""Milliseconds a step that each sandbox may cost."""
START_GOAL_MS = 500.0


class TimedClient:
    """The heuristic client with a stopwatch around it."""

    def __init__(self) -> None:
        self._client = HeuristicClient()
        self.seconds = 0.0
        self.calls = 0

    def complete(self, role: str, messages: Sequence[Message]) -> Completion:
        """Answer, and add the time it took."""
        began = time.perf_counter()
        completion = self._client.complete(messages)
        self.seconds += time.perf_counter() - began
        self.calls += 1
        return completion


def measure(steps: int, rounds: int) -> dict[str, Any]:
    """Play `rounds` episodes of up to `steps` steps in each sandbox; figures in milliseconds."""
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        environment = envs.registry.make("crafter-v1", world_cache=root / "worlds")
        rooms = _sandboxes(root)
        runs: dict[str, list[_Run]] = {name: [] for name in rooms}
        game = []
        for seed in range(rounds + 1):
            environment.reset(seed)
            for name, sandbox in rooms.items():
                run = _play(environment, sandbox, root / f"{name}-{seed}", seed, steps)
                if seed:  # the first one builds bundles and warms caches
                    runs[name].append(run)
            if seed:
                game.append(_game_alone(environment, seed, runs["process"][-1].steps))
    figures: dict[str, Any] = {"episodes": rounds, "of_which_game_ms": statistics.median(game)}
    figures["model_ms_per_step"] = statistics.median(one.model_ms for one in runs["process"])
    base = statistics.median(one.host_ms for one in runs["process"])
    for name, found in runs.items():
        cost = statistics.median(one.host_ms for one in found)
        start = statistics.median(one.start_ms for one in found)
        figures[f"{name}.host_ms_per_step"] = cost
        figures[f"{name}.ratio_to_goal"] = cost / GOALS_MS[name]
        figures[f"{name}.ratio_to_process"] = cost / base
        figures[f"{name}.start_ms"] = start
        figures[f"{name}.start_ratio_to_goal"] = start / START_GOAL_MS
    return figures


@dataclass(frozen=True)
class _Run:
    steps: int
    host_ms: float
    model_ms: float
    start_ms: float


def _sandboxes(root: Path) -> dict[str, Sandbox]:
    """Those that work here."""
    found: dict[str, Sandbox] = {"process": ProcessSandbox(root / "bundles", bubblewrap=None)}
    walled = ProcessSandbox(root / "bundles")
    if walled.guarantees != found["process"].guarantees:
        found["namespaces"] = walled
    docker = make_sandbox("docker", root)
    try:
        docker.check()
    except SandboxFailure as failure:
        print(f"without docker: {failure}", file=sys.stderr)
    else:
        found["docker"] = docker
    return found


def _play(environment: Environment, sandbox: Sandbox, path: Path, seed: int, steps: int) -> _Run:
    """One episode; its start is timed apart, as a session that is closed at once."""
    folder = seed_scaffolds() / "crafter"
    manifest, seed_memory = read_scaffold(folder)
    client = TimedClient()
    began = time.perf_counter()
    session = sandbox.start(folder, SandboxLimits())
    started = time.perf_counter() - began
    session.close()
    spec = EpisodeSpec(
        environment="crafter-v1",
        versions={},
        seed=seed,
        steps=steps,
        tree="benchmark",
        budgets=manifest.budgets,
        models={},
        agent=sandbox.fingerprint,
    )
    marks: list[float] = []
    cast = Cast(
        environment=environment,
        sandbox=sandbox,
        limits=SandboxLimits(),
        scaffold=folder,
        seed_memory=seed_memory,
        options=dict(manifest.options),
        memory=FilesBackend(search_limit=manifest.budgets.search_limit),
        handover=False,
        call_model=client.complete,
        on_step=lambda done: marks.append(time.perf_counter()),
    )
    played = play(spec, cast, TrajectoryWriter(path, {}))
    per_step = 1000 / max(1, played.steps - 1)  # from the first step's end to the last one's
    return _Run(
        steps=played.steps,
        host_ms=(marks[-1] - marks[0] - client.seconds) * per_step,
        model_ms=client.seconds * per_step,
        start_ms=1000 * started,
    )


def _game_alone(environment: Any, seed: int, steps: int) -> float:
    """Milliseconds a step of the same game without any agent, walking about."""
    environment.reset(seed)
    moves = [name for name in environment.actions if name.startswith("move_")]
    began = time.perf_counter()
    done = 0
    for number in range(steps):
        done += 1
        if environment.step(moves[number * 7 % 4]).done:
            break
    return 1000 * (time.perf_counter() - began) / done


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    figures = {**describe(), **measure(options.steps, options.rounds)}
    if options.json:
        print(json.dumps(figures))
        return
    for name, value in figures.items():
        print(f"{name:32} {value:.3f}" if isinstance(value, float) else f"{name:32} {value}")


if __name__ == "__main__":
    main()
