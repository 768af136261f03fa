"""A stage for small episodes; one bundle for all tests of a run."""

from pathlib import Path

import pytest

from tests.support.episode_parts import Stage
from tests.support.openai_server import openai_server, running_openai_server

__all__ = ["openai_server", "running_openai_server"]


@pytest.fixture(scope="session")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bundles")


@pytest.fixture
def stage(tmp_path: Path, bundles: Path) -> Stage:
    return Stage(tmp_path, bundles)
