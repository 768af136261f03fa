"""Crafter for the rooms of the host; its worlds and the bundle are made once for all tests."""

from pathlib import Path

import pytest

from tests.support.crafter_parts import CrafterStage


@pytest.fixture(scope="session")
def crafter(tmp_path_factory: pytest.TempPathFactory) -> CrafterStage:
    return CrafterStage(tmp_path_factory.mktemp("crafter"))


@pytest.fixture
def artifacts(tmp_path: Path, crafter: CrafterStage) -> Path:
    """An artifacts folder of its own that shares worlds and bundle."""
    folder = tmp_path / "artifacts"
    folder.mkdir()
    for shared in ("worlds", "bundles"):
        (crafter.root / shared).mkdir(exist_ok=True)
        (folder / shared).symlink_to(crafter.root / shared)
    return folder
