"""Does a long episode stay flat, and is its trajectory small and whole?

One episode of `nethack-v1` is played for real: the player, the process sandbox with a small
scaffold, memory, trajectory. The model is a script with a die: it walks about, looks something up
now and then, and writes a line now and then. A hero who dies is followed by the next seed's within
the same episode, so that the episode lasts as long as asked.

It prints the memory of host and sandbox at ten points, the trajectory's size against the named
baseline ``naive`` (every prompt of every turn and its completion written out), what a step and its
record cost, and whether reading the trajectory back gives every conversation as it was sent, and in
how much memory.

Run: ``python -m benchmarks.long_episode [--steps N] [--seed N] [--json]``
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

import envs.registry
from agents.manifest import Budgets
from agents.memory.files import FilesBackend
from benchmarks.machine import describe
from envs.base import Environment, JsonValue, Observation, Step
from orchestrator.episodes.player import Cast, Played, play
from orchestrator.episodes.spec import EpisodeSpec
from orchestrator.episodes.trajectory import Trajectory, TrajectoryWriter
from orchestrator.models.base import Completion, Message, Usage
from orchestrator.sandbox.base import SandboxLimits
from orchestrator.sandbox.process import ProcessSandbox

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

GOAL_RATIO = 0.05
"""Share of the naive size that a trajectory may have."""

POINTS = 10
MIB = 1 << 20
_DIRECTIONS = ("north", "east", "south", "west", "northeast", "southeast", "southwest", "northwest")
_SCAFFOLD = {
    "prompts/system.j2": """\
You play a long game, one action at a time, and remember only what stands in your memory files.
{{ instructions }}
Actions: {{ actions | join(", ") }}
Memory files: {{ files | join(", ") }}
Commands:
{% for command in commands %}
{{ command.form }}  {{ command.help }}
{% endfor %}
""",
    "prompts/log.j2": """\
LOG, step {{ step }} of {{ steps }}.
Before your last action you saw:
{{ previous_observation }}
Your last action: {{ previous_action }}
{{ note }}
Now you see:
{{ observation }}
Write down what matters, then end with <|DONE|>
""",
    "prompts/plan.j2": """\
PLAN, step {{ step }} of {{ steps }}.
You see:
{{ observation }}
Look up what you need, then end with <|ACTION|>action<|END|>
""",
}


class Dice:
    """A model that is a script with a die; it also adds up what it was asked and said.

    Attributes:
        digest: Hash over all conversations and completions, in order.
        naive: Bytes of all of them written out.
        calls: How many there were.
        seconds: Time spent in here.
    """

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)
        self.digest = hashlib.sha256()
        self.naive = self.calls = 0
        self.seconds = 0.0

    def complete(self, role: str, messages: Sequence[Message]) -> Completion:
        """Answer in the grammar."""
        began = time.perf_counter()
        said = self._say(messages)
        self.naive += add_turn(self.digest, messages, said)
        self.calls += 1
        self.seconds += time.perf_counter() - began
        return Completion(said, Usage(0, 0), "stop", "dice")

    def _say(self, messages: Sequence[Message]) -> str:
        draw, prompt = self._draw, messages[1]["content"]
        if prompt.startswith("LOG"):
            if draw.random() < 0.1:
                seen = prompt.rpartition("Message: ")[2].partition("\n")[0][:60]
                return f"<|APPEND|>diary|{self.calls}: {seen}<|END|><|DONE|>"
            return "<|DONE|>"
        if len(messages) == 2 and draw.random() < 0.2:
            return draw.choice(("<|TAIL|>diary|5<|END|>", "<|SEARCH|>diary|door<|END|>"))
        return f"<|ACTION|>{self._action(prompt)}<|END|>"

    def _action(self, prompt: str) -> str:
        draw = self._draw
        if "NetHack waits for" in prompt or "Menu (" in prompt:
            return "escape"
        chance = draw.random()
        if chance < 0.45:
            return f"far_{draw.choice(_DIRECTIONS)}"
        if chance < 0.8:
            return draw.choice(_DIRECTIONS)
        return draw.choice(("search", "search", "kick", "down", "inventory", "pickup", "eat"))


class Endless:
    """`nethack-v1` with the next seed's game after each that ends, all in one episode."""

    def __init__(self, inside: Environment) -> None:
        self.inside = inside
        self.id = inside.id
        self.actions = inside.actions
        self.idle_actions = inside.idle_actions
        self.default_action = inside.default_action
        self.instructions = inside.instructions
        self.default_steps = inside.default_steps
        self.versions: Mapping[str, str] = inside.versions
        self.games = 0
        self._seed = 0
        self._best = 0.0

    @property
    def progression(self) -> float:
        """The best of all games."""
        self._best = max(self._best, self.inside.progression)
        return self._best

    def reset(self, seed: int) -> Observation:
        """Begin with the game of this seed."""
        self._seed, self._best, self.games = seed, 0.0, 1
        return self.inside.reset(seed)

    def step(self, action: str) -> Step:
        """Play on, in the next game where this one has ended."""
        step = self.inside.step(action)
        if not step.done:
            return step
        _ = self.progression
        self._seed += 1
        self.games += 1
        return Step(self.inside.reset(self._seed), False, None)

    def details(self) -> dict[str, JsonValue]:
        """Those of the game under way."""
        return self.inside.details()

    def render(self, size: tuple[int, int] = (64, 64)) -> npt.NDArray[np.uint8]:
        """See `Environment.render`."""
        return self.inside.render(size)

    def close(self) -> None:
        """See `Environment.close`."""
        self.inside.close()


class TimedWriter(TrajectoryWriter):
    """The trajectory's writer with a stopwatch around what is called in a step."""

    seconds = 0.0

    def text(self, text: str) -> int:
        """See `TrajectoryWriter.text`."""
        began = time.perf_counter()
        number = super().text(text)
        self.seconds += time.perf_counter() - began
        return number

    def step(self, record: dict[str, Any]) -> None:
        """See `TrajectoryWriter.step`."""
        began = time.perf_counter()
        super().step(record)
        self.seconds += time.perf_counter() - began


@dataclass
class Gauge:
    """Memory of this process and of its children (the sandbox), at `POINTS` points of an episode.

    Attributes:
        steps: Steps of the whole episode.
        host, sandbox: MiB at each point.
    """

    steps: int
    points: list[int] = field(default_factory=list)
    host: list[float] = field(default_factory=list)
    sandbox: list[float] = field(default_factory=list)

    def look(self, done: int) -> None:
        """Take a reading if this step is one of the points."""
        if done * POINTS // self.steps == (done - 1) * POINTS // self.steps:
            return
        process = psutil.Process()
        inside = sum(child.memory_info().rss for child in process.children(recursive=True))
        self.points.append(done)
        self.host.append(process.memory_info().rss / MIB)
        self.sandbox.append(inside / MIB)


def add_turn(digest: Any, messages: Sequence[Mapping[str, object]], completion: str) -> int:
    """Add a conversation and its completion to a hash; returns their bytes written out."""
    size = 0
    for part in [*(message["content"] for message in messages), completion]:
        data = str(part).encode()
        digest.update(b"%d:" % len(data))
        digest.update(data)
        size += len(data)
    digest.update(" ".join(str(message["role"]) for message in messages).encode() + b"\n")
    return size


def measure(steps: int, seed: int) -> dict[str, Any]:
    """Play one episode of `steps` steps and read it back."""
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        environment = Endless(envs.registry.make("nethack-v1"))
        model, gauge, memory = Dice(seed), Gauge(steps), FilesBackend(search_limit=20)
        writer = TimedWriter(root / "trajectory.jsonl.zst", {})
        played = _play(root, environment, model, gauge, memory, writer, seed)
        environment.close()
        size = writer.path.stat().st_size
        return {
            "steps": played.steps,
            "outcome": played.outcome,
            "games": environment.games,
            "turns": model.calls,
            "memory_characters": memory.stats().characters,
            "at_step": gauge.points,
            "host_mib": gauge.host,
            "sandbox_mib": gauge.sandbox,
            "naive_bytes": model.naive,
            "trajectory_bytes": size,
            "ratio_to_naive": size / model.naive,
            "goal_ratio": GOAL_RATIO,
            "ms_per_step": 1000 * (played.seconds - model.seconds) / played.steps,
            "of_which_trajectory_ms": 1000 * writer.seconds / played.steps,
            **_read_back(writer.path, model.digest.hexdigest(), steps),
        }


def _play(
    root: Path,
    environment: Environment,
    model: Dice,
    gauge: Gauge,
    memory: FilesBackend,
    writer: TrajectoryWriter,
    seed: int,
) -> Played:
    for name, text in _SCAFFOLD.items():
        path = root / "scaffold" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    cast = Cast(
        environment=environment,
        sandbox=ProcessSandbox(root / "bundles", bubblewrap=None),
        # As by default, but for a machine of any speed.
        limits=SandboxLimits(cpu_seconds=24 * 3600, episode_seconds=24 * 3600.0),
        scaffold=root / "scaffold",
        seed_memory={"diary": ""},
        options={},
        memory=memory,
        handover=False,
        call_model=model.complete,
        on_step=gauge.look,
    )
    spec = EpisodeSpec(
        environment=environment.id,
        versions={},
        seed=seed,
        steps=gauge.steps,
        tree="benchmark",
        budgets=Budgets(),
        models={},
        agent="benchmark",
    )
    return play(spec, cast, writer)


def _read_back(path: Path, sent: str, steps: int) -> dict[str, Any]:
    """Reconstruct every conversation, keeping none."""
    digest, gauge, number = hashlib.sha256(), Gauge(steps), 0
    trajectory = Trajectory(path)
    began = time.perf_counter()
    for number, step in enumerate(trajectory.steps(), 1):
        for turn in trajectory.turns(step):
            add_turn(digest, turn.messages, turn.completion)
        gauge.look(number)
    return {
        "read_host_mib": gauge.host,
        "read_ms_per_step": 1000 * (time.perf_counter() - began) / max(1, number),
        "reconstructed": digest.hexdigest() == sent and number == steps,
    }


def main() -> None:
    """Print the figures; ends with status 1 if the trajectory is not whole or not small."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.steps < POINTS:
        parser.error(f"--steps must be at least {POINTS}")
    figures = {**describe(), **measure(options.steps, options.seed)}
    if options.json:
        print(json.dumps(figures))
    else:
        for name, value in figures.items():
            print(f"{name:24} {_written(value)}")
    if not figures["reconstructed"] or figures["ratio_to_naive"] >= GOAL_RATIO:
        sys.exit(1)


def _written(value: Any) -> str:
    if isinstance(value, list):
        return "  ".join(_written(one) for one in value)
    if isinstance(value, float):
        return f"{value:.4f}" if value < 1 else f"{value:.1f}"
    return f"{value:,}" if type(value) is int else str(value)


if __name__ == "__main__":
    main()
