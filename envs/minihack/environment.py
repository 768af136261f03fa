"""`minihack/<task>-v1`: a MiniHack task as text."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from envs.base import WON, JsonValue, Step
from envs.minihack import boxoban
from envs.minihack.instructions import instructions
from envs.minihack.native import base, task_class
from envs.minihack.tasks import DOORS, EVERYTHING, PUSH, TASKS, WALK, Task
from envs.nethack.game import Game, exact
from envs.nethack.keyed import KeyedEnvironment
from envs.nethack.keys import CHARACTERS, NAMED, names_of
from envs.versions import stream_versions

_WALK = tuple(NAMED)[:8]
_ACTIONS = {
    WALK: (*_WALK, "escape"),
    DOORS: (*_WALK, "open", "kick", "search", "escape"),
    EVERYTHING: (*names_of(base.MH_FULL_ACTIONS), "pickup", *CHARACTERS),
    PUSH: ("north", "east", "south", "west", "escape"),
}


class MiniHackEnvironment(KeyedEnvironment):
    """A MiniHack task as text, with exact seeds.

    A task may be played with the actions that MiniHack gives it, and with escape. It is won when
    the task itself says so. The progression is 1 then and 0 before.

    Args:
        task: Name of the task in `envs.minihack.tasks.TASKS`.
        world_cache: Not needed; a level is made in milliseconds.

    Raises:
        EnvironmentUnavailable: The task needs a level set that has not been added.
    """

    default_steps = 100

    def __init__(self, *, task: str, world_cache: Path | None = None) -> None:
        """Make an environment; no level is made before the first `reset`."""
        self._task: Task = TASKS[task]
        self.id = self._task.id
        super().__init__(tuple(dict.fromkeys(_ACTIONS[self._task.actions])))
        self._levels = boxoban.LevelSet.open(self._task.levels) if self._task.levels else None
        self._won = False

    @property
    def instructions(self) -> str:
        """The goal and how to read the text."""
        return instructions(self._task)

    @property
    def versions(self) -> Mapping[str, str]:
        """Version of everything on which the stream depends."""
        here = Path(__file__).parent
        packages, folders = ("nle", "minihack", "numpy"), (here, here.parent / "nethack")
        found = dict(stream_versions(packages, folders))
        if self._levels is not None:
            found["boxoban-levels"] = self._levels.digest
        return found

    @property
    def progression(self) -> float:
        """1 once the task has been won, else 0."""
        return float(self._won)

    def _forget(self) -> None:
        self._won = False

    def step(self, action: str) -> Step:
        """Press the key of an action; see `KeyedEnvironment.step`."""
        step = super().step(action)
        self._won = step.outcome == WON
        return step

    def details(self) -> dict[str, JsonValue]:
        """As `KeyedEnvironment.details`, with ``success``."""
        found = super().details()
        return {**found, "success": self._won} if found else {}

    def _load(self) -> Game:
        options: dict[str, Any] = {"actions": self._keys}
        if self._levels is not None:
            return boxoban.load(self._levels, self._keys)
        if self._task.actions == EVERYTHING:
            options["autopickup"] = True
        kind = task_class(self._task.module, self._task.kind)
        return Game(exact(kind, **options), self._keys)
