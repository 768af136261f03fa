"""One decision's working set: the view, the facts and what follows from them."""

from __future__ import annotations

import re
from functools import cached_property
from zlib import crc32

from orchestrator.models.heuristic.nethack.facts import Facts
from orchestrator.models.heuristic.nethack.terrain import (
    BLOCKED,
    CLOSED,
    DOOR,
    FREE,
    PET,
    RISKY,
    ROCK,
    STEPS,
    UNKNOWN,
    WIDTH,
    Level,
    count_around,
    number,
    survey,
)
from orchestrator.models.heuristic.nethack.view import View
from orchestrator.models.heuristic.nethack.ways import Ways

OPPOSITE = {
    word: other
    for word, (dx, dy) in STEPS.items()
    for other, step in STEPS.items()
    if step == (-dx, -dy)
}
DEADLY = (
    "floating eye", "blue jelly", "cockatrice", "chickatrice", "gas spore", "gelatinous cube",
)  # fmt: skip
"""Creatures that are never hit by hand."""
SESSILE = ("mold", "acid blob", "spotted jelly", "shrieker", "violet fungus", "lichen")
"""Creatures that hurt who hits them, or do nothing: hit only where they bar the way."""
_ROCKS = re.compile(re.escape(bytes([ROCK])))
# What NetHack says of a move that does not happen, in its own words (hack.c).
_REFUSED = (
    "solid stone", "it's a wall", "can't move diagonally", "cannot move diagonally", "in the way",
    "in your way", "blocks the way", "blocks your path", "an obstacle there", "in vain",
    "you stop.", "perhaps that's why", "unable to move", "into a wall", "you bump into",
    "you cannot pass", "carrying too much to get through", "too large to fit through",
    "gone as far",
)  # fmt: skip


class Scene:
    """What a decision looks at, worked out once.

    Args:
        view: The observation.
        facts: What else the prompt said.
        last_action: The action just played, as far as the prompt says it.
        actions: What can be done.
    """

    def __init__(self, view: View, facts: Facts, last_action: str, actions: frozenset[str]) -> None:
        self.view = view
        self.facts = facts
        self.last_action = last_action
        self.can = actions.__contains__ if actions else bool
        self.level: Level = survey(view)
        self.here = self.level.here

    @cached_property
    def heading(self) -> str:
        """The direction of the last move; empty if it was none, or is not known."""
        word = self.last_action.removeprefix("far_")
        return word if word in STEPS else ""

    @cached_property
    def refused(self) -> bool:
        """The last move did not succeed, by what NetHack said."""
        return is_one_of(self.view.message.lower(), _REFUSED)

    @cached_property
    def ways(self) -> Ways:
        """Ways from here, around boulders."""
        rocks = {at.start() for at in _ROCKS.finditer(self.level.squares)}
        return self._ways(self._shut | rocks)

    @cached_property
    def pushing(self) -> Ways:
        """Ways from here that may push boulders, but for those known not to move."""
        return self._ways(self._shut)

    def _ways(self, shut: set[int]) -> Ways:
        straight_only = self.can("north") is True and not self.can("northeast")
        return Ways(self._squares, self.here, shut, straight_only=straight_only)

    @cached_property
    def _squares(self) -> bytes:
        squares = bytearray(self.level.squares)
        for place, name in self.level.hostile.items():
            squares[number(place)] = RISKY if is_one_of(name, SESSILE) else FREE
        return bytes(squares)

    @cached_property
    def _shut(self) -> set[int]:
        shut = {
            number(place) for place, name in self.level.hostile.items() if is_one_of(name, DEADLY)
        }
        shut |= {number(place) for place in self.facts.blocked}
        if self.refused and self.heading:
            dx, dy = STEPS[self.heading]
            shut.add(self.here + dx + dy * WIDTH)
        return shut

    @cached_property
    def chance(self) -> int:
        """A number that only depends on the place and the clock."""
        view = self.view
        return crc32(f"{view.here} {view.turn} {view.level} {view.message}".encode())

    def steps(self) -> list[str]:
        """The steps that the vocabulary has and that nothing bars from here."""
        near = ((word, self.here + dx + dy * WIDTH) for word, (dx, dy) in STEPS.items())
        path = self.ways.path
        return [word for word, square in near if self.can(word) and path(square) == [word]]

    def mood(self, turns: int, choices: int) -> int:
        """One of several choices, the same for a number of turns on end."""
        view = self.view
        return crc32(f"{view.turn // turns} {view.level}".encode()) % choices if choices else 0

    @cached_property
    def openings(self) -> bytes:
        """For every square, how many squares next to it can be walked on."""
        return count_around(self.level.squares, (FREE, DOOR, CLOSED, RISKY, PET, ROCK))

    @cached_property
    def unknown(self) -> bytes:
        """For every square, how many squares next to it have not been seen."""
        return count_around(self.level.squares, (UNKNOWN,))

    @cached_property
    def walls(self) -> bytes:
        """For every square, how many squares next to it cannot be walked on."""
        return count_around(self.level.squares, (BLOCKED,))

    def whim(self, square: int, turns: int) -> int:
        """A number for a square, the same for a number of turns on end."""
        return crc32(f"{square} {self.view.turn // turns} {self.view.level}".encode())


def is_one_of(name: str, kinds: tuple[str, ...]) -> bool:
    """Whether a creature's name is that of one of some kinds."""
    return any(kind in name for kind in kinds)
