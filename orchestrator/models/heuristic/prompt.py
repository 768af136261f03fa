"""Reading a prompt as a careful reader would: what is asked, what is seen, what is remembered.

Facts are taken from any user message of the conversation, whether the scaffold printed them or a
memory command returned them:

| text | fact |
|---|---|
| ``Position: (3, -2)`` | where the player is, counted from the start |
| ``done collect_wood`` | an achievement is done |
| ``Done so far: collect_wood, place_table`` | a list of them |
| ``water at (5, 1)`` | a place |
| ``Explored sectors: (0, 0) (1, 0)`` | where the player has been |
| ``going round in circles`` | a warning |
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from orchestrator.models.base import Message
from orchestrator.models.heuristic.crafter import Beliefs

_OBSERVATION = re.compile(r"^(?:You are asleep\.\n)?You stand on [\s\S]*?^Inventory: .*$", re.M)
_LAST_ACTION = re.compile(r"^Your last action: (\w+)", re.M)
_STEP = re.compile(r"\bstep (\d+) of \d+")
_POSITION = re.compile(r"^Position: \((-?\d+), (-?\d+)\)", re.M)
_DONE = re.compile(r"\bdone (\w+)")
_DONE_LIST = re.compile(r"^Done so far: (.+)$", re.M)
_PLACE = re.compile(r"\b([a-z_]+) at \((-?\d+), (-?\d+)\)")
_EXPLORED = re.compile(r"^Explored sectors: (.+)$", re.M)
_PAIR = re.compile(r"\((-?\d+), (-?\d+)\)")
_WARNING = "going round in circles"
_LOOK_FIRST = "search before you write"
_ONLY_NEW = "only when something new"
_ADVICE = re.compile(r"<\|(?:SEARCH|READ|TAIL|COUNT)\|>[^<\n]*<\|END\|>")
_FILES = re.compile(r"^Memory files: (.+)$", re.M)
_FORM = re.compile(r"<\|([A-Z_]+)\|>(?:([^<\n]*)<\|END\|>)?")


@dataclass(frozen=True, slots=True)
class Means:
    """What the system prompt offers.

    Attributes:
        commands: Names of the memory commands that are listed.
        files: Names of the memory files.
    """

    commands: frozenset[str]
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """What one conversation says.

    Attributes:
        phase: ``LOG`` or ``PLAN``.
        observations: Every observation shown, oldest first.
        last_action: The action just played, where the prompt says it.
        means: Commands and files on offer.
        turn: Turns of this phase already taken.
        looked: Results of memory commands, all of them, as one text.
        beliefs: The facts, for the game.
        named: Files that the prompt of this phase names, in its order.
        advised: Read commands that the prompt of this phase spells out.
        look_first: The prompt asks to search before writing.
        only_new: The prompt asks for a note only when something new has happened.
    """

    phase: str
    observations: tuple[str, ...]
    last_action: str
    means: Means
    turn: int
    looked: str
    beliefs: Beliefs
    named: tuple[str, ...]
    advised: tuple[str, ...]
    look_first: bool
    only_new: bool

    def named_file(self, word: str) -> str | None:
        """The first named file whose name contains a word."""
        return next((name for name in self.named if word in name), None)


def read_prompt(messages: Sequence[Message]) -> Reading:
    """Take in a conversation: the system prompt, the phase's prompt, and the turns so far."""
    system = messages[0]["content"] if messages[0]["role"] == "system" else ""
    said = [message["content"] for message in messages if message["role"] == "user"]
    prompt = said[0]
    looked = "\n".join(said[1:])
    around = _OBSERVATION.sub("", prompt)
    last_action = _LAST_ACTION.search(prompt)
    means = _means(system)
    return Reading(
        phase="LOG" if prompt.rfind("<|DONE|>") > prompt.rfind("<|ACTION|>") else "PLAN",
        observations=tuple(_OBSERVATION.findall(prompt)),
        last_action=last_action[1] if last_action else "",
        means=means,
        turn=len(said) - 1,
        looked=looked,
        beliefs=_beliefs(around, looked),
        named=tuple(name for name in means.files if name in around),
        advised=tuple(_ADVICE.findall(around)),
        look_first=_LOOK_FIRST in around.lower(),
        only_new=_ONLY_NEW in around.lower(),
    )


def _beliefs(around: str, looked: str) -> Beliefs:
    text = f"{around}\n{looked}" if looked else around
    position = _POSITION.search(text)
    step = _STEP.search(around)
    done = set(_DONE.findall(looked))
    for listed in _DONE_LIST.findall(text):
        done.update(word.strip() for word in listed.split(","))
    return Beliefs(
        position=(int(position[1]), int(position[2])) if position else None,
        done=frozenset(done) if done else None,
        places=tuple((kind, (int(x), int(y))) for kind, x, y in _PLACE.findall(text)),
        explored=_pairs(_EXPLORED, text),
        warning=_WARNING in text,
        step=int(step[1]) if step else None,
    )


def _pairs(pattern: re.Pattern[str], text: str) -> frozenset[tuple[int, int]]:
    found = pattern.search(text)
    if not found:
        return frozenset()
    return frozenset((int(x), int(y)) for x, y in _PAIR.findall(found[1]))


@lru_cache(maxsize=32)
def _means(system: str) -> Means:
    # The system prompt is the same for a whole episode; reading it once is only a matter of speed.
    listed = {name for name, _ in _FORM.findall(system)} - {"DONE", "ACTION", "READY", "END"}
    files = _FILES.search(system)
    names = tuple(name.strip() for name in files[1].split(",")) if files else ()
    return Means(frozenset(listed), names)
