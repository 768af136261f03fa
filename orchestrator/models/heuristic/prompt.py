"""Reading a prompt as a careful reader would: what is asked, what is seen, what is remembered.

Facts are taken from any user message of the conversation, whether the scaffold printed them or a
memory command returned them; which sentences are facts is each game's to say (``facts``).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from orchestrator.models.base import Message
from orchestrator.models.heuristic.crafter import CrafterPlayer
from orchestrator.models.heuristic.game import Game
from orchestrator.models.heuristic.nethack import NetHackPlayer

GAMES: tuple[Game, ...] = (CrafterPlayer(), NetHackPlayer())
"""The games that can be played; the one whose observation a prompt shows is the one at hand."""

_LAST_ACTION = re.compile(r"^Your last action: (\S+)", re.M)
_STEP = re.compile(r"\bstep (\d+) of \d+")
_LOOK_FIRST = "search before you write"
_ONLY_NEW = "only when something new"
_ADVICE = re.compile(r"<\|(?:SEARCH|READ|TAIL|COUNT)\|>[^<\n]*<\|END\|>")
_FILES = re.compile(r"^Memory files: (.+)$", re.M)
_ACTIONS = re.compile(r"^Actions: (.+)$", re.M)
_FORM = re.compile(r"<\|([A-Z_]+)\|>(?:([^<\n]*)<\|END\|>)?")


@dataclass(frozen=True, slots=True)
class Means:
    """What the system prompt offers.

    Attributes:
        commands: Names of the memory commands that are listed.
        files: Names of the memory files.
        actions: The vocabulary.
    """

    commands: frozenset[str]
    files: tuple[str, ...]
    actions: frozenset[str]


@dataclass(frozen=True, slots=True)
class Asked:
    """What the prompt of a phase says, whatever was looked up since.

    Attributes:
        phase: ``LOG`` or ``PLAN``.
        game: The game that is played.
        observations: Every observation shown, oldest first.
        around: The prompt without its observations.
        last_action: The action just played, where the prompt says it.
        step: How many steps have been played, where the prompt says it.
        advised: Read commands that the prompt spells out.
        look_first: The prompt asks to search before writing.
        only_new: The prompt asks for a note only when something new has happened.
    """

    phase: str
    game: Game
    observations: tuple[str, ...]
    around: str
    last_action: str
    step: int | None
    advised: tuple[str, ...]
    look_first: bool
    only_new: bool


@dataclass(frozen=True)
class Reading:
    """What one conversation says.

    Attributes:
        asked: What the prompt of this phase says.
        means: Commands and files on offer.
        named: Files that the prompt of this phase names, in the order of the system prompt.
        turn: Turns of this phase already taken.
        looked: Results of memory commands, all of them, as one text.
    """

    asked: Asked
    means: Means
    named: tuple[str, ...]
    turn: int
    looked: str

    @cached_property
    def facts(self) -> Any:
        """What else is known, as the game reads it."""
        asked = self.asked
        return asked.game.facts(asked.around, self.looked, asked.observations, asked.step)

    def named_file(self, word: str) -> str | None:
        """The first named file whose name contains a word."""
        return next((name for name in self.named if word in name), None)


def read_prompt(messages: Sequence[Message]) -> Reading:
    """Take in a conversation: the system prompt, the phase's prompt, and the turns so far."""
    system = messages[0]["content"] if messages[0]["role"] == "system" else ""
    said = [message["content"] for message in messages if message["role"] == "user"]
    means, asked = _means(system), _asked(said[0])
    return Reading(
        asked=asked,
        means=means,
        named=tuple(name for name in means.files if name in asked.around),
        turn=len(said) - 1,
        looked="\n".join(said[1:]),
    )


# The same prompt is read again in each turn of its phase, and the same system prompt for a whole
# episode: reading them once is only a matter of speed.
@lru_cache(maxsize=8)
def _asked(prompt: str) -> Asked:
    game, shown = _shown(prompt)
    ends = [0, *(end for found in shown for end in found.span()), len(prompt)]
    around = "".join(prompt[a:b] for a, b in zip(ends[::2], ends[1::2], strict=True))
    lower = around.lower()
    last_action, step = _LAST_ACTION.search(around), _STEP.search(around)
    return Asked(
        phase="LOG" if around.rfind("<|DONE|>") > around.rfind("<|ACTION|>") else "PLAN",
        game=game,
        observations=tuple(found[0] for found in shown),
        around=around,
        last_action=last_action[1] if last_action else "",
        step=int(step[1]) if step else None,
        advised=tuple(_ADVICE.findall(around)),
        look_first=_LOOK_FIRST in lower,
        only_new=_ONLY_NEW in lower,
    )


def _shown(prompt: str) -> tuple[Game, list[re.Match[str]]]:
    """The game at hand and its observations; any game where there are none."""
    for game in GAMES:
        found = list(game.observation.finditer(prompt))
        if found:
            return game, found
    return GAMES[0], []


@lru_cache(maxsize=32)
def _means(system: str) -> Means:
    listed = {name for name, _ in _FORM.findall(system)} - {"DONE", "ACTION", "READY", "END"}
    files = _FILES.search(system)
    names = tuple(name.strip() for name in files[1].split(",")) if files else ()
    actions = _ACTIONS.search(system)
    vocabulary = frozenset(actions[1].split(", ")) if actions else frozenset[str]()
    return Means(frozenset(listed), names, vocabulary)
