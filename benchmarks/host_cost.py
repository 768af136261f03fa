"""What a step costs on the host, without the model: LOG and PLAN, channel, memory, trajectory.

An episode of Crafter is played for real through the `process` sandbox with the seed scaffold and
the heuristic model; the time spent inside the model client is taken off. What remains is everything
else: the game, the prompts rendered in the sandbox, the messages, the commands, the records.

Run: ``python -m benchmarks.host_cost [--steps N] [--rounds N] [--json]``
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import envs.registry
from agents.memory.files import FilesBackend
from benchmarks.machine import describe
from orchestrator.episodes.job import read_scaffold
from orchestrator.episodes.player import Cast, play
from orchestrator.episodes.spec import EpisodeSpec
from orchestrator.episodes.trajectory import TrajectoryWriter
from orchestrator.models.base import Completion, Message
from orchestrator.models.heuristic import HeuristicClient
from orchestrator.sandbox import make_sandbox
from orchestrator.sandbox.base import SandboxLimits
from orchestrator.workspace import seed_scaffolds

GOAL_MS = 2.0


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
    """Play `rounds` episodes of up to `steps` steps; figures in milliseconds a step."""
    folder = seed_scaffolds() / "crafter"
    manifest, seed_memory = read_scaffold(folder)
    host, model, game, starts = [], [], [], []
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        environment = envs.registry.make("crafter-v1", world_cache=root / "worlds")
        sandbox = make_sandbox("process", root)
        for seed in range(rounds + 1):
            environment.reset(seed)
            client = TimedClient()
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
            first_step: list[float] = []
            began = time.perf_counter()

            def note(done: int, began: float = began, first: list[float] = first_step) -> None:
                if done == 1:
                    first.append(time.perf_counter() - began)

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
                on_step=note,
            )
            played = play(spec, cast, TrajectoryWriter(root / f"{seed}.jsonl.zst", {}))
            total = time.perf_counter() - began
            if seed == 0:
                continue  # the first one builds the bundle
            per_step = 1000 / played.steps
            starts.append(first_step[0])
            host.append((total - first_step[0] - client.seconds) * per_step)
            model.append(client.seconds * per_step)
            game.append(_game_alone(environment, seed, played.steps))
    return {
        "host_ms_per_step": statistics.median(host),
        "goal_ms_per_step": GOAL_MS,
        "ratio_to_goal": statistics.median(host) / GOAL_MS,
        "of_which_game_ms": statistics.median(game),
        "model_ms_per_step": statistics.median(model),
        "sandbox_start_ms": 1000 * statistics.median(starts),
        "episodes": rounds,
    }


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
        print(f"{name:22} {value:.3f}" if isinstance(value, float) else f"{name:22} {value}")


if __name__ == "__main__":
    main()
