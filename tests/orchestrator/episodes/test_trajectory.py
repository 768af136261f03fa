"""A trajectory reads back whole, is complete or marked partial, and is named by what it holds."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.episodes.trajectory import (
    SCHEMA,
    Trajectory,
    TrajectoryError,
    TrajectoryWriter,
)
from tests.support.episode_parts import Stage, by_phase

ROOT = Path(__file__).resolve().parents[3]


def records(path: Path) -> list[dict[str, Any]]:
    data = zstandard.ZstdDecompressor().stream_reader(path.read_bytes()).read()
    return [json.loads(line) for line in data.decode().splitlines()]


def write(path: Path, lines: list[dict[str, Any]]) -> None:
    text = "".join(json.dumps(line) + "\n" for line in lines)
    path.write_bytes(zstandard.ZstdCompressor().compress(text.encode()))


def small(path: Path, *, texts: tuple[str, ...] = ("a", "b", "a"), **facts: Any) -> str:
    """A trajectory of one step per text; returns its digest."""
    writer = TrajectoryWriter(path, {"key": "k", **facts})
    for number, text in enumerate(texts):
        writer.step({"step": number, "observation": writer.text(text), "turns": []})
    return writer.finish(progression=0.5, last_observation=writer.text("end"))


# --- reading back -----------------------------------------------------------------------------


def test_every_prompt_is_reconstructed_exactly(stage: Stage) -> None:
    show = stage.play(
        [
            "<|READ|>notes<|END|>",
            "Öl — 水 <|ACTION|>right<|END|>",
            "<|SEARCH|>notes|x<|END|>",
            "<|APPEND|>notes|x<|END|>",
            "<|DONE|>",
            "hm",
            "<|ACTION|>right<|END|>",
        ],
        steps=2,
        seeds={"notes": "go right"},
    )
    assert [turn.messages for turn in show.turns()] == show.action.asked
    assert [turn.completion for turn in show.turns()] == show.action.said
    assert [turn.phase for turn in show.turns()] == ["PLAN"] * 2 + ["LOG"] * 3 + ["PLAN"] * 2
    assert [turn.ended for turn in show.turns()] == ["", "ACTION", "", "", "DONE", "", "ACTION"]
    assert show.turns()[0].results == [("<|READ|>notes<|END|>", "go right")]


def test_a_step_can_be_read_without_those_before(stage: Stage) -> None:
    show = stage.play(steps=3)
    trajectory = Trajectory(show.path)
    steps = list(trajectory.steps())
    last = [turn.messages for turn in trajectory.turns(steps[2])]
    assert last == show.action.asked[-2:]


def test_a_text_is_written_once(tmp_path: Path) -> None:
    path = tmp_path / "t.zst"
    small(path)
    assert [record["type"] for record in records(path)] == [
        "header",
        "text",
        "step",
        "text",
        "step",
        "step",
        "text",
        "end",
    ]
    assert [step["observation_text"] for step in Trajectory(path).steps()] == ["a", "b", "a"]


def test_the_end_tells_how_it_went(stage: Stage) -> None:
    show = stage.play(seed=4, steps=5)
    end = show.end()
    assert (end["complete"], end["outcome"], end["steps"]) == (True, "won", 2)
    assert (end["progression"], end["digest"]) == (1.0, show.played.digest)
    assert end["memory"] == {"notes": ""}
    assert end["metrics"] == show.played.metrics
    trajectory = Trajectory(show.path)
    list(trajectory.steps())
    assert trajectory.text(end["last_observation"]) == "You are in room 6."


def test_texts_are_known_without_being_kept(tmp_path: Path) -> None:
    writer = TrajectoryWriter(tmp_path / "t.zst", {})
    tracemalloc.start()
    try:
        numbers = [writer.text(f"{number} " * 10_000) for number in range(200)]
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert numbers == list(range(200))
    assert writer.text("7 " * 10_000) == 7
    assert used < 1_000_000  # the texts are more than seven million characters


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


@settings(max_examples=40)
@given(st.lists(texts, max_size=8))
def test_whatever_was_seen_reads_back(seen: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.zst"
        small(path, texts=tuple(seen))
        assert [step["observation_text"] for step in Trajectory(path).steps()] == seen


# --- the digest -------------------------------------------------------------------------------


def test_the_digest_covers_what_was_seen_and_done_and_nothing_else(tmp_path: Path) -> None:
    digest = small(tmp_path / "1.zst")
    assert re.fullmatch(r"[0-9a-f]{64}", digest)
    assert small(tmp_path / "2.zst", night="another", key="x") == digest
    assert small(tmp_path / "3.zst", texts=("a", "b", "c")) != digest
    assert small(tmp_path / "4.zst", texts=("a", "b")) != digest

    def finish(name: str, progression: float, last: str) -> str:
        writer = TrajectoryWriter(tmp_path / name, {})
        first, second = writer.text("a"), writer.text("b")
        return writer.finish(
            progression=progression, last_observation={"a": first, "b": second}[last]
        )

    found = {finish("5", 0.5, "a"), finish("6", 0.5, "b"), finish("7", 0.25, "a")}
    assert len(found) == 3


@pytest.mark.parametrize(
    "other",
    [
        {"seed": 1},
        {"steps": 2},
        {"script": by_phase("<|DONE|>", "<|ACTION|>left<|END|>")},
        {"script": by_phase("<|DONE|>", "so <|ACTION|>right<|END|>")},
        {"seeds": {"notes": "x"}, "script": by_phase("<|READ|>notes<|END|><|DONE|>", "")},
        {"plan": "PLAN, please. {{ observation }}"},
    ],
)
def test_any_difference_shows_in_the_digest(stage: Stage, other: dict[str, Any]) -> None:
    assert stage.play().played.digest != stage.play(**other).played.digest


def test_the_same_episode_has_the_same_digest(stage: Stage) -> None:
    assert stage.play().played.digest == stage.play().played.digest


# --- partial and broken -----------------------------------------------------------------------


def test_it_takes_its_name_only_when_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "t.zst"
    writer = TrajectoryWriter(path, {})
    writer.step({"step": 0, "observation": writer.text("a"), "turns": []})
    assert not path.exists()
    assert writer.partial.exists()
    writer.finish(progression=0.0, last_observation=0)
    assert path.exists()
    assert [one.name for one in path.parent.iterdir()] == ["t.zst"]


def test_an_abandoned_one_is_marked_and_readable(tmp_path: Path) -> None:
    writer = TrajectoryWriter(tmp_path / "t.zst", {})
    writer.step({"step": 0, "observation": writer.text("a"), "turns": []})
    writer.abandon("ModelTimeout: too slow")
    partial = Trajectory(writer.partial)
    assert [step["observation_text"] for step in partial.steps()] == ["a"]
    assert partial.end == {"type": "end", "complete": False, "reason": "ModelTimeout: too slow"}
    assert not writer.path.exists()


def test_one_without_an_end_is_cut_off_and_what_there_is_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "t.zst"
    small(path)
    write(path, records(path)[:-1])
    trajectory = Trajectory(path)
    with pytest.raises(TrajectoryError, match="cut off: it has no end"):
        list(trajectory.steps())
    steps = Trajectory(path).steps()
    assert [next(steps)["observation_text"] for _ in range(3)] == ["a", "b", "a"]
    assert trajectory.end["complete"] is False


@pytest.mark.parametrize("left", [0.3, 0.6, 0.9])
def test_one_that_is_cut_off_is_never_taken_for_complete(tmp_path: Path, left: float) -> None:
    path = tmp_path / "t.zst"
    small(path, texts=tuple(f"{number} {'x' * number}" for number in range(200)))
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * left)])
    trajectory = Trajectory(path)
    with pytest.raises(TrajectoryError, match="damaged or cut off"):
        list(trajectory.steps())
    assert trajectory.end["complete"] is False


@pytest.mark.parametrize("data", [b"", b"not zstd at all", b"\x28\xb5\x2f\xfd broken"])
def test_what_is_no_trajectory_is_never_taken_for_one(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "t.zst"
    path.write_bytes(data)
    trajectory = Trajectory(path)
    with pytest.raises(TrajectoryError, match=r"t\.zst is damaged .* play the episode again"):
        list(trajectory.steps())
    assert trajectory.end["complete"] is False


def test_a_missing_one_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        TrajectoryError, match=r"There is no trajectory .*t\.zst\. Play the episode"
    ):
        list(Trajectory(tmp_path / "t.zst").steps())


@pytest.mark.parametrize("schema", [1, SCHEMA + 1])
def test_another_schema_is_refused(tmp_path: Path, schema: int) -> None:
    path = tmp_path / "t.zst"
    write(path, [{"type": "header", "schema": schema}])
    with pytest.raises(TrajectoryError, match=f"has schema {schema}, and this version reads 2"):
        list(Trajectory(path).steps())


FULL = """
import os, sys
from pathlib import Path
from orchestrator.episodes.trajectory import TrajectoryWriter

before = len(os.listdir("/proc/self/fd"))
writer = TrajectoryWriter(Path(sys.argv[1]), {})
writer._file.close()
writer._file = open("/dev/full", "wb", buffering=0)
import zstandard
writer._stream = zstandard.ZstdCompressor().stream_writer(writer._file, closefd=False)
try:
    for number in range(100_000):
        writer.text(os.urandom(1000).hex())
except OSError as error:
    print(error.errno)
writer.abandon("full")
print(len(os.listdir("/proc/self/fd")) - before)
"""


def test_giving_up_on_a_full_disk_raises_nothing_more_and_leaves_nothing_open(
    tmp_path: Path,
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FULL, tmp_path / "t.zst"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["28", "0"], done.stderr
