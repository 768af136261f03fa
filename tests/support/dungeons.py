"""Observations of NetHack and MiniHack drawn by hand."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

from orchestrator.models.heuristic.game import Decision
from orchestrator.models.heuristic.nethack.decide import decide
from orchestrator.models.heuristic.nethack.facts import Facts
from orchestrator.models.heuristic.nethack.scene import Scene
from orchestrator.models.heuristic.nethack.view import Place, View, parse_view

Legend = Mapping[str, tuple[str, str]]

LEGEND: Legend = {
    "_": (".", "doorway"),
    "/": ("-", "open door"),
    "+": ("+", "closed door"),
    ">": (">", "staircase down"),
    "<": ("<", "staircase up"),
    "{": ("{", "fountain"),
    "^": ("^", "squeaky board trap"),
    "0": ("`", "boulder"),
    "}": ("}", "molten lava"),
    "r": ("r", "giant rat"),
    "n": ("x", "newt"),
    "d": ("d", "tame little dog"),
    "w": ("@", "peaceful watchman"),
    "e": ("e", "floating eye"),
    "F": ("F", "lichen"),
    "s": ("r", "a statue of a giant rat"),
    "I": ("I", "remembered, unseen, creature"),
}
"""What a drawing's signs stand for: the map's character, and the name under "In view"."""

LEFT, TOP = 10, 5
"""Column and row of a drawing's first character unless told otherwise."""

_CROWDED, _NAMED = ("molten lava", "water"), 4

ROGUE = (("a", "a +0 short sword (weapon in hand)"), ("b", "an uncursed food ration"))


def observation(
    drawing: str,
    *,
    legend: Legend | None = None,
    message: str = "nothing",
    asked: bool = False,
    typing: bool = False,
    menu: str = "",
    cursor: Place | None = None,
    level: int = 1,
    dungeon: str = "the Dungeons of Doom",
    corner: Place = (LEFT, TOP),
    hit_points: tuple[int, int] = (12, 12),
    turn: int = 100,
    state: str = "not hungry",
    inventory: Sequence[tuple[str, str]] = (),
) -> str:
    """The text for a map, as `envs.nethack.text` writes it.

    Args:
        drawing: The known map with one ``@``; signs of the legend have names.
        legend: More signs, see `LEGEND`.
        corner: Column and row of the drawing's first character.
    """
    signs = {**LEGEND, **(legend or {})}
    rows = textwrap.dedent(drawing.strip("\n")).rstrip().split("\n")
    left, top = corner
    here = next((left + x, top + y) for y, row in enumerate(rows) for x in _at(row, "@"))
    kinds: dict[str, list[tuple[int, Place]]] = {}
    for y, row in enumerate(rows):
        for x, sign in enumerate(row):
            if sign in signs:
                way = left + x - here[0], top + y - here[1]
                kinds.setdefault(signs[sign][1], []).append((max(map(abs, way)), way))
    lines = [f"Message: {message}"]
    if asked:
        lines.append("NetHack waits for a character that answers the question.")
    if typing:
        lines.append("NetHack waits for a line of text, ended with enter.")
    if menu:
        lines.append(
            "Menu (a character picks, space turns the page, enter takes what was picked,"
            f" escape leaves):\n{menu}"
        )
    lines.append(f"You (human rogue) are at ({here[0]}, {here[1]}) on level {level} of {dungeon}.")
    if cursor:
        lines.append(f"The cursor is at ({cursor[0]}, {cursor[1]}).")
    lines.append("In view:")
    named = sorted((sorted(places), kind) for kind, places in kinds.items())
    lines += [f"- {kind}: {_ways(kind, places)}" for places, kind in named] or ["- nothing"]
    right, bottom = left + max(map(len, rows)) - 1, top + len(rows) - 1
    lines.append(f"Map (columns {left} to {right}, rows {top} to {bottom}; you are @):")
    lines += ["".join(signs.get(sign, (sign,))[0] for sign in row).rstrip() for row in rows]
    lines += [
        f"Status: hit points {hit_points[0]}/{hit_points[1]}, power 2/2, armor class 7, experience"
        f" level 1 (0 points), gold 0, turn {turn}, {state}.",
        "Attributes: strength 14, dexterity 18, constitution 17, intelligence 10, wisdom 9,"
        " charisma 7, chaotic.",
    ]
    lines.append("Inventory:" if inventory else "Inventory: nothing")
    lines += [f"{letter} - {name}" for letter, name in inventory]
    return "\n".join(lines)


def draw(drawing: str, **rest: object) -> View:
    """The view of such an observation."""
    return parse_view(observation(drawing, **rest))


def stand(
    drawing: str,
    facts: Facts | None = None,
    last: str = "",
    can: frozenset[str] = frozenset(),
    **rest: object,
) -> Scene:
    """What a decision looks at in such an observation."""
    return Scene(draw(drawing, **rest), facts or Facts(), last, can)


def decided(
    drawing: str,
    facts: Facts | None = None,
    last: str = "",
    can: frozenset[str] = frozenset(),
    **rest: object,
) -> Decision:
    """What is done in such an observation."""
    return decide(draw(drawing, **rest), facts, last, can)


def _at(row: str, sign: str) -> list[int]:
    return [x for x, one in enumerate(row) if one == sign]


def _ways(kind: str, places: Sequence[tuple[int, Place]]) -> str:
    crowded = kind in _CROWDED and len(places) > _NAMED
    named = "; ".join(_way(far, way) for far, way in places[: _NAMED if crowded else None])
    return f"{named}; {len(places) - _NAMED} more" if crowded else named


def _way(far: int, way: Place) -> str:
    right, down = way
    parts = [f"{abs(down)} {'south' if down > 0 else 'north'}"] if down else []
    parts += [f"{abs(right)} {'east' if right > 0 else 'west'}"] if right else []
    return f"{far} ({', '.join(parts)})"
