"""What an editor, a server or a folder's name says is printed as it stands, never as markup."""

from __future__ import annotations

import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from orchestrator.cli import evaluate, history, night, play, setup
from orchestrator.doctor import Check
from orchestrator.episodes.spec import MissingEpisode

HOSTILE = "[/x] [red]"


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What the commands print, on a wide screen."""
    out = io.StringIO()
    for module in (evaluate, history, night, play, setup):
        monkeypatch.setattr(module, "screen", Console(file=out, width=200))
    return out


def test_a_night(said: io.StringIO) -> None:
    one: Any = SimpleNamespace(number=1, decision="refused", verdict=None, subject=HOSTILE)
    record: Any = SimpleNamespace(rounds=[one], stop_reason=HOSTILE, report=None)
    night._print_night(record, Path("[bold]") / "report.html")
    assert said.getvalue().splitlines() == [
        f"1. refused: {HOSTILE}",
        f"Ended because {HOSTILE}.",
        "Report: [bold]/report.html",
    ]


def test_the_log(said: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    one = SimpleNamespace(name="crafter/v1", verdict=None, parent="0a", subject=HOSTILE)
    store = SimpleNamespace(history=lambda lineage, include_candidates: [one])
    place = SimpleNamespace(scaffolds=store)
    monkeypatch.setattr(history, "find_workspace", lambda given: place)
    history.log(workspace=Path("lab"))
    assert HOSTILE in said.getvalue()


def test_missing_episodes(
    said: io.StringIO, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lost = MissingEpisode(
        key="0a",
        environment="crafter-v1",
        seed=4,
        error="ModelFailure",
        message=f"The server said {HOSTILE}.",
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SLOWWAVE_WORKSPACE", raising=False)
    monkeypatch.setattr(evaluate, "play_jobs", lambda *_: [lost])
    evaluate.evaluate("crafter", seeds="4", steps=2, sandbox="process")
    assert f"The server said {HOSTILE}." in said.getvalue()


def test_the_doctor(said: io.StringIO, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    check = Check(name="model", ok=False, found=HOSTILE, mend=f"Mend {HOSTILE}", needed=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SLOWWAVE_WORKSPACE", raising=False)
    monkeypatch.setattr(setup.checks, "examine", lambda place: [check])
    setup.doctor()
    assert f"model: {HOSTILE}" in said.getvalue()
    assert f"      Mend {HOSTILE}" in said.getvalue()
