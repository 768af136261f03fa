"""A scaffold in a container, begun and ended for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.docker_parts import docker_sandbox
from tests.support.sandbox_parts import Begin, beginning


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Begin]:
    """Starts a container with some hooks; all are closed, twice, at the end."""
    with beginning(tmp_path, docker_sandbox) as start:
        yield start
