"""A small game, scripted models and small scaffolds, all real, for tests of the episode rooms."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from agents.manifest import Budgets
from agents.memory.files import FilesBackend
from envs.base import Observation, Step
from orchestrator.episodes.player import Cast, Played, play
from orchestrator.episodes.spec import EpisodeSpec
from orchestrator.episodes.trajectory import Trajectory, TrajectoryWriter, Turn
from orchestrator.models.base import Completion, Message, Usage
from orchestrator.sandbox.base import Sandbox, SandboxLimits
from orchestrator.sandbox.process import ProcessSandbox

QUICK = SandboxLimits(start_seconds=20.0, step_seconds=10.0)
"""Limits that a busy machine keeps; tests of deadlines set their own."""

SYSTEM = """{{ instructions }}
Actions: {{ actions | join(", ") }}
Files: {{ files | join(", ") }}
"""
LOG = "LOG {{ step }}\nbefore: {{ previous_observation }}\nnow: {{ observation }}\n{{ note }}"
PLAN = "PLAN {{ step }}\nnow: {{ observation }}\n{{ note }}"
MANIFEST = '[scaffold]\nname = "small"\nenvironment = "corridor"\n'


class Corridor:
    """Seven rooms in a row, ``0`` to ``6``; the seed is the first one, the last one wins."""

    id = "corridor-v1"
    actions = ("wait", "left", "right")
    idle_actions = frozenset({"wait"})
    default_action = "wait"
    instructions = "Walk to room 6."
    default_steps = 20
    versions: Mapping[str, str] = {"corridor": "1"}

    def __init__(self) -> None:
        self._room = 0
        self._best = 0
        self.played: list[str] = []

    @property
    def progression(self) -> float:
        return self._best / 6

    def reset(self, seed: int) -> Observation:
        self._room = self._best = seed % 7
        self.played = []
        return self._seen()

    def step(self, action: str) -> Step:
        self.played.append(action)
        move = {"wait": 0, "left": -1, "right": 1}[action]
        self._room = min(6, max(0, self._room + move))
        self._best = max(self._best, self._room)
        won = self._room == 6
        return Step(self._seen(), won, "won" if won else None)

    def details(self) -> dict[str, Any]:
        return {"best": self._best}

    def render(self, size: tuple[int, int] = (64, 64)) -> npt.NDArray[np.uint8]:
        return np.zeros((*size, 3), np.uint8)

    def close(self) -> None:
        pass

    def _seen(self) -> Observation:
        return Observation(f"You are in room {self._room}.")


class ScriptedClient:
    """A model that says what a script has it say, and keeps what it was asked.

    Args:
        script: The completions in order, or a function of the messages.
    """

    def __init__(self, script: Iterable[str] | Callable[[Sequence[Message]], str]) -> None:
        self._say = script if callable(script) else None
        self._lines = iter(()) if callable(script) else iter(script)
        self.asked: list[list[Message]] = []
        self.said: list[str] = []

    def complete(self, messages: Sequence[Message]) -> Completion:
        self.asked.append(copy.deepcopy(list(messages)))
        text = self._say(messages) if self._say else next(self._lines)
        self.said.append(text)
        return Completion(text, Usage(10, 5), "stop", "scripted")

    def fingerprint(self) -> str:
        return "scripted"

    def close(self) -> None:
        pass


def by_phase(log: str, plan: str) -> Callable[[Sequence[Message]], str]:
    """A script that says one thing in LOG and another in PLAN."""

    def say(messages: Sequence[Message]) -> str:
        return log if messages[1]["content"].startswith("LOG") else plan

    return say


WALK_RIGHT = by_phase("<|DONE|>", "<|ACTION|>right<|END|>")


def write_scaffold(
    folder: Path,
    *,
    hooks: str | None = None,
    system: str = SYSTEM,
    log: str = LOG,
    plan: str = PLAN,
    manifest: str = MANIFEST,
    memory: Mapping[str, str] | None = None,
) -> Path:
    """A scaffold with these files."""
    texts = {
        "scaffold.toml": manifest,
        "prompts/system.j2": system,
        "prompts/log.j2": log,
        "prompts/plan.j2": plan,
        **({"hooks.py": hooks} if hooks is not None else {}),
        **{f"memory/{name}.md": text for name, text in (memory or {"notes": ""}).items()},
    }
    for path, text in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return folder


@dataclass
class Stage:
    """Plays episodes of `Corridor` in one folder.

    Attributes:
        root: For bundles, scaffolds and trajectories.
        bundles: Where the agent code is unpacked.
    """

    root: Path
    bundles: Path
    game: Corridor = field(default_factory=Corridor)
    played: int = 0

    def play(
        self,
        script: Iterable[str] | Callable[[Sequence[Message]], str] = WALK_RIGHT,
        *,
        memory_script: Iterable[str] | Callable[[Sequence[Message]], str] | None = None,
        scaffold: Path | None = None,
        budgets: Budgets | None = None,
        limits: SandboxLimits = QUICK,
        seed: int = 0,
        steps: int = 3,
        seeds: Mapping[str, str] | None = None,
        memory: FilesBackend | None = None,
        sandbox: Sandbox | None = None,
        **scaffold_files: Any,
    ) -> Show:
        """One episode; with a `memory_script` it is played by two models."""
        action = ScriptedClient(script)
        memory_client = None if memory_script is None else ScriptedClient(memory_script)
        self.played += 1
        folder = scaffold or write_scaffold(self.root / f"scaffold{self.played}", **scaffold_files)
        path = self.root / "trajectory.jsonl.zst"
        memory = memory or FilesBackend()
        clients = {"action": action, "memory": memory_client or action}
        cast = Cast(
            environment=self.game,
            sandbox=sandbox or ProcessSandbox(self.bundles, bubblewrap=None),
            limits=limits,
            scaffold=folder,
            seed_memory=dict({"notes": ""} if seeds is None else seeds),
            options={},
            memory=memory,
            handover=memory_client is not None,
            call_model=lambda role, messages: clients[role].complete(messages),
        )
        spec = make_spec(seed=seed, steps=steps, budgets=budgets or Budgets())
        played = play(spec, cast, TrajectoryWriter(path, {"spec": spec.model_dump(mode="json")}))
        return Show(played, path, action, memory_client, memory)


@dataclass
class Show:
    """What came of one `Stage.play`."""

    played: Played
    path: Path
    action: ScriptedClient
    memory_client: ScriptedClient | None
    memory: FilesBackend

    def steps(self) -> list[dict[str, Any]]:
        """The trajectory's step records."""
        return list(Trajectory(self.path).steps())

    def turns(self) -> list[Turn]:
        """Every model turn, its texts filled in."""
        trajectory = Trajectory(self.path)
        return [turn for step in trajectory.steps() for turn in trajectory.turns(step)]

    def events(self) -> list[str]:
        """Every event, in order."""
        return [event for step in self.steps() for event in step["events"]]

    def end(self) -> dict[str, Any]:
        """The trajectory's end record."""
        trajectory = Trajectory(self.path)
        for _ in trajectory.steps():
            pass
        return trajectory.end


def partial_of(path: Path) -> Path:
    """Where this process writes a trajectory before it is complete."""
    return path.with_name(f"{path.name}.{os.getpid()}.partial")


def make_spec(*, seed: int = 0, steps: int = 3, budgets: Budgets | None = None) -> EpisodeSpec:
    """The spec of an episode of `Corridor`."""
    return EpisodeSpec(
        environment="corridor-v1",
        versions={"corridor": "1"},
        seed=seed,
        steps=steps,
        tree="0" * 40,
        budgets=budgets or Budgets(),
        models={"action": "scripted"},
        agent="agent",
    )
