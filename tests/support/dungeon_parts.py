"""MiniHack and NetHack episodes with the shipped scaffolds, played outside a workspace."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import envs.registry
from agents.memory.base import MemoryBackend
from agents.memory.files import FilesBackend
from envs.base import Environment
from orchestrator.editors.rules.catalogue import read_catalogue
from orchestrator.episodes.job import read_scaffold
from orchestrator.episodes.player import Cast, Played, play
from orchestrator.episodes.spec import EpisodeSpec
from orchestrator.episodes.trajectory import TrajectoryWriter
from orchestrator.models.heuristic import HeuristicClient
from orchestrator.sandbox.process import ProcessSandbox
from orchestrator.scaffolds.trees import read_folder
from tests.support.crafter_parts import EDITS, PATIENT, ROOT, RecordingClient

SCAFFOLDS = ROOT / "scaffolds"


@dataclass
class DungeonStage:
    """Plays the games under NetHack's rules in one folder; each environment is made once.

    Attributes:
        root: For bundles and trajectories.
    """

    root: Path
    _made: dict[str, Environment] = field(default_factory=dict)

    def play(
        self,
        environment: str,
        scaffold: Path,
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
            environment=self._environment(environment),
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
            environment=environment,
            versions={},
            seed=seed,
            steps=steps,
            tree="0" * 40,
            budgets=budgets,
            models={"action": "heuristic"},
            agent="agent",
        )
        path = self.root / f"{scaffold.name}-{environment.replace('/', '-')}-{seed}.jsonl.zst"
        return play(spec, cast, TrajectoryWriter(path, {})), path

    def close(self) -> None:
        """Give back the environments."""
        while self._made:
            self._made.popitem()[1].close()

    def _environment(self, name: str) -> Environment:
        if name not in self._made:
            self._made[name] = envs.registry.make(name)
        return self._made[name]


def edited(family: str, folder: Path, *names: str) -> Path:
    """A shipped scaffold with edits of the catalogue applied, one after another."""
    catalogue = {edit.name: edit for edit in read_catalogue(EDITS, family)}
    shutil.copytree(SCAFFOLDS / family, folder, ignore=shutil.ignore_patterns("__pycache__"))
    for name in names:
        for path, content in catalogue[name].apply(read_folder(folder)).items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
    return folder
