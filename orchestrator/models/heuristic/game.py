"""What the client needs to know of a game in order to play it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do and why.

    Args:
        action: An action of the game.
        goal: What it serves, in a word or two.
        wants: Kinds of place that would help, the most useful first.
    """

    action: str
    goal: str
    wants: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class News:
    """What is worth a note after a step.

    Args:
        line: What a diary says of the step, whether or not anything new has happened.
        achieved: What has been achieved, for good.
        sights: What has come into sight or was found out about a place.
    """

    line: tuple[str, ...]
    achieved: tuple[str, ...]
    sights: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Situation:
    """What a decision is made from.

    Args:
        observation: What is seen now.
        last_action: The action just played, where the prompt says it.
        actions: The actions that the system prompt lists.
        facts: What else is known, as the game read it.
    """

    observation: str
    last_action: str
    actions: frozenset[str]
    facts: Any


class Game(Protocol):
    """One game, as a pure function of what a prompt says."""

    @property
    def observation(self) -> re.Pattern[str]:
        """Finds each observation in a prompt."""

    @property
    def idle(self) -> str:
        """What to do when nothing can be seen."""

    def facts(self, around: str, looked: str, observations: Sequence[str], step: int | None) -> Any:
        """What the prompt says beyond the last observation.

        Args:
            around: The prompt without its observations.
            looked: Results of memory commands.
            observations: Every observation in the prompt, oldest first.
            step: Steps played, where the prompt says it.
        """

    def news(self, before: str, action: str, after: str, facts: Any) -> News:
        """What two observations in a row and the action between them say."""

    def decide(self, situation: Situation) -> Decision:
        """What to do next."""
