"""Tools that read how episodes went: the table, events, steps, text, memory at any step."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from pydantic import Field

from orchestrator.editors.meta.toolbox import Arguments, NoArguments, Tool, ToolRefusal
from orchestrator.episodes.episode_log import EpisodeLog, EventKind, LoggedStep
from orchestrator.episodes.spec import EpisodeResult

MOST_STEPS = 50
"""Steps that one call shows in full, and ten times as many in short."""

METRICS = (
    "redundant_write_rate", "empty_search_rate", "ineffective_action_rate", "oscillation_rate",
    "invalid_action_rate", "memory_growth", "model_calls_per_step",
)  # fmt: skip
LINE = 160
"""Characters of a line in a list."""

Name = Field(description="An episode's name from the table, such as e1.")


@dataclass(frozen=True, slots=True)
class Played:
    """An episode that can be read.

    Attributes:
        name: What the model calls it.
        result: How it ended.
        log: Its trajectory.
    """

    name: str
    result: EpisodeResult
    log: EpisodeLog


class ReadEvents(Arguments):
    """Arguments of `events`."""

    episode: str = Name
    kinds: list[EventKind] = Field(default=[], description="Only these kinds; empty for all.")
    first: int = Field(default=0, ge=0, description="From this step on.")
    most: int = Field(default=60, ge=1, le=500, description="Events to list at most.")


class ReadSteps(Arguments):
    """Arguments of `steps`."""

    episode: str = Name
    first: int = Field(ge=0, description="First step to show.")
    last: int = Field(ge=0, description="Last step to show.")
    full: bool = Field(
        default=False,
        description="True for everything that was seen, asked, answered and remembered; false for"
        " a line or two each.",
    )


class Find(Arguments):
    """Arguments of `find`."""

    text: str = Field(min_length=2, description="Text to look for, whatever its case.")
    episode: str | None = Field(default=None, description="One episode; all if left out.")
    most: int = Field(default=40, ge=1, le=200, description="Lines to list at most.")


class ReadMemory(Arguments):
    """Arguments of `memory`."""

    episode: str = Name
    step: int = Field(ge=-1, description="As it stood after this step; -1 for the beginning.")
    file: str | None = Field(default=None, description="One file; all if left out.")


class CompareMemory(Arguments):
    """Arguments of `memory_diff`."""

    episode: str = Name
    before: int = Field(ge=-1, description="After this step ...")
    after: int = Field(ge=0, description="... and after this one.")


class Evidence:
    """The episodes that an editor may read.

    Args:
        artifacts: The artifacts folder, for trajectories.
    """

    def __init__(self, artifacts: Path) -> None:
        self._artifacts = artifacts
        self._played: dict[str, Played] = {}

    def add(self, name: str, result: EpisodeResult, seed_memory: Mapping[str, str]) -> None:
        """Let an episode be read under a name."""
        log = EpisodeLog(self._artifacts / result.trajectory, seed_memory)
        self._played[name] = Played(name, result, log)

    def tools(self) -> list[Tool[Any]]:
        """The tools."""
        return [
            Tool(
                "episodes",
                "Table of the episodes: outcome, length, progression, events and behavior metrics."
                " Begin here.",
                NoArguments,
                self._table,
            ),
            Tool(
                "events",
                "What happened in an episode and at which step: achievements, damage, death, stuck"
                " runs, invalid actions, empty searches, redundant writes, refused commands.",
                ReadEvents,
                self._events,
            ),
            Tool(
                "steps",
                f"Steps of an episode by number: up to {MOST_STEPS} in full, ten times as many in"
                " short. Any step can be reached.",
                ReadSteps,
                self._steps,
            ),
            Tool(
                "find",
                "Where a text stands in what the agent saw, answered, got back and remembered.",
                Find,
                self._find,
            ),
            Tool("memory", "The memory files as they stood at any step.", ReadMemory, self._memory),
            Tool(
                "memory_diff",
                "What changed in the memory files between two steps.",
                CompareMemory,
                self._memory_diff,
            ),
        ]

    # --- the tools --------------------------------------------------------------------------

    def _table(self, _: NoArguments) -> str:
        lines = [_row(one) for one in self._played.values()]
        return "\n".join(lines) or "No episode has been played."

    def _events(self, asked: ReadEvents) -> str:
        played = self._episode(asked.episode)
        events = [
            event
            for event in played.log.events()
            if event.step >= asked.first and (not asked.kinds or event.kind in asked.kinds)
        ]
        lines = [f"step {event.step}: {event.kind}: {event.text}" for event in events[: asked.most]]
        if len(events) > asked.most:
            lines.append(f"({len(events) - asked.most} more, from step {events[asked.most].step})")
        return "\n".join(lines) or "No such event."

    def _steps(self, asked: ReadSteps) -> str:
        played = self._episode(asked.episode)
        if asked.first > asked.last or asked.first >= played.result.steps:
            raise ToolRefusal(
                f"{played.name} has steps 0 to {played.result.steps - 1}; give a first and a last"
                " of them."
            )
        most = MOST_STEPS if asked.full else 10 * MOST_STEPS
        last = min(asked.last, asked.first + most - 1)
        show = _full if asked.full else _short
        parts = [show(step) for step in played.log.steps(asked.first, last)]
        if last < min(asked.last, played.result.steps - 1):
            parts.append(f"(only {most} steps at once; go on with first = {last + 1})")
        return "\n".join(parts)

    def _find(self, asked: Find) -> str:
        among = [self._episode(asked.episode)] if asked.episode else list(self._played.values())
        found = (
            f"{one.name} step {step}, {place}: {line[:LINE]}"
            for one in among
            for step, place, line in one.log.find(asked.text)
        )
        lines = list(islice(found, asked.most))
        if len(lines) == asked.most:
            lines.append("(perhaps more: name an episode, or a longer text)")
        return "\n".join(lines) or "It stands nowhere."

    def _memory(self, asked: ReadMemory) -> str:
        files = self._episode(asked.episode).log.memory_at(asked.step)
        if asked.file is not None:
            if asked.file not in files:
                raise ToolRefusal(f"There is no such file then. There are: {', '.join(files)}.")
            files = {asked.file: files[asked.file]}
        parts = [f"--- {name}\n{text}".rstrip("\n") for name, text in files.items()]
        return "\n".join(parts) or "Memory is empty."

    def _memory_diff(self, asked: CompareMemory) -> str:
        log = self._episode(asked.episode).log
        old, new = log.memory_at(asked.before), log.memory_at(asked.after)
        return "\n".join(_diff(old, new)) or "Nothing changed."

    def _episode(self, name: str) -> Played:
        played = self._played.get(name)
        if played is None:
            known = ", ".join(self._played) or "none"
            raise ToolRefusal(f"There is no episode {name[:40]!r}. There are: {known}.")
        return played


def _row(one: Played) -> str:
    result = one.result
    counts = ", ".join(
        f"{count} {_plural(kind, count)}" for kind, count in one.log.counts().items()
    )
    metrics = ", ".join(
        f"{name} {result.metrics[name]:.3g}"
        for name in METRICS
        if result.metrics.get(name) is not None
    )
    return (
        f"{one.name} ({result.environment}): {result.outcome} after {result.steps} steps,"
        f" progression {result.progression:.1%}\n  events: {counts or 'none'}\n  {metrics}"
    )


def _plural(kind: EventKind, count: int) -> str:
    if count == 1 or kind == "damage":
        return kind
    return "empty searches" if kind == "empty search" else f"{kind}s"


def _short(step: LoggedStep) -> str:
    wrote = "; ".join(
        f"{by} {operation} {file}: {' '.join(texts)[:LINE]}"
        for by, operation, file, texts in step.writes
    )
    noted = f" [{', '.join(step.events)}]" if step.events else ""
    head = f"{step.number}: {step.action}{noted}"
    return f"{head}\n    {wrote}" if wrote else head


def _full(step: LoggedStep) -> str:
    parts = [f"=== step {step.number}: played {step.action}", step.observation]
    for turn in step.turns:
        # The system prompt is the scaffold's and the same each time: it is left out.
        asked = [one["content"] for one in turn.messages if one["role"] == "user"][-1]
        parts += [f"--- {turn.phase} was shown:", asked, f"--- {turn.phase} answered:"]
        parts.append(turn.completion)
        parts += [f"> {command}\n{result}" for command, result in turn.results]
    if step.events:
        parts.append(f"--- noted: {', '.join(step.events)}")
    return "\n".join(parts)


def _diff(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[str]:
    for name in dict.fromkeys([*old, *new]):
        before, after = old.get(name, "").splitlines(), new.get(name, "").splitlines()
        yield from difflib.unified_diff(before, after, name, name, lineterm="", n=1)
