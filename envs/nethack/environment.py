"""`nethack-v1`: the whole of NetHack as text."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from envs.base import STALLED, WON, JsonValue, Step
from envs.nethack.game import Game, exact
from envs.nethack.instructions import NETHACK
from envs.nethack.keyed import KeyedEnvironment
from envs.nethack.keys import KEYS
from envs.nethack.native import NLE, nethack
from envs.nethack.progression import TABLE, progression
from envs.nethack.screen import Screen
from envs.versions import stream_versions

STALL_STEPS = 150
"""Steps without a tick of the game's clock after which an episode is broken off."""


class NetHackEnvironment(KeyedEnvironment):
    """NetHack as text, with exact seeds.

    The rules are those of ``NetHackChallenge-v0``: a random character, every key, every question
    asked, every menu left to the player. That task itself refuses seeds, so the options are set on
    NLE's base task. An episode is broken off with the outcome ``stalled`` when the game's clock has
    stood still for `STALL_STEPS` steps.

    Args:
        world_cache: Not needed; a game is made in milliseconds.
    """

    id = "nethack-v1"
    default_steps = 100_000

    def __init__(self, *, world_cache: Path | None = None) -> None:
        """Make an environment; no game is loaded before the first `reset`."""
        super().__init__(tuple(KEYS))
        self._deepest = self._highest = 1
        self._turn = self._still = 0
        self._won = False

    @property
    def instructions(self) -> str:
        """Rules of the game and how to read the text."""
        return NETHACK

    @property
    def versions(self) -> Mapping[str, str]:
        """Version of everything on which the stream depends."""
        return stream_versions(
            ("nle", "numpy"), (Path(__file__).parent,), (("nethack-progression", TABLE),)
        )

    @property
    def progression(self) -> float:
        """See `envs.nethack.progression`."""
        return 1.0 if self._won else progression(self._deepest, self._highest)

    def _forget(self) -> None:
        self._deepest = self._highest = 1
        self._turn, self._still, self._won = 0, 0, False

    def step(self, action: str) -> Step:
        """Press the key of an action; see `KeyedEnvironment.step`."""
        step = super().step(action)
        self._won = step.outcome == WON
        return step

    def details(self) -> dict[str, JsonValue]:
        """As `KeyedEnvironment.details`, with ``deepest`` and ``highest_experience_level``."""
        found = super().details()
        if found:
            found |= {"deepest": self._deepest, "highest_experience_level": self._highest}
        return found

    def _load(self) -> Game:
        return Game(exact(NLE, actions=self._keys, character="@"), self._keys)

    def _note(self, screen: Screen) -> None:
        status = screen.status
        self._deepest = max(self._deepest, status[nethack.NLE_BL_DEPTH])
        self._highest = max(self._highest, status[nethack.NLE_BL_XP])
        turn = status[nethack.NLE_BL_TIME]
        self._turn, self._still = turn, self._still + 1 if turn == self._turn else 0

    def _verdict(self) -> str | None:
        return STALLED if self._still >= STALL_STEPS else None
