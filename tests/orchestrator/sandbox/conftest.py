"""One bundle for all tests of a run: building it takes most of a second."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bundles")
