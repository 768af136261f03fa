"""A suite in which a task breaks, played by real workers: the rest of it completes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from orchestrator.episodes.store import EpisodeStore
from orchestrator.workspace import seed_scaffolds
from tests.support.small_suite import AWAY, BREAKS, BROKEN_SEED, SENTENCE, SOUND

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("night")]

ROOT = Path(__file__).resolve().parents[2]


def evaluate(folder: Path, *words: str) -> tuple[Any, str]:
    """``eval`` of the small suite in a process of its own, for its workers take after it."""
    given = {key: value for key, value in os.environ.items() if not key.startswith("PREFECT")}
    done = subprocess.run(
        [
            sys.executable, "-m", "tests.support.small_suite", "eval", "minihack", *words,
            "--sandbox", "process", "--workers", "2", "--json",
        ],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**given, "PYTHONPATH": str(ROOT), "SLOWWAVE_DATA": str(folder / "data")},
        timeout=900,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1]), done.stderr


def test_a_task_that_breaks_costs_its_own_episodes_and_no_others(tmp_path: Path) -> None:
    # The second scaffold is the first under another name: each of its games is played once.
    same = str(seed_scaffolds() / "minihack")
    found, said = evaluate(
        tmp_path, "--seeds", "1-2", "--steps", "5", "--compare", f"v0,{same},window"
    )
    assert found["environments"] == [SOUND, BREAKS]
    assert list(found["unavailable"]) == [AWAY]
    assert f"Not played: {AWAY} needs the Boxoban levels" in said
    assert "Traceback" not in said
    for one in found["scaffolds"]:
        (missing,) = one["missing"]
        assert missing["environment"] == BREAKS
        assert missing["seed"] == BROKEN_SEED
        assert missing["error"] == "EnvironmentFailure"
        assert missing["message"] == SENTENCE
        assert one["mean"] is not None
    assert found["scaffolds"][1]["difference"]["effect"] == 0.0
    assert found["scaffolds"][2]["difference"]["pairs"] == 1
    played = EpisodeStore(tmp_path / "artifacts").results()
    games = sorted((one.tree, one.environment, one.seed) for one in played)
    trees = {one["tree"] for one in found["scaffolds"]}
    assert len(trees) == 2
    assert games == sorted(
        (tree, name, seed)
        for tree in trees
        for name in (SOUND, BREAKS)
        for seed in (1, 2)
        if (name, seed) != (BREAKS, BROKEN_SEED)
    )
