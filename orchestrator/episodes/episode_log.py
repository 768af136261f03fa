"""A trajectory as an engineer reads a log: an overview, what happened when, any step in full.

The file is read once for the overview, which keeps a short line for each step; a step's texts are
read again when they are asked for. So an episode of a hundred thousand steps takes little memory,
and every step of it can be reached.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from agents.memory.files import FilesBackend
from orchestrator.episodes.trajectory import Trajectory, Turn

EventKind = Literal[
    "achievement",
    "damage",
    "death",
    "stuck run",
    "invalid action",
    "empty search",
    "redundant write",
    "refused command",
]
"""What can be looked for."""

STUCK_AFTER = 5
"""Steps on end that show the same and are called a stuck run."""

_HEALTH = re.compile(r"\b(?:health|hit points) (-?\d+)")
_BY_HOST: dict[str, EventKind] = {
    "invalid_action": "invalid action",
    "no_action": "invalid action",
    "command_refused": "refused command",
    "command_fault": "refused command",
}
_NO_LIMIT = 1 << 40


@dataclass(frozen=True, slots=True)
class Event:
    """Something worth a look.

    Attributes:
        step: The step at which it shows.
        kind: What kind of thing.
        text: A few words.
    """

    step: int
    kind: EventKind
    text: str


@dataclass(frozen=True, slots=True)
class LoggedStep:
    """One step in full.

    Attributes:
        number: The step.
        observation: What the agent saw.
        turns: The model's turns, with their whole conversations.
        writes: What was written to memory: by whom, operation, file, texts.
        action: What was played.
        events: What the host noted.
    """

    number: int
    observation: str
    turns: tuple[Turn, ...]
    writes: tuple[tuple[str, str, str, tuple[str, ...]], ...]
    action: str
    events: tuple[str, ...]


class EpisodeLog:
    """Reads one episode.

    Args:
        path: Its trajectory.
        seed_memory: The memory files it began with, by name.
    """

    def __init__(self, path: Path, seed_memory: Mapping[str, str]) -> None:
        self.path = path
        self._seed_memory = dict(seed_memory)
        self._events: list[Event] | None = None

    def events(self) -> list[Event]:
        """All events, in order."""
        if self._events is None:
            self._events = list(_events(Trajectory(self.path)))
        return self._events

    def counts(self) -> dict[EventKind, int]:
        """How often each kind of event happened; kinds that did not are left out."""
        return dict(Counter(event.kind for event in self.events()))

    def steps(self, first: int, last: int) -> Iterator[LoggedStep]:
        """Steps from `first` to `last`, both included."""
        log = Trajectory(self.path)
        for record in log.steps():
            if record["step"] > last:
                return
            if record["step"] >= first:
                yield _whole(log, record)

    def find(self, text: str) -> Iterator[tuple[int, str, str]]:
        """Where a text stands, whatever its case.

        Yields:
            The step, where in it (observation, completion, result, memory), and the line.
        """
        needle = text.lower()
        for step in self.steps(0, _NO_LIMIT):
            for place, said in _texts(step):
                for line in said.splitlines():
                    if needle in line.lower():
                        yield step.number, place, line.strip()

    def memory_at(self, step: int) -> dict[str, str]:
        """The memory files as they stood when a step was over.

        Args:
            step: The step; -1 for the beginning.

        Returns:
            Text by name.
        """
        memory = FilesBackend(size_limit=_NO_LIMIT)
        memory.begin_episode(self._seed_memory)
        log = Trajectory(self.path)
        for record in log.steps() if step >= 0 else ():
            for write in record.get("writes", ()):
                texts = [log.text(number) for number in write["texts"]]
                memory.run(write["operation"], [write["file"], *texts])
            if record["step"] == step:
                break
        return memory.snapshot()


def _whole(log: Trajectory, record: dict[str, Any]) -> LoggedStep:
    return LoggedStep(
        number=record["step"],
        observation=record["observation_text"],
        turns=tuple(log.turns(record)),
        writes=tuple(
            (
                write["by"],
                write["operation"],
                write["file"],
                tuple(log.text(number) for number in write["texts"]),
            )
            for write in record.get("writes", ())
        ),
        action=record["action"],
        events=tuple(record["events"]),
    )


def _texts(step: LoggedStep) -> Iterator[tuple[str, str]]:
    yield "observation", step.observation
    for turn in step.turns:
        yield f"{turn.phase} completion", turn.completion
        for _, result in turn.results:
            yield f"{turn.phase} result", result
    for by, _, file, texts in step.writes:
        if by != "model":  # what the model wrote stands in its completion
            yield f"written to {file} by the {by}", "\n".join(texts)


def _events(log: Trajectory) -> Iterator[Event]:
    health = 0
    same_since, seen, last, best = 0, "", -1, 0.0
    for record in log.steps():
        number, observation = record["step"], record["observation_text"]
        if "progression" in record:
            risen = record["progression"]
            yield Event(number, "achievement", f"progression {best:.1%} -> {risen:.1%}")
            best = risen
        health, lost = _hurt(health, observation)
        if lost:
            yield Event(number, "damage", f"health {health + lost} -> {health}")
        if observation != seen:
            if number - same_since >= STUCK_AFTER:
                yield _stuck(same_since, number - 1)
            same_since, seen = number, observation
        yield from _noted(record)
        last = number
    if last >= 0 and last + 1 - same_since >= STUCK_AFTER:
        yield _stuck(same_since, last)
    end = log.end
    if end.get("progression", 0.0) > best:
        yield Event(last, "achievement", f"progression {best:.1%} -> {end['progression']:.1%}")
    if end.get("outcome") == "died":
        cause = (end.get("details") or {}).get("cause_of_death")
        yield Event(last, "death", cause or "died")


def _hurt(before: int, observation: str) -> tuple[int, int]:
    """Health now, where the text says it, and how much of it was lost."""
    said = _HEALTH.search(observation)
    if said is None:
        return before, 0
    now = int(said[1])
    return now, max(0, before - now)


def _stuck(first: int, last: int) -> Event:
    return Event(first, "stuck run", f"{last + 1 - first} steps show the same, until {last}")


def _noted(record: dict[str, Any]) -> Iterator[Event]:
    number = record["step"]
    for name in record["events"]:
        if name in _BY_HOST:
            yield Event(number, _BY_HOST[name], name.replace("_", " "))
    for turn in record["turns"]:
        for command in turn["commands"]:
            if command["name"] == "SEARCH" and command["matches"] == 0:
                yield Event(number, "empty search", f"in {command['phase']}")
            if command["novel"] is False:
                yield Event(number, "redundant write", f"{command['name']} in {command['phase']}")
