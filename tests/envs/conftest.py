"""Level sets for the tasks that need some."""

from pathlib import Path

import pytest

from envs.minihack import boxoban
from tests.envs.levels import published


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for added data."""
    folder = tmp_path / "data"
    monkeypatch.setenv(boxoban.DATA_VARIABLE, str(folder))
    return folder


@pytest.fixture
def levels(data: Path, tmp_path: Path) -> Path:
    """Both level sets, added from a small copy; the folder of the copy."""
    copy = published(tmp_path / "copy")
    boxoban.add(copy)
    return copy


@pytest.fixture(scope="session")
def data_with_levels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of added data with both level sets, for tests that only play."""
    folder = tmp_path_factory.mktemp("levels")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(boxoban.DATA_VARIABLE, str(folder / "data"))
        boxoban.add(published(folder / "copy"))
    return folder / "data"
