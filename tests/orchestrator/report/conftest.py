"""A finished night, built once: nothing here writes to it but the report itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.night_record import NightRecord
from orchestrator.report.data import ReportData
from orchestrator.report.gather import gather
from orchestrator.report.page import render
from orchestrator.workspace import Workspace
from tests.support.sample_night import build


@pytest.fixture(scope="session")
def finished_night(tmp_path_factory: pytest.TempPathFactory) -> tuple[Workspace, NightRecord]:
    return build(tmp_path_factory.mktemp("night") / "lab")


@pytest.fixture(scope="session")
def facts(finished_night: tuple[Workspace, NightRecord]) -> ReportData:
    return gather(*finished_night)


@pytest.fixture(scope="session")
def page(facts: ReportData) -> str:
    return render(facts)


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    return tmp_path / "lab"
