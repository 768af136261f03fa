"""Options that choose a model, and what becomes of failures of the system."""

from __future__ import annotations

import errno
import sys
from pathlib import Path

import pytest

from envs.registry import select
from orchestrator.cli import app
from orchestrator.cli.playing import configured, prepared_scaffold
from orchestrator.config import Config
from orchestrator.workspace import Workspace, seed_scaffolds

URL = "https://models.example/v1"


@pytest.mark.parametrize(
    ("base_url", "given", "variable"),
    [
        (None, None, "OPENAI_API_KEY"),
        (URL, None, None),
        (URL, "OTHER_KEY", "OTHER_KEY"),
        (None, "OTHER_KEY", "OTHER_KEY"),
    ],
)
def test_where_the_key_comes_from(
    tmp_path: Path, base_url: str | None, given: str | None, variable: str | None
) -> None:
    config = configured(Workspace(tmp_path, Config()), "openai:big", base_url, given, "process")
    model = config.models["action"]
    assert (model.model, model.base_url, model.api_key_env) == ("big", base_url, variable)


def test_a_scaffold_for_any_environment_fits(tmp_path: Path) -> None:
    place = Workspace(tmp_path, Config())
    for name in ("no-memory", "crafter"):
        for environment in ("crafter", "crafter-v1"):
            given = str(seed_scaffolds() / name)
            folder, tree = prepared_scaffold(place, select(environment), given)
            assert (folder / "scaffold.toml").is_file()
            assert len(tree) in (40, 64)


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    """The exit status of a command."""
    monkeypatch.setattr(sys, "argv", ["slowwave", *words])
    with pytest.raises(SystemExit) as ended:
        app.main()
    assert isinstance(ended.value.code, int)
    return ended.value.code


def test_a_file_where_a_folder_should_be(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("mine")
    assert run(monkeypatch, "init", str(tmp_path / "file" / "lab")) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert f"{tmp_path / 'file' / 'lab'}: Not a directory." in said
    assert "name another one" in said
    assert "Traceback" not in said
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize(
    ("number", "what", "mend"),
    [
        (errno.ENOSPC, "No space left on device", "Free some space"),
        (errno.EACCES, "Permission denied", "Get the right to write there"),
        (errno.EROFS, "Read-only file system", "Get the right to write there"),
    ],
)
def test_what_the_system_refuses_is_no_bug(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    number: int,
    what: str,
    mend: str,
) -> None:
    def refuse(**_: object) -> None:
        raise OSError(number, what, "/lab/x")

    monkeypatch.setattr(app, "app", refuse)
    assert run(monkeypatch) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"Error: The system refused: /lab/x: {what}. {mend}")


def test_other_failures_stay_bugs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(**_: object) -> None:
        raise OSError("without a number")

    monkeypatch.setattr(app, "app", fail)
    assert run(monkeypatch) == 70
    assert "This is a bug in slowwave." in " ".join(capsys.readouterr().err.split())
