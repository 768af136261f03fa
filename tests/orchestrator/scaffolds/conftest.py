"""A store with one lineage, made from the sample seed."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.scaffolds.store import ScaffoldStore
from tests.support.scaffold_samples import SEED, TickingClock, write_folder


@pytest.fixture
def seed_folder(tmp_path: Path) -> Path:
    return write_folder(tmp_path / "seed", SEED)


@pytest.fixture
def store(tmp_path: Path, seed_folder: Path) -> ScaffoldStore:
    made = ScaffoldStore.init(tmp_path / "scaffolds", now=TickingClock())
    made.import_lineage("crafter", seed_folder)
    return made
