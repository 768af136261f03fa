"""Crafter observations drawn by hand."""

from __future__ import annotations

from orchestrator.models.heuristic.crafter import View, parse_view
from orchestrator.models.heuristic.crafter.view import DIRECTIONS, GLYPHS, NEXT

MEADOW = """
    .........
    .........
    .........
    ....@....
    .........
    .........
    .........
"""


def observation(
    rows: str,
    *,
    facing: str = "down",
    standing: str = "grass",
    vitals: tuple[int, int, int, int] = (9, 9, 9, 9),
    carrying: str = "nothing",
    night: bool = False,
    asleep: bool = False,
) -> str:
    """The text for a map of seven rows, as `crafter-v1` writes it.

    The list of the nearest things is cut short; the map says the same.
    """
    lines = [line.strip() for line in rows.strip().splitlines()]
    grid = "".join(lines)
    assert len(grid) == 63
    assert grid[31] == "@"
    near = {name: GLYPHS[grid[NEXT[k]]] for k, name in enumerate(DIRECTIONS)}
    sides = ", ".join(f"{side} {near[side]}" for side in ("up", "right", "down", "left"))
    health, food, drink, energy = vitals
    return "\n".join(
        [
            *(["You are asleep."] if asleep else []),
            f"You stand on {standing} and face {near[facing]} ({facing}).",
            "It is night." if night else "It is day.",
            f"Next to you: {sides}.",
            "Nearest:",
            "- grass: 1 step (1 up)",
            "Map (you are @):",
            *lines,
            f"Status: health {health}, food {food}, drink {drink}, energy {energy}.",
            f"Inventory: {carrying}.",
        ]
    )


def draw(
    rows: str,
    *,
    facing: str = "down",
    standing: str = "grass",
    vitals: tuple[int, int, int, int] = (9, 9, 9, 9),
    carrying: str = "nothing",
    night: bool = False,
    asleep: bool = False,
) -> View:
    """The view of such an observation."""
    return parse_view(
        observation(
            rows,
            facing=facing,
            standing=standing,
            vitals=vitals,
            carrying=carrying,
            night=night,
            asleep=asleep,
        )
    )
