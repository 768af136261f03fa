"""The suite `minihack` made small, with a task in it that breaks in the middle of some games.

Run as a module it is ``slowwave`` with that suite. Worker processes are started from the same
module, so that the suite is theirs as well: ``python -m tests.support.small_suite eval minihack``.
"""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType

from envs import registry
from envs.base import Observation, Step
from envs.minihack.environment import MiniHackEnvironment
from envs.registry import EnvironmentSpec

SOUND = "minihack/mazewalk-9x9-v1"
BREAKS = "minihack/quest-easy-v1"
AWAY = "minihack/boxoban-medium-v1"
SUITE = (SOUND, BREAKS, AWAY)
BROKEN_SEED = 2
"""The seed whose game breaks; the others are Quest-Easy as it is."""
BREAKS_AT = 3


class Breaking(MiniHackEnvironment):
    """Says nothing at the third step of one seed, which no environment may."""

    def __init__(self, *, task: str, world_cache: Path | None = None) -> None:
        super().__init__(task=task, world_cache=world_cache)
        self._seed, self._played = -1, 0

    def reset(self, seed: int) -> Observation:
        self._seed, self._played = seed, 0
        return super().reset(seed)

    def step(self, action: str) -> Step:
        self._played += 1
        step = super().step(action)
        if (self._seed, self._played) == (BROKEN_SEED, BREAKS_AT):
            return Step(Observation(""), step.done, step.outcome)
        return step


SENTENCE = (
    f"{BREAKS} breaks its contract: an observation is no text, empty, or ends in a newline."
    f" Its scores count for nothing until this is mended; try slowwave envs check {BREAKS}."
)
"""What is said of the game that breaks."""

BREAKING = EnvironmentSpec(BREAKS, __spec__.name, "Breaking", "minihack", {"task": "quest-easy"})
SPECS = MappingProxyType({**registry.SPECS, BREAKS: BREAKING})
SUITES = MappingProxyType({"minihack": SUITE})

if __name__ in ("__main__", "__mp_main__"):
    registry.SPECS, registry.SUITES = SPECS, SUITES

if __name__ == "__main__":
    from orchestrator.cli.app import main

    main()
