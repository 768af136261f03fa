"""Docker under real runs: nothing is left behind, and a night outlives its engine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from orchestrator.night_record import nights
from orchestrator.sandbox.containers import reaper
from orchestrator.sandbox.containers.daemon import connect
from orchestrator.workspace import Workspace
from tests.support.docker_engine import Engine, engine
from tests.support.workspaces import add_blind_lineage, small_workspace

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("docker-engine")]

DEADLINE_S = 900.0
MARK = "SLOWWAVE_TEST_MARK"


@pytest.fixture(scope="module")
def own_engine() -> Iterator[Engine]:
    with engine() as found:
        yield found


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where episodes are played outside a workspace; their worlds are made once."""
    return tmp_path_factory.mktemp("place")


def command(*words: object) -> list[str]:
    program = "from orchestrator.cli.app import main; main()"
    return [sys.executable, "-c", program, *map(str, words), "--json"]


def environment(own: Engine, scratch: Path, mark: str) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PREFECT")}
    scratch.mkdir(exist_ok=True)
    return {**kept, "DOCKER_HOST": own.address, "TMPDIR": str(scratch), MARK: mark}


def containers(own: Engine) -> list[dict[str, object]]:
    found = connect(own.address).client.containers(all=True)
    return [one for one in found if reaper.LABEL in one["Labels"]]


def processes(mark: str) -> list[psutil.Process]:
    """Every process that inherited the mark."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK) == mark:
                found.append(process)
        except psutil.Error:
            continue
    return found


def leftovers(scratch: Path) -> list[str]:
    """Files and sockets in what was the runs' temporary folder."""
    return sorted(str(path.relative_to(scratch)) for path in scratch.rglob("*"))


def test_fifty_episodes_leave_nothing_behind(
    own_engine: Engine, place: Path, tmp_path: Path
) -> None:
    scratch, mark = tmp_path / "scratch", f"{tmp_path}-fifty"
    words = ("eval", "crafter", "--seeds", "1-50", "--steps", "5", "--workers", "4")
    done = subprocess.run(
        command(*words, "--sandbox", "docker"),
        capture_output=True,
        text=True,
        cwd=place,
        env=environment(own_engine, scratch, mark),
        timeout=DEADLINE_S,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert (len(found["episodes"]), found["missing"]) == (50, [])
    assert {one["outcome"] for one in found["episodes"]} == {"step_limit"}
    assert containers(own_engine) == []
    _, alive = psutil.wait_procs(processes(mark), timeout=5)
    assert alive == []
    assert leftovers(scratch) == []


def test_a_killed_run_leaves_nothing_that_the_next_one_does_not_remove(
    own_engine: Engine, place: Path, tmp_path: Path
) -> None:
    scratch, mark = tmp_path / "scratch", f"{tmp_path}-killed"
    variables = environment(own_engine, scratch, mark)
    words = ("eval", "crafter", "--steps", "400", "--workers", "3", "--sandbox", "docker")
    with subprocess.Popen(
        command(*words, "--seeds", "1-50"),
        cwd=place,
        env=variables,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as run:
        deadline = time.monotonic() + DEADLINE_S
        while len(containers(own_engine)) < 3:
            assert time.monotonic() < deadline, "the run got nowhere"
            assert run.poll() is None, "the run ended before it could be killed"
            time.sleep(0.05)
        run.kill()
    # The containers end by themselves, because nobody holds the other end of their channel.
    deadline = time.monotonic() + 30
    while any(one["State"] == "running" for one in containers(own_engine)):
        assert time.monotonic() < deadline, "a container goes on without its host"
        time.sleep(0.05)
    done = subprocess.run(
        command(*words, "--seeds", "51"),
        capture_output=True,
        text=True,
        cwd=place,
        env=variables,
        timeout=DEADLINE_S,
    )
    assert done.returncode == 0, done.stderr
    assert containers(own_engine) == []
    _, alive = psutil.wait_procs(processes(mark), timeout=10)
    assert alive == []


# --- the engine goes away -----------------------------------------------------------------------


def wait_for(happened: Callable[[], bool], run: subprocess.Popen[bytes]) -> None:
    """Wait for something that a run must bring about."""
    deadline = time.monotonic() + DEADLINE_S
    while not happened():
        assert time.monotonic() < deadline, "it did not happen"
        assert run.poll() is None, "the run ended before it happened"
        time.sleep(0.05)


def stored(workspace: Workspace) -> int:
    return len(list((workspace.artifacts / "episodes").glob("??/*.json")))


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_night_waits_for_its_engine(own_engine: Engine, tmp_path: Path, how: int) -> None:
    workspace = small_workspace(tmp_path / "lab", steps=60, candidates=1)
    add_blind_lineage(workspace, tmp_path)
    variables = environment(own_engine, tmp_path / "scratch", str(tmp_path))
    words = command("night", "blind", "--workspace", workspace.root, "--sandbox", "docker")
    log = tmp_path / "log"
    with (
        log.open("w") as file,
        subprocess.Popen(words, env=variables, stdout=file, stderr=subprocess.STDOUT) as run,
    ):
        wait_for(lambda: stored(workspace) >= 2, run)
        own_engine.stop(how)
        wait_for(lambda: "Waiting for it" in log.read_text(), run)
        before = stored(workspace)
        own_engine.start()
        assert run.wait(DEADLINE_S) == 0, log.read_text()[-2000:]
    said = log.read_text()
    assert "Docker's daemon does not answer" in said
    assert "The sandbox is back: going on." in said
    (record,) = nights(workspace.artifacts / "nights")
    assert record.ended_at is not None
    assert stored(workspace) > before
    outcomes = {
        json.loads(path.read_text())["outcome"]
        for path in (workspace.artifacts / "episodes").glob("??/*.json")
    }
    assert not {one for one in outcomes if one.startswith("scaffold")}
    assert containers(own_engine) == []
