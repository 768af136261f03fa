"""Reading a trajectory as a log: events, steps, text, memory at any step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator.episodes.episode_log import EpisodeLog, Event
from orchestrator.episodes.trajectory import Trajectory, TrajectoryWriter
from tests.support.crafter_parts import CrafterStage, edited_scaffold

SEED = {"notes": "begun\n"}


def command(name: str, phase: str, *, matches: int | None = None, novel: bool | None = None) -> Any:
    return {"name": name, "phase": phase, "ok": True, "matches": matches, "novel": novel}


class Writer:
    """Writes a trajectory by hand, a step at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._log = TrajectoryWriter(path, {})
        self._number = 0

    def step(
        self,
        seen: str,
        action: str = "wait",
        *,
        commands: tuple[Any, ...] = (),
        writes: tuple[tuple[str, str, str, str], ...] = (),
        events: tuple[str, ...] = (),
        **more: Any,
    ) -> None:
        text = self._log.text
        turn = {
            "phase": "LOG",
            "role": "action",
            "kept": 0,
            "new": [["user", text(f"LOG {seen}")]],
            "completion": text(f"did {action}"),
            "results": [],
            "commands": list(commands),
            "ended": "DONE",
        }
        noted = [
            {"by": by, "operation": operation, "file": file, "texts": [text(said)]}
            for by, operation, file, said in writes
        ]
        record = {"step": self._number, "observation": text(seen), "turns": [turn], **more}
        record |= {"action": action, "events": list(events)} | ({"writes": noted} if noted else {})
        self._log.step(record)
        self._number += 1

    def finish(self, outcome: str, progression: float, **details: Any) -> EpisodeLog:
        last = self._log.text("the end")
        facts: dict[str, Any] = {"outcome": outcome, "details": details}
        self._log.finish(progression=progression, last_observation=last, **facts)
        return EpisodeLog(self.path, SEED)


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    return Writer(tmp_path / "episode.jsonl.zst")


def test_every_kind_of_event_is_found_at_its_step(writer: Writer) -> None:
    writer.step("Status: health 9, food 9.")
    writer.step("Status: health 9, food 8.", progression=0.25)
    writer.step("Status: health 6, food 8.", events=("invalid_action",))
    writer.step(
        "Status: health 7, food 8.",
        commands=(
            command("SEARCH", "LOG", matches=0),
            command("APPEND", "LOG", novel=False),
            command("APPEND", "LOG", novel=True),
        ),
        events=("command_refused",),
    )
    for _ in range(6):
        writer.step("Status: health 7, food 7.")
    log = writer.finish("died", 0.5, cause_of_death="killed by a newt")
    assert log.events() == [
        Event(1, "achievement", "progression 0.0% -> 25.0%"),
        Event(2, "damage", "health 9 -> 6"),
        Event(2, "invalid action", "invalid action"),
        Event(3, "refused command", "command refused"),
        Event(3, "empty search", "in LOG"),
        Event(3, "redundant write", "APPEND in LOG"),
        Event(4, "stuck run", "6 steps show the same, until 9"),
        Event(9, "achievement", "progression 25.0% -> 50.0%"),
        Event(9, "death", "killed by a newt"),
    ]
    assert log.counts()["achievement"] == 2


def test_nethacks_hit_points_are_health_too(writer: Writer) -> None:
    writer.step("Status: hit points 12/14, power 2/2")
    writer.step("Status: hit points -1/14, power 2/2")
    assert writer.finish("died", 0.0).events()[0] == Event(1, "damage", "health 12 -> -1")


def test_memory_is_had_as_it_stood_after_any_step(writer: Writer) -> None:
    writer.step("a", writes=(("hook", "PUT", "map", "tree"),))
    writer.step("b", writes=(("model", "APPEND", "notes", "saw b"), ("hook", "ADD", "map", "rock")))
    writer.step("c")
    writer.step("d", writes=(("command", "PUT", "map", "rock"), ("model", "WRITE", "notes", "")))
    log = writer.finish("step_limit", 0.0)
    assert log.memory_at(-1) == SEED
    assert log.memory_at(0) == {"notes": "begun\n", "map": "tree\n"}
    assert log.memory_at(1) == log.memory_at(2)
    assert log.memory_at(2) == {"notes": "begun\nsaw b\n", "map": "tree\nrock\n"}
    assert log.memory_at(3) == {"notes": "", "map": "rock\n"}


def test_steps_and_texts_are_found_wherever_they_stand(writer: Writer) -> None:
    for number in range(30):
        writer.step(f"square {number}", f"go {number}")
    writer.step("last", writes=(("hook", "ADD", "map", "A Lake lies north"),))
    log = writer.finish("step_limit", 0.0)
    assert [step.number for step in log.steps(7, 9)] == [7, 8, 9]
    (step,) = log.steps(29, 29)
    assert (step.observation, step.action) == ("square 29", "go 29")
    assert step.turns[0].completion == "did go 29"
    assert list(log.find("did GO 17")) == [(17, "LOG completion", "did go 17")]
    assert list(log.find("lake")) == [
        (30, "written to map by the hook", "A Lake lies north"),
    ]


def test_what_was_written_adds_up_to_memory_at_the_end(
    crafter: CrafterStage, tmp_path: Path
) -> None:
    """A real game, with hooks and a command of the scaffold's own among those who write."""
    scaffold = edited_scaffold(tmp_path / "crafter", "position", "keyed_map", "status_file")
    played, path = crafter.play(scaffold, steps=80)
    seed = {one.stem: one.read_text() for one in sorted((scaffold / "memory").glob("*"))}
    log, record = EpisodeLog(path, seed), Trajectory(path)
    writers = {write["by"] for step in record.steps() for write in step.get("writes", ())}
    assert writers == {"hook", "command"}
    assert log.memory_at(played.steps - 1) == record.end["memory"]
    assert log.memory_at(-1) == seed
