"""The bundle: named by its content, whole or not there, safe to build at once."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.sandbox import bundle

ROOT = Path(__file__).resolve().parents[3]
BUILD = (
    "import sys; from pathlib import Path; from orchestrator.sandbox import bundle;"
    "sys.stdin.readline(); print(bundle.build(Path(sys.argv[1])))"
)


def content(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_it_holds_the_runner_and_jinja_and_nothing_of_the_host(tmp_path: Path) -> None:
    made = bundle.build(tmp_path)
    sources = {name for name in content(made) if name.endswith(".py")}
    assert {name for name in sources if name.startswith("agents/")} == {
        f"agents/{name}.py"
        for name in ("__init__", "grammar", "loop", "messages", "runner", "scaffold")
    }
    assert {name.partition("/")[0] for name in sources} == {"agents", "jinja2", "markupsafe"}
    for name in ("grammar", "loop"):
        assert (made / f"agents/{name}.py").read_bytes() == (
            ROOT / f"agents/{name}.py"
        ).read_bytes()


def test_it_is_compiled_so_that_nothing_need_be_written_later(tmp_path: Path) -> None:
    made = bundle.build(tmp_path)
    sources = list(made.rglob("*.py"))
    assert len(list(made.rglob("*.pyc"))) == len(sources)


def test_its_name_says_python_and_content(tmp_path: Path) -> None:
    made = bundle.build(tmp_path)
    version = f"py{sys.version_info.major}{sys.version_info.minor}"
    assert made == tmp_path / f"{version}-{bundle.fingerprint()}"
    assert len(bundle.fingerprint()) == 16


def test_any_change_of_the_agent_code_makes_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agents = tmp_path / "agents"
    shutil.copytree(ROOT / "agents", agents)
    monkeypatch.setattr(bundle, "_agents", lambda: agents)
    fresh = bundle.fingerprint.__wrapped__
    found = {fresh()}
    for name in bundle.AGENT_MODULES:
        path = agents / f"{name}.py"
        path.write_bytes(path.read_bytes() + b"\n# changed\n")
        found.add(fresh())
    assert len(found) == 1 + len(bundle.AGENT_MODULES)
    (agents / "manifest.py").write_text("")  # not part of it
    assert fresh() in found


def test_a_bundle_that_is_there_is_used(tmp_path: Path) -> None:
    made = bundle.build(tmp_path)
    marks = {path: path.stat().st_mtime_ns for path in made.rglob("*")}
    assert bundle.build(tmp_path) == made
    assert {path: path.stat().st_mtime_ns for path in made.rglob("*")} == marks


def test_a_build_that_was_killed_half_way_is_no_bundle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def kill(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", kill)
        with pytest.raises(Killed):
            bundle.build(tmp_path)
    assert list(tmp_path.iterdir()) == []
    # What a kill would have left is not taken for a bundle either.
    (tmp_path / ".bundle-left" / "agents").mkdir(parents=True)
    assert (bundle.build(tmp_path) / "agents" / "runner.py").is_file()


def test_several_processes_may_build_at_once(tmp_path: Path) -> None:
    children = [
        subprocess.Popen(
            [sys.executable, "-c", BUILD, tmp_path],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    for child in children:  # they are all up now, or will find it said when they are
        assert child.stdin is not None
        child.stdin.write("\n")
        child.stdin.flush()
    said = {child.communicate()[0].strip() for child in children}
    assert [child.returncode for child in children] == [0, 0, 0]
    assert said == {str(bundle.build(tmp_path))}
    assert [path.name for path in tmp_path.iterdir()] == [bundle.build(tmp_path).name]
