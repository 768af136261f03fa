"""What an environment is.

An environment is a game behind text: it is reset to a seed, takes one action at a time from a
fixed vocabulary and answers with what the agent can see. Everything random in it follows from the
seed, so that the same seed and the same actions give the same stream in any process, on any day.
The host counts the steps and stops the episode at its limit; an environment is done only when the
game is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"
"""Whatever JSON can hold."""

DIED = "died"
WON = "won"
LEFT = "left"
"""The player quit, or left the world of the game alive."""
STALLED = "stalled"
"""Broken off: the game stood still for too long."""

OUTCOMES = frozenset({DIED, WON, LEFT, STALLED})


@dataclass(frozen=True, slots=True)
class Observation:
    """All that the agent can see at one moment.

    Args:
        text: The scene in words and glyphs, without a trailing newline.
        scene: What of it tells whether an action changed anything: the text without what changes
            by itself, such as a clock, or says what was just tried. Empty for the whole text.
    """

    text: str
    scene: str = ""

    @property
    def compared(self) -> str:
        """What two moments are compared by when it is asked whether anything changed."""
        return self.scene or self.text


@dataclass(frozen=True, slots=True)
class Step:
    """What an action led to.

    Args:
        observation: What the agent sees now.
        done: The game is over; `step` may not be called again before `reset`.
        outcome: One of `OUTCOMES` when it is over, ``None`` while it goes on.
    """

    observation: Observation
    done: bool
    outcome: str | None


class Environment(Protocol):
    """A game as text. One instance plays one episode at a time and may be used again."""

    @property
    def id(self) -> str:
        """The id with its version, ``"crafter-v1"``; a change of the stream changes it."""

    @property
    def actions(self) -> tuple[str, ...]:
        """The vocabulary. Every word in it can be played."""

    @property
    def idle_actions(self) -> frozenset[str]:
        """Actions that try nothing (``noop``), left out when counting stuck steps."""

    @property
    def default_action(self) -> str:
        """What the host plays when the agent gave no valid action."""

    @property
    def instructions(self) -> str:
        """Rules of the game and legend of the map, for the system prompt; the same every time."""

    @property
    def default_steps(self) -> int:
        """Steps after which the host ends an episode unless told otherwise."""

    @property
    def versions(self) -> Mapping[str, str]:
        """Version of everything the stream depends on; part of the episode's key."""

    @property
    def progression(self) -> float:
        """How far the episode has come, from 0 to 1; never falls within an episode."""

    def reset(self, seed: int) -> Observation:
        """Begin the episode of this seed.

        Args:
            seed: A whole number from 0 to 2**31 - 1.

        Returns:
            The first observation.

        Raises:
            InvalidSeed: The seed is outside that range.
        """

    def step(self, action: str) -> Step:
        """Play one action.

        Args:
            action: A word of the vocabulary.

        Returns:
            What the agent sees and whether the game is over.

        Raises:
            InvalidAction: The word is not in the vocabulary; nothing has moved.
            EpisodeNotRunning: Before the first `reset`, or after the game was over.
        """

    def details(self) -> dict[str, JsonValue]:
        """What the host records about the episode so far and the agent never sees."""

    def render(self, size: tuple[int, int] = ...) -> npt.NDArray[np.uint8]:
        """A picture of the scene for replays; leaves the game as it was.

        Args:
            size: Width and height in pixels.

        Returns:
            Rows by columns by red, green and blue, each 0 to 255.
        """

    def close(self) -> None:
        """Give back whatever the environment holds."""
