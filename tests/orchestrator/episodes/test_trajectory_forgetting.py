"""Old texts are forgotten, by writer and reader alike, and nothing that was written is lost."""

from __future__ import annotations

import functools
import json
import random
import tempfile
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.episodes.trajectory import (
    TEXTS_KEPT,
    Trajectory,
    TrajectoryError,
    TrajectoryWriter,
    Turn,
)
from tests.support import episode_parts
from tests.support.episode_parts import Stage, by_phase


def lines_of(path: Path) -> list[bytes]:
    data = zstandard.ZstdDecompressor().stream_reader(path.read_bytes()).read()
    return data.splitlines(keepends=True)


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines_of(path)]


def numbered(path: Path) -> list[str]:
    """The texts and steps of a trajectory, in order: ``0:a`` a text, ``step 0 1`` its numbers."""
    return [
        f"{one['id']}:{one['text']}"
        if one["type"] == "text"
        else "step " + " ".join(map(str, one["texts"]))
        for one in records(path)
        if one["type"] in ("text", "step")
    ]


def record(path: Path, *steps: str, kept: int, last: str = "end") -> TrajectoryWriter:
    """One step per string, each of its letters a text of the step."""
    writer = TrajectoryWriter(path, {}, texts_kept=kept)
    for letters in steps:
        numbers = [writer.text(letter) for letter in letters]
        writer.step({"observation": numbers[0], "texts": numbers, "turns": []})
    writer.finish(progression=0.0, last_observation=writer.text(last))
    return writer


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.zst"


@pytest.fixture
def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the stage's trajectories keep no text from one step to the next."""
    writer = functools.partial(TrajectoryWriter, texts_kept=0)
    monkeypatch.setattr(episode_parts, "TrajectoryWriter", writer)


# --- the rule ---------------------------------------------------------------------------------


def test_the_oldest_number_is_forgotten_first_however_often_it_was_used(path: Path) -> None:
    record(path, "ab", "ac", "ab", "ba", kept=2)
    assert numbered(path) == [
        *("0:a", "1:b", "step 0 1"),
        *("2:c", "step 0 2"),  # then a is forgotten, though it was just used
        *("3:a", "step 3 1"),  # then b
        *("4:b", "step 4 3"),
        "5:end",
    ]


def test_nothing_is_forgotten_within_a_step(path: Path) -> None:
    record(path, "abcdeabcde", "a", kept=1)
    assert numbered(path) == [
        *("0:a", "1:b", "2:c", "3:d", "4:e", "step 0 1 2 3 4 0 1 2 3 4"),
        *("5:a", "step 5", "6:end"),
    ]


def test_what_comes_again_soon_is_not_written_again(path: Path) -> None:
    record(path, *("abc" for _ in range(50)), kept=3, last="a")
    assert [one for one in numbered(path) if not one.startswith("step")] == ["0:a", "1:b", "2:c"]


def test_the_header_says_how_many_are_kept(path: Path) -> None:
    TrajectoryWriter(path, {}).finish(progression=0.0, last_observation=0)
    assert records(path)[0]["texts_kept"] == TEXTS_KEPT


def test_the_digest_is_that_of_what_was_seen(tmp_path: Path) -> None:
    """Two that differ only in a text that had been forgotten, and is seen again."""

    def digest(name: str, *steps: str) -> str:
        writer = TrajectoryWriter(tmp_path / name, {}, texts_kept=1)
        for letter in steps:
            writer.step({"observation": writer.text(letter), "turns": []})
        return writer.finish(progression=0.0, last_observation=writer.text("end"))

    assert digest("1", "a", "b", "a") == digest("2", "a", "b", "a")
    assert len({digest("3", "a", "b", "a"), digest("4", "a", "b", "c")}) == 2


# --- reading ----------------------------------------------------------------------------------


def test_a_steps_texts_can_be_read_until_the_next_one_is_asked_for(path: Path) -> None:
    record(path, "abc", "d", kept=0)
    trajectory = Trajectory(path)
    steps = trajectory.steps()
    first = next(steps)
    assert [trajectory.text(number) for number in first["texts"]] == ["a", "b", "c"]
    next(steps)
    with pytest.raises(
        TrajectoryError, match=r"The text 1 of .*t\.zst belongs to a step .* before the next step\."
    ):
        trajectory.text(1)


def test_the_end_can_be_read_when_the_steps_are_over(path: Path) -> None:
    record(path, "ab", "c", kept=0, last="z")
    trajectory = Trajectory(path)
    assert len(list(trajectory.steps())) == 2
    assert trajectory.text(trajectory.end["last_observation"]) == "z"


def test_it_can_be_read_twice(path: Path) -> None:
    record(path, "ab", "ca", "b", kept=1)
    trajectory = Trajectory(path)
    seen = [[step["observation_text"] for step in trajectory.steps()] for _ in range(2)]
    assert seen == [["a", "c", "b"]] * 2


@pytest.mark.usefixtures("forgetful")
def test_every_prompt_is_reconstructed_whatever_is_forgotten(stage: Stage) -> None:
    plan = ["<|READ|>notes<|END|>", "<|ACTION|>right<|END|>"]
    log = ["<|APPEND|>notes|x<|END|>", "<|DONE|>"]
    show = stage.play([*plan, *log, *plan, *log, *plan], steps=3, seeds={"notes": "go right"})
    assert records(show.path)[0]["texts_kept"] == 0
    assert [turn.messages for turn in show.turns()] == show.action.asked
    assert [turn.completion for turn in show.turns()] == show.action.said


@pytest.mark.usefixtures("forgetful")
def test_turns_of_a_step_that_was_not_finished_can_be_read(stage: Stage) -> None:
    hooks = "def before_act(context, action):\n    return action if context.step < 2 else 1 / 0\n"
    show = stage.play(steps=5, hooks=hooks)
    trajectory = Trajectory(show.path)
    assert len(list(trajectory.steps())) == 2
    turns = list(trajectory.turns(trajectory.end["unfinished"]))
    assert [turn.phase for turn in turns] == ["LOG", "PLAN"]
    assert [turn.messages for turn in turns] == show.action.asked[-2:]
    assert trajectory.text(trajectory.end["last_observation"]) == "You are in room 2."


@pytest.mark.usefixtures("forgetful")
def test_metrics_are_those_of_what_was_seen(stage: Stage) -> None:
    """Room 0 and room 1 in turn, each text forgotten before it comes again; then the wall."""
    actions = iter(["right", "left", "right", "left", "left"])
    script = by_phase("<|DONE|>", "")
    show = stage.play(
        lambda messages: script(messages) or f"<|ACTION|>{next(actions)}<|END|>", steps=5
    )
    numbers = [step["observation"] for step in show.steps()]
    assert len(set(numbers)) == 5
    assert show.played.metrics["oscillation_rate"] == 3 / 5
    assert show.played.metrics["stuck_rate"] == 1 / 5


# --- random episodes --------------------------------------------------------------------------

# Few texts, so that they come again.
some_text = st.sampled_from(["", "a", "b", "Öl — 水", "a\nb", "\u2028\r\n", *"cdefg"])
some_turn = st.tuples(
    st.integers(0, 4),  # messages kept of the turn before
    st.lists(some_text, min_size=1, max_size=4),
    some_text,
    st.lists(some_text, max_size=3),
)
some_step = st.tuples(some_text, st.lists(some_turn, max_size=4))
some_steps = st.lists(some_step, max_size=12)
Steps = list[tuple[str, list[tuple[int, list[str], str, list[str]]]]]


def texts_in(step: tuple[str, list[tuple[int, list[str], str, list[str]]]]) -> int:
    """How many texts a step has at most."""
    return 1 + sum(len(new) + 1 + len(results) for _, new, _, results in step[1])


def record_turns(path: Path, steps: Steps, kept: int) -> list[tuple[str, list[Turn]]]:
    """Write the steps; returns what must be read, the conversations put together by hand."""
    writer = TrajectoryWriter(path, {}, texts_kept=kept)
    expected = []
    for seen, turns in steps:
        conversation: list[dict[str, str]] = []
        whole, written = [], []
        for wanted, new, completion, results in turns:
            kept_messages = min(wanted, len(conversation))
            conversation = conversation[:kept_messages]
            conversation += [{"role": "user", "content": text} for text in new]
            pairs = [(f"<|READ|>{number}<|END|>", text) for number, text in enumerate(results)]
            whole.append(Turn("PLAN", "action", list(conversation), completion, pairs, ""))
            written.append(
                {
                    "phase": "PLAN",
                    "role": "action",
                    "kept": kept_messages,
                    "new": [["user", writer.text(text)] for text in new],
                    "completion": writer.text(completion),
                    "results": [[command, writer.text(text)] for command, text in pairs],
                    "ended": "",
                }
            )
        writer.step({"observation": writer.text(seen), "turns": written})
        expected.append((seen, whole))
    writer.finish(progression=0.0, last_observation=writer.text("last"))
    return expected


def read_turns(path: Path) -> Iterator[tuple[str, list[Turn]]]:
    trajectory = Trajectory(path)
    for step in trajectory.steps():
        yield step["observation_text"], list(trajectory.turns(step))


def read_until_error(path: Path) -> tuple[list[tuple[str, list[Turn]]], str]:
    """What can be read, and the error's words; empty if there is none."""
    found = []
    try:
        for step in read_turns(path):
            found.append(step)
    except TrajectoryError as error:
        return found, str(error)
    return found, ""


@settings(max_examples=80, deadline=None)
@given(some_steps, st.integers(0, 30))
def test_whatever_was_played_reads_back(steps: Steps, more: int) -> None:
    kept = max(map(texts_in, steps), default=0) + more
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.zst"
        expected = record_turns(path, steps, kept)
        assert list(read_turns(path)) == expected


@settings(max_examples=80, deadline=None)
@given(some_steps, st.integers(0, 8))
def test_it_reads_back_even_if_a_step_has_more_texts_than_are_kept(steps: Steps, kept: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.zst"
        expected = record_turns(path, steps, kept)
        assert list(read_turns(path)) == expected


@settings(max_examples=80, deadline=None)
@given(some_steps, st.integers(0, 8), st.floats(0, 1, exclude_max=True))
def test_of_one_that_is_cut_off_anywhere_all_whole_steps_can_be_read(
    steps: Steps, kept: int, left: float
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.zst"
        expected = record_turns(path, steps, kept)
        whole = b"".join(lines_of(path))
        data = whole[: int(left * len(whole))]
        path.write_bytes(zstandard.ZstdCompressor().compress(data))
        found, error = read_until_error(path)
        assert "is damaged or cut off: it " in error
        steps_left = sum(b'{"type":"step"' in line for line in data.split(b"\n")[:-1])
        assert found == expected[:steps_left]


def test_of_a_file_that_is_cut_off_the_steps_before_the_cut_can_be_read(path: Path) -> None:
    draw = random.Random(0)
    seen = [draw.randbytes(2000).hex() for _ in range(300)]  # half as large when compressed
    writer = TrajectoryWriter(path, {}, texts_kept=8)
    for text in seen:
        writer.step({"observation": writer.text(text), "turns": []})
    writer.finish(progression=0.0, last_observation=writer.text("end"))
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * 6 // 10])
    found, error = read_until_error(path)
    assert [text for text, _ in found] == seen[: len(found)]
    assert 140 <= len(found) <= 181  # zstd packs 128 KiB at once: those of 33 steps
    assert error.endswith(
        "it stops in the middle of a record. Delete it and play the episode again."
    )


# --- memory -----------------------------------------------------------------------------------

LONG = 3000
"""Steps with a new text of some ten thousand characters each."""


def test_writing_needs_no_more_memory_with_every_step(path: Path) -> None:
    writer = TrajectoryWriter(path, {}, texts_kept=8)

    def play(first: int, last: int) -> None:
        for number in range(first, last):
            writer.step({"observation": writer.text(f"{number} " * 2000), "turns": []})

    play(0, 20)
    tracemalloc.start()
    try:
        play(20, LONG)
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    writer.abandon("enough")
    assert used < 20_000  # three thousand hashes alone would be more


def test_reading_needs_no_more_memory_with_every_step(path: Path) -> None:
    writer = TrajectoryWriter(path, {}, texts_kept=8)
    for number in range(LONG):
        writer.step({"observation": writer.text(f"{number} " * 2000), "turns": []})
    writer.finish(progression=0.0, last_observation=writer.text("end"))
    steps = Trajectory(path).steps()
    tracemalloc.start()
    try:
        count = sum(1 for _ in steps)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == LONG
    assert peak < 1_000_000  # the texts are more than twenty million characters


# --- damage -----------------------------------------------------------------------------------

DAMAGES = [
    ({"drop": 0}, "it has no header"),
    ({"drop": 1}, "its text 0 is missing"),
    ({"drop": 2}, "its text 1 is missing"),
    ({"drop": 4}, "a text 2 that it does not hold"),
    ({"put": {"type": "step", "observation": 7, "turns": []}}, "a text 7 that it does not hold"),
    ({"put": {"type": "step", "turns": []}}, "a text None that it does not hold"),
    ({"put": {"type": "text", "id": 0}}, "its text 0 is missing"),
    ({"put": ["no", "object"]}, "a record is no JSON object"),
    ({"put": "{"}, "a record is no JSON object"),
]


@pytest.mark.parametrize(("damage", "says"), DAMAGES)
def test_damage_is_one_sentence(path: Path, damage: dict[str, Any], says: str) -> None:
    record(path, "ab", "c", kept=1)
    lines = lines_of(path)
    if "drop" in damage:
        del lines[damage["drop"]]
    else:
        lines.insert(1, json.dumps(damage["put"]).encode() + b"\n")
    path.write_bytes(zstandard.ZstdCompressor().compress(b"".join(lines)))
    with pytest.raises(TrajectoryError) as caught:
        list(Trajectory(path).steps())
    assert says in str(caught.value)
    assert str(caught.value).endswith("Delete it and play the episode again.")


@pytest.mark.parametrize("kept", [None, "8", -1, 2.5])
def test_a_header_that_does_not_say_how_many_texts_are_kept(path: Path, kept: object) -> None:
    record(path, "a", kept=1)
    first, *rest = lines_of(path)
    header = {**json.loads(first), "texts_kept": kept}
    lines = [json.dumps(header).encode() + b"\n", *rest]
    path.write_bytes(zstandard.ZstdCompressor().compress(b"".join(lines)))
    with pytest.raises(TrajectoryError, match="does not say how many texts are kept"):
        list(Trajectory(path).steps())
