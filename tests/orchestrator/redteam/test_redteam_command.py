"""``gate redteam``: what it refuses before anything is played."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from orchestrator.cli.app import app
from orchestrator.cli.redteam import HERE
from orchestrator.errors import SlowwaveError
from orchestrator.sandbox.choice import Unsandboxed


def refused(*words: str) -> SlowwaveError:
    done = CliRunner().invoke(app, ["gate", "redteam", *words])
    assert isinstance(done.exception, SlowwaveError), done.output
    return done.exception


def test_the_checkout_has_the_planted_candidates() -> None:
    assert Path(__file__).parents[2] / "redteam" == HERE
    assert (HERE / "better" / "planted.toml").is_file()


def test_a_missing_folder_is_said_with_the_mend(tmp_path: Path) -> None:
    error = refused("--planted", str(tmp_path / "nowhere"))
    assert error.message == f"There is no folder of planted candidates at {tmp_path / 'nowhere'}."
    assert error.mend == (
        "They lie in tests/redteam of a checkout: name that folder with --planted."
    )


def test_a_wrong_name_is_said_with_those_that_there_are() -> None:
    error = refused("--only", "memorize")
    assert error.message == "There is no planted candidate 'memorize'."
    assert "memorise-propose" in str(error.mend)


def test_planted_code_counts_as_a_models(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    error = refused("--sandbox", "process")
    assert isinstance(error, Unsandboxed)
    assert error.message.startswith("redteam wrote this scaffold's code")
    assert "--allow-unsandboxed" in str(error.mend)
    assert list(tmp_path.iterdir()) == []
