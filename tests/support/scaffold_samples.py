"""A small scaffold, a proposal and a verdict for tests of the scaffold store."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from orchestrator.scaffolds.revision import Proposal, Verdict

SEED = {
    "README.md": b"# A seed\n",
    "hooks.py": b"import math\n\n\ndef on_start(context):\n    context.state = math.inf\n",
    "memory/notes.md": b"# Notes\n",
    "prompts/log.j2": b"one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n",
    "scaffold.toml": b'[scaffold]\nname = "sample"\n',
}

PROPOSAL = Proposal(
    subject="Keep one line per landmark",
    summary="Notes are keyed by kind and place.",
    rationale="Searches for water returned forty lines.",
    expected_effect="Fewer empty searches.",
    kind="memory",
    editor="rules",
)

ACCEPT = Verdict(
    word="accept",
    effect=6.25,
    interval=(1.5, 11.0),
    p=0.0039,
    pairs=20,
    bank_slices=("screen", "confirm[3]"),
    episodes=60,
    tokens=120_000,
    cost=1.25,
    hours=0.5,
    models={"action": "heuristic crafter", "memory": "openai m (t=1.0, p=0.9)"},
    trajectories=("0a1b2c3d4e5f", "ffeeddccbbaa"),
    mlflow_run="6f1e",
    notes=("Plays with 2.1 times the model calls.",),
)


def write_folder(folder: Path, files: Mapping[str, bytes]) -> Path:
    """Write `files` under `folder`, which is made, and return it."""
    for path, data in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    return folder


def read_working_tree(folder: Path) -> dict[str, bytes]:
    """Every file under `folder` but git's own."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".git" not in path.relative_to(folder).parts
    }


def git(folder: Path, *args: str) -> str:
    """What a person would run, with an identity for commits."""
    identity = ["-c", "user.name=A Person", "-c", "user.email=person@localhost"]
    done = subprocess.run(
        ["git", "-C", str(folder), *identity, *args], check=True, capture_output=True, text=True
    )
    return done.stdout


class TickingClock:
    """A clock that is a minute later each time it is read."""

    def __init__(self) -> None:
        self._now = datetime(2026, 11, 30, 22, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        self._now += timedelta(minutes=1)
        return self._now
