"""What `nethack-v1` and the MiniHack tasks have in common: a game that is played key by key."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from envs.base import DIED, LEFT, WON, JsonValue, Observation, Step
from envs.errors import invalid_action, invalid_seed, not_running
from envs.nethack.game import Game
from envs.nethack.keys import ESCAPE, IDLE, KEYS, MORE
from envs.nethack.native import nethack
from envs.nethack.picture import SIZE, picture
from envs.nethack.screen import Screen
from envs.nethack.text import describe, scene_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

MAX_SEED = 2**31 - 1
_LEFT = frozenset({"quit", "escaped"})


class KeyedEnvironment(abc.ABC):
    """A game of NetHack's, as text, with exact seeds; one subclass per family.

    Args:
        actions: The vocabulary, names of `envs.nethack.keys.KEYS`.
    """

    id: str
    default_steps: int
    default_action: ClassVar[str] = "escape"
    _needed: ClassVar[tuple[int, ...]] = (MORE, ESCAPE)

    def __init__(self, actions: tuple[str, ...]) -> None:
        """Make an environment; no game is loaded before the first `reset`."""
        self.actions = actions
        self.idle_actions = IDLE & frozenset(actions)
        self._vocabulary = frozenset(actions)
        self._keys = tuple(dict.fromkeys([*(KEYS[name] for name in actions), *self._needed]))
        self._game: Game | None = None
        self._terminal: tuple[Any, Any] | None = None
        self._running = False
        self._steps = 0
        self._status: tuple[int, ...] = ()
        self._how = ""
        self._cause = ""

    @property
    @abc.abstractmethod
    def instructions(self) -> str:
        """Rules of the game and how to read the text."""

    @property
    @abc.abstractmethod
    def versions(self) -> Mapping[str, str]:
        """Version of everything on which the stream depends."""

    @property
    @abc.abstractmethod
    def progression(self) -> float:
        """How far the episode has come, from 0 to 1."""

    @abc.abstractmethod
    def _load(self) -> Game:
        """Load the game; called once."""

    def _forget(self) -> None:  # noqa: B027  (most families need nothing)
        """A new episode begins: forget what the progression was of the one before."""

    def _note(self, screen: Screen) -> None:  # noqa: B027  (most families need nothing)
        """Take in a screen, for the progression."""

    def _verdict(self) -> str | None:
        """Another reason than its own why the game should end now."""
        return None

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
        if self._game is None:
            self._game = self._load()
        self._running, self._terminal = True, None
        self._steps, self._how, self._cause = 0, "", ""
        self._forget()
        return self._taken_in(self._game.begin(seed))

    def step(self, action: str) -> Step:
        """Press the key of an action, and read on until NetHack waits for another.

        Args:
            action: A word of the vocabulary.

        Returns:
            What the player sees and whether the game is over.

        Raises:
            InvalidAction: The word is not in the vocabulary; nothing has moved.
            EpisodeNotRunning: Before the first `reset`, or after the game was over.
        """
        if not self._running or self._game is None:
            what = "the game is over" if self._game else "no episode has begun"
            raise not_running(self.id, what)
        if action not in self._vocabulary:
            raise invalid_action(self.id, action, self.actions)
        game = self._game
        screen = game.press(KEYS[action])
        self._steps += 1
        observation = self._taken_in(screen)
        outcome = self._outcome(game)
        self._running = outcome is None
        return Step(observation, outcome is not None, outcome)

    def details(self) -> dict[str, JsonValue]:
        """What the host records about the episode so far.

        Returns:
            ``steps``, ``turns`` of the game's clock, ``depth`` and ``experience_level`` now,
            ``score`` in NetHack's points, ``hit_points``, ``gold``, ``position`` (column, row),
            ``ending`` in NetHack's own word and ``cause_of_death`` from its log; both ``None``
            while the game goes on.
        """
        if not self._status:
            return {}
        status = self._status
        return {
            "steps": self._steps,
            "turns": status[nethack.NLE_BL_TIME],
            "depth": status[nethack.NLE_BL_DEPTH],
            "experience_level": status[nethack.NLE_BL_XP],
            "score": status[nethack.NLE_BL_SCORE],
            "hit_points": status[nethack.NLE_BL_HP],
            "gold": status[nethack.NLE_BL_GOLD],
            "position": [status[nethack.NLE_BL_X], status[nethack.NLE_BL_Y]],
            "ending": self._how or None,
            "cause_of_death": self._cause or None,
        }

    def render(self, size: tuple[int, int] = SIZE) -> npt.NDArray[np.uint8]:
        """A picture of the terminal, for replays; leaves the game as it was.

        Args:
            size: Width and height in pixels.

        Returns:
            Rows by columns by red, green and blue, each 0 to 255.

        Raises:
            EpisodeNotRunning: Before the first `reset`.
        """
        if self._game is None:
            raise not_running(self.id, "no episode has begun")
        characters, colors = self._terminal or self._game.terminal()
        return picture(characters, colors, size)

    def close(self) -> None:
        """Give back NetHack's memory and its folder."""
        if self._game is not None:
            self._game.close()
            self._game = None
            self._running = False

    def _taken_in(self, screen: Screen) -> Observation:
        # Once the game is over its numbers are no longer kept up.
        if any(screen.status):
            self._status = screen.status
            self._note(screen)
        text = describe(screen)
        return Observation(text, scene_of(text))

    def _outcome(self, game: Game) -> str | None:
        if game.succeeded:
            return WON
        if game.over:
            # What follows is dated and lists the games before it: it is closed unseen.
            self._terminal = game.terminal()
            self._how, self._cause = game.finish()
            if self._how == "ascended":
                return WON
            return LEFT if self._how in _LEFT else DIED
        return self._verdict()
