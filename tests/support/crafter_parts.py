"""Crafter episodes with the shipped scaffolds, played outside a workspace."""

from __future__ import annotations

import copy
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import envs.registry
from agents.memory.base import MemoryBackend, MemoryResult, MemoryStats
from agents.memory.files import FilesBackend
from orchestrator.editors.rules.catalogue import read_catalogue
from orchestrator.episodes.job import read_scaffold
from orchestrator.episodes.player import Cast, Played, play
from orchestrator.episodes.spec import EpisodeSpec
from orchestrator.episodes.trajectory import TrajectoryWriter
from orchestrator.models.base import Completion, Message
from orchestrator.models.heuristic import HeuristicClient
from orchestrator.sandbox.base import SandboxLimits
from orchestrator.sandbox.process import ProcessSandbox

ROOT = Path(__file__).resolve().parents[2]
SCAFFOLD = ROOT / "scaffolds" / "crafter"
EDITS = ROOT / "scaffolds" / "edits"
PATIENT = SandboxLimits(start_seconds=60.0, step_seconds=60.0)


class RecordingClient:
    """The heuristic client, and what it was asked."""

    def __init__(self) -> None:
        self._inner = HeuristicClient()
        self.asked: list[list[Message]] = []
        self.said: list[str] = []

    def complete(self, messages: Sequence[Message]) -> Completion:
        self.asked.append(copy.deepcopy(list(messages)))
        completion = self._inner.complete(messages)
        self.said.append(completion.text)
        return completion


class BlankMemory:
    """A memory that keeps everything and shows nothing: every result's text is empty."""

    def __init__(self, inner: MemoryBackend) -> None:
        self._inner = inner

    @property
    def operations(self) -> Mapping[str, Any]:
        return self._inner.operations

    def begin_episode(self, seed_files: Mapping[str, str]) -> None:
        self._inner.begin_episode(seed_files)

    def run(self, operation: str, arguments: Sequence[str]) -> MemoryResult:
        result = self._inner.run(operation, arguments)
        return MemoryResult("", result.matches, result.novel)

    def end_episode(self, outcome: str) -> None:
        self._inner.end_episode(outcome)

    def snapshot(self) -> dict[str, str]:
        return self._inner.snapshot()

    def restore(self, snapshot: Mapping[str, str]) -> None:
        self._inner.restore(snapshot)

    def stats(self) -> MemoryStats:
        return self._inner.stats()


@dataclass
class CrafterStage:
    """Plays Crafter in one folder.

    Attributes:
        root: For bundles, worlds and trajectories.
    """

    root: Path

    def play(
        self,
        scaffold: Path = SCAFFOLD,
        *,
        seed: int = 7,
        steps: int = 60,
        memory: Callable[[MemoryBackend], MemoryBackend] = lambda files: files,
        client: HeuristicClient | RecordingClient | None = None,
    ) -> tuple[Played, Path]:
        """One episode: what came of it, and its trajectory."""
        manifest, seed_memory = read_scaffold(scaffold)
        budgets = manifest.budgets
        player = client or HeuristicClient()
        files = FilesBackend(
            search_limit=budgets.search_limit,
            read_limit=budgets.read_limit,
            size_limit=budgets.memory_characters,
        )
        cast = Cast(
            environment=envs.registry.make("crafter-v1", world_cache=self.root / "worlds"),
            sandbox=ProcessSandbox(self.root / "bundles", bubblewrap=None),
            limits=PATIENT,
            scaffold=scaffold,
            seed_memory=seed_memory,
            options=dict(manifest.options),
            memory=memory(files),
            handover=False,
            call_model=lambda role, messages: player.complete(messages),
        )
        spec = EpisodeSpec(
            environment="crafter-v1",
            versions={},
            seed=seed,
            steps=steps,
            tree="0" * 40,
            budgets=budgets,
            models={"action": "heuristic"},
            agent="agent",
        )
        path = self.root / f"{scaffold.name}-{seed}.jsonl.zst"
        return play(spec, cast, TrajectoryWriter(path, {})), path


def edited_scaffold(folder: Path, *names: str) -> Path:
    """The shipped scaffold with edits of the catalogue applied, one after another."""
    shutil.copytree(SCAFFOLD, folder, ignore=shutil.ignore_patterns("__pycache__"))
    catalogue = {edit.name: edit for edit in read_catalogue(EDITS, "crafter")}
    for name in names:
        files = {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in folder.rglob("*")
            if path.is_file()
        }
        for path, content in catalogue[name].apply(files).items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
    return folder
