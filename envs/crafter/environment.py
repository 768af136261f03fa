"""`crafter-v1`: Crafter as text."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from envs.base import DIED, JsonValue, Observation, Step
from envs.crafter import native
from envs.crafter.cache import world_at_start
from envs.crafter.game import Game
from envs.crafter.instructions import instructions
from envs.crafter.text import VITALS, describe
from envs.crafter.versions import crafter_versions
from envs.errors import EpisodeNotRunning, invalid_action, invalid_seed, not_running

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

MAX_SEED = 2**31 - 1


class CrafterEnvironment:
    """Crafter as text, with exact seeds.

    `reset` with a seed starts the world that ``crafter.Env(seed=seed).reset()`` makes first. Two
    rules differ from crafter's: creatures of a chunk are drawn in the order of their arrival, not
    of their memory addresses, and a table or furnace works in the first column and row of the map,
    where crafter's own look-up comes back empty (see `envs.crafter.world`). Nothing but death ends
    the game. The progression is the share of the 22 achievements that were unlocked.

    Args:
        world_cache: Folder in which generated worlds are kept; made when needed. Without it they
            are kept in this process only.
    """

    id = "crafter-v1"
    actions: tuple[str, ...] = tuple(native.constants.actions)
    idle_actions: frozenset[str] = frozenset({"noop"})
    default_action = "noop"
    default_steps = 2000

    def __init__(self, *, world_cache: Path | None = None) -> None:
        """Make an environment; nothing is generated before the first `reset`."""
        self._world_cache = world_cache
        self._game = Game()
        self._unlocked: dict[str, int] = {}
        self._locked: list[str] = []
        self._running = False
        self._started = False

    @property
    def instructions(self) -> str:
        """Rules of the game and legend of the map."""
        return instructions()

    @property
    def versions(self) -> Mapping[str, str]:
        """Version of everything on which the stream depends."""
        return crafter_versions()

    @property
    def progression(self) -> float:
        """Unlocked achievements over all achievements."""
        return len(self._unlocked) / len(native.constants.achievements)

    def reset(self, seed: int) -> Observation:
        """Begin the episode of this seed.

        Args:
            seed: A whole number from 0 to 2**31 - 1.

        Returns:
            The first observation.

        Raises:
            InvalidSeed: The seed is outside that range.
        """
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed <= MAX_SEED:
            raise invalid_seed(self.id, seed, MAX_SEED)
        self._game.begin(world_at_start(seed, self._world_cache))
        self._unlocked = {}
        self._locked = list(native.constants.achievements)
        self._running = self._started = True
        return Observation(describe(self._game.world, self._game.player))

    def step(self, action: str) -> Step:
        """Play one action.

        Args:
            action: A word of the vocabulary.

        Returns:
            What the player sees and whether they died.

        Raises:
            InvalidAction: The word is not in the vocabulary; nothing has moved.
            EpisodeNotRunning: Before the first `reset`, or after the player died.
        """
        if not self._running:
            raise self._not_running()
        if action not in _VOCABULARY:
            raise invalid_action(self.id, action, self.actions)
        game = self._game
        game.advance(action)
        player = game.player
        self._note_unlocked(player.achievements)
        dead = player.health <= 0
        self._running = not dead
        return Step(Observation(describe(game.world, player)), dead, DIED if dead else None)

    def _note_unlocked(self, achievements: Mapping[str, int]) -> None:
        new = [name for name in self._locked if achievements[name]]
        for name in new:
            self._unlocked[name] = self._game.steps
            self._locked.remove(name)

    def _not_running(self) -> EpisodeNotRunning:
        what = "the player has died" if self._started else "no episode has begun"
        return not_running(self.id, what)

    def details(self) -> dict[str, JsonValue]:
        """What the host records about the episode so far.

        Returns:
            ``achievements`` (for each unlocked one the step of the first time, counted from 1, and
            how often), ``unlocked``, ``steps``, ``cause_of_death`` (zombie, arrow, lava, hunger,
            thirst, exhaustion, or several of the last three joined by "and"; ``None`` while
            alive), ``died_asleep``, ``vitals``, ``inventory`` and ``position`` (column, row).
        """
        if not self._started:
            return {}
        player = self._game.player
        dead = player.health <= 0
        return {
            "achievements": {
                name: {"first_step": step, "count": player.achievements[name]}
                for name, step in self._unlocked.items()
            },
            "unlocked": len(self._unlocked),
            "steps": self._game.steps,
            "cause_of_death": player.killer if dead else None,
            "died_asleep": dead and player.sleeping,
            "vitals": {name: player.inventory[name] for name in VITALS},
            "inventory": {
                name: n for name, n in player.inventory.items() if n and name not in VITALS
            },
            "position": [*player.pos],
        }

    def render(self, size: tuple[int, int] = (360, 360)) -> npt.NDArray[np.uint8]:
        """Crafter's own picture of the scene, for replays; leaves the game as it was.

        Args:
            size: Width and height in pixels; the picture is made of 9 by 9 squares.

        Returns:
            Rows by columns by red, green and blue, each 0 to 255.

        Raises:
            EpisodeNotRunning: Before the first `reset`.
        """
        if not self._started:
            raise self._not_running()
        return self._game.picture(size)

    def close(self) -> None:
        """Nothing is held."""


_VOCABULARY = frozenset(CrafterEnvironment.actions)
