"""What a prompt says of a game of NetHack beyond what is in view.

A place on a level is written ``(column, row) on level n``; levels outside the main dungeon add its
name (``on level 3 of the Gnomish Mines``).

| text | fact |
|---|---|
| ``was at (5, 7) on level 1`` | the player has stood there |
| ``Visited on level 1: (5, 7) (6, 7)`` | a list of such places |
| ``dead end at (5, 7) on level 1`` | nothing leads on from there |
| ``Dead ends on level 1: (5, 7)`` | a list of them |
| ``searched at (5, 7) on level 1`` | one search there, for each time it is said |
| ``Searched on level 1: (5, 7) 12 times`` | the same, counted |
| ``blocked at (5, 8) on level 1`` | a boulder that cannot be pushed on |
| ``way down at (9, 2) on level 1`` | stairs or a hole that leads down |
| ``prayed on turn 812`` | a prayer |
| ``going round in circles`` | a warning |
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from orchestrator.models.heuristic.nethack.view import Place, View, parse_view

WARNING = "going round in circles"
MAIN_DUNGEON = "the Dungeons of Doom"

_LEVEL = r"level (-?\d+(?: of [A-Z][A-Za-z' ]*[a-z]| of the [A-Z][A-Za-z' ]*[a-z])?)"
_NOTE = re.compile(rf"\b(was|dead end|searched|blocked|way down) at \((\d+), (\d+)\) on {_LEVEL}")
_LISTS = re.compile(rf"^(Visited|Dead ends|Searched) on {_LEVEL}: (.+)$", re.M)
_PAIR = re.compile(r"\((\d+), (\d+)\)(?: (\d+) times)?")
_PRAYED = re.compile(r"\bprayed on turn (\d+)")
_KINDS = ("was", "dead end", "searched", "blocked", "way down")
_KIND_OF_LIST = {"Visited": "was", "Dead ends": "dead end", "Searched": "searched"}


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of one level, and of the player.

    Args:
        visited: Places on this level where the player has stood.
        dead_ends: Places on this level from which nothing leads on.
        searched: How often was searched where on this level.
        blocked: Boulders on this level that cannot be pushed on.
        ways_down: Stairs and holes on this level.
        prayed: Turn of the last known prayer; ``None`` if none is known.
        warning: The prompt says that the player is going round in circles.
    """

    visited: frozenset[Place] = frozenset()
    dead_ends: frozenset[Place] = frozenset()
    searched: Mapping[Place, int] = field(default_factory=Counter)
    blocked: frozenset[Place] = frozenset()
    ways_down: tuple[Place, ...] = ()
    prayed: int | None = None
    warning: bool = False


def level_name(view: View) -> str:
    """How a level is called in notes."""
    return f"{view.level}" if view.dungeon == MAIN_DUNGEON else f"{view.level} of {view.dungeon}"


def read_facts(text: str, observations: Iterable[str]) -> Facts:
    """The facts.

    Args:
        text: Everything the prompt says outside its observations.
        observations: Every observation shown, oldest first; the last is the present.
    """
    views = [parse_view(one) for one in observations]
    if not views:
        return Facts()
    here = level_name(views[-1])
    found: dict[str, Counter[Place]] = {name: Counter() for name in _KINDS}
    for kind, x, y, level in _NOTE.findall(text):
        if level == here:
            found[kind][int(x), int(y)] += 1
    for title, level, listed in _LISTS.findall(text):
        if level == here:
            for x, y, times in _PAIR.findall(listed):
                found[_KIND_OF_LIST[title]][int(x), int(y)] += int(times or 1)
    seen = {view.here for view in views[:-1] if level_name(view) == here}
    prayers = [int(turn) for turn in _PRAYED.findall(text)]
    return Facts(
        visited=frozenset(found["was"]) | seen,
        dead_ends=frozenset(found["dead end"]),
        searched=found["searched"],
        blocked=frozenset(found["blocked"]),
        ways_down=tuple(found["way down"]),
        prayed=max(prayers, default=None),
        warning=WARNING in text,
    )
