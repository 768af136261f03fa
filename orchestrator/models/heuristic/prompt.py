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


@dataclass(frozen=True)
class Reading:
    """What one conversation says.

    Attributes:
        phase: ``LOG`` or ``PLAN``.
        game: The game that is played.
        observations: Every observation shown, oldest first.
        last_action: The action just played, where the prompt says it.
        means: Commands and files on offer.
        turn: Turns of this phase already taken.
        looked: Results of memory commands, all of them, as one text.
        around: The prompt without its observations.
        step: How many steps have been played, where the prompt says it.
        named: Files that the prompt of this phase names, in its order.
        advised: Read commands that the prompt of this phase spells out.
        look_first: The prompt asks to search before writing.
        only_new: The prompt asks for a note only when something new has happened.
    """

    phase: str
    game: Game
    observations: tuple[str, ...]
    last_action: str
    means: Means
    turn: int
    looked: str
    around: str
    step: int | None
    named: tuple[str, ...]
    advised: tuple[str, ...]
    look_first: bool
    only_new: bool

    @cached_property
    def facts(self) -> Any:
        """What else is known, as the game reads it."""
        return self.game.facts(self.around, self.looked, self.observations, self.step)

    def named_file(self, word: str) -> str | None:
        """The first named file whose name contains a word."""
        return next((name for name in self.named if word in name), None)


def read_prompt(messages: Sequence[Message]) -> Reading:
    """Take in a conversation: the system prompt, the phase's prompt, and the turns so far."""
    system = messages[0]["content"] if messages[0]["role"] == "system" else ""
    said = [message["content"] for message in messages if message["role"] == "user"]
    prompt = said[0]
    looked = "\n".join(said[1:])
    game = next((one for one in GAMES if one.observation.search(prompt)), GAMES[0])
    observations = tuple(game.observation.findall(prompt))
    around = game.observation.sub("", prompt)
    last_action, step = _LAST_ACTION.search(around), _STEP.search(around)
    means = _means(system)
    return Reading(
        phase="LOG" if prompt.rfind("<|DONE|>") > prompt.rfind("<|ACTION|>") else "PLAN",
        game=game,
        observations=observations,
        last_action=last_action[1] if last_action else "",
        means=means,
        turn=len(said) - 1,
        looked=looked,
        around=around,
        step=int(step[1]) if step else None,
        named=tuple(name for name in means.files if name in around),
        advised=tuple(_ADVICE.findall(around)),
        look_first=_LOOK_FIRST in around.lower(),
        only_new=_ONLY_NEW in around.lower(),
    )


@lru_cache(maxsize=32)
def _means(system: str) -> Means:
    # The system prompt is the same for a whole episode; reading it once is only a matter of speed.
    listed = {name for name, _ in _FORM.findall(system)} - {"DONE", "ACTION", "READY", "END"}
    files = _FILES.search(system)
    names = tuple(name.strip() for name in files[1].split(",")) if files else ()
    actions = _ACTIONS.search(system)
    vocabulary = frozenset(actions[1].split(", ")) if actions else frozenset[str]()
    return Means(frozenset(listed), names, vocabulary)
