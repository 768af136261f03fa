"""A night under Prefect, in parallel processes, killed with SIGKILL and run again."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from orchestrator.night_record import NightRecord, nights
from orchestrator.workspace import Workspace
from tests.support.workspaces import add_blind_lineage, small_workspace

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("night")]

DEADLINE_S = 900.0


def command(workspace: Workspace) -> list[str]:
    return [
        sys.executable, "-c", "from orchestrator.cli.app import main; main()",
        "night", "blind", "--workspace", str(workspace.root), "--json",
    ]  # fmt: skip


def environment() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if not key.startswith("PREFECT")}


def finish(workspace: Workspace) -> NightRecord:
    done = subprocess.run(
        command(workspace), capture_output=True, text=True, timeout=DEADLINE_S, env=environment()
    )
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout.splitlines()[-1])
    assert Path(record["report_page"]).is_file()
    (found,) = nights(workspace.artifacts / "nights")
    return found


def results(workspace: Workspace) -> dict[str, float]:
    """Finished episodes with the time at which each was stored."""
    paths = (workspace.artifacts / "episodes").glob("??/*.json")
    return {path.stem: path.stat().st_mtime_ns for path in paths}


def kill_after(workspace: Workspace, episodes: int) -> None:
    """Start the night and kill it once that many episodes are stored."""
    process = subprocess.Popen(
        command(workspace),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment(),
    )
    deadline = time.monotonic() + DEADLINE_S
    while len(results(workspace)) < episodes and process.poll() is None:
        assert time.monotonic() < deadline, "the night got nowhere"
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL, "the night was over before it could be killed"


def make(folder: Path) -> Workspace:
    workspace = small_workspace(folder / "lab", steps=40, candidates=2)
    add_blind_lineage(workspace, folder)
    return workspace


def facts(record: NightRecord) -> list[tuple[object, ...]]:
    return [
        (
            one.number,
            one.subject,
            one.tree,
            one.decision,
            one.episodes,
            one.verdict and one.verdict.model_copy(update={"hours": 0.0}),
        )
        for one in record.rounds
    ]


@pytest.fixture(scope="module")
def undisturbed(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Workspace, NightRecord]:
    """The night as it goes when nobody kills it."""
    workspace = make(tmp_path_factory.mktemp("undisturbed"))
    return workspace, finish(workspace)


@pytest.mark.parametrize("share", [0.1, 0.6])
def test_a_killed_night_goes_on_where_it_was(
    undisturbed: tuple[Workspace, NightRecord], tmp_path: Path, share: float
) -> None:
    first, expected = undisturbed
    workspace = make(tmp_path)
    shutil.copytree(first.artifacts / "worlds", workspace.artifacts / "worlds")
    total = len(results(first))
    # Somewhere around that share of the night; any moment must do.
    kill_after(workspace, max(1, round(total * share) + random.randint(-1, 1)))
    before = results(workspace)
    record = finish(workspace)
    after = results(workspace)
    assert record.ended_at is not None
    assert {key: after[key] for key in before} == before, "a finished episode was played again"
    assert set(after) == set(results(first))
    assert facts(record) == facts(expected)
    history = [one.tree for one in workspace.scaffolds.history("blind")]
    assert history == [one.tree for one in first.scaffolds.history("blind")]
    assert not list((workspace.artifacts / "prefect").glob("server*.pid"))
