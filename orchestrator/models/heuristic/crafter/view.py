"""Reading one Crafter observation.

The text is the one `crafter-v1` writes. The map is kept as one string of 63 glyphs in reading
order, because looking a cell up by number is what everything else here does all the time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

WIDTH = 9
HEIGHT = 7
CELLS = WIDTH * HEIGHT
CENTRE = CELLS // 2
"""The cell the player stands on: the fifth of the fourth row."""

DIRECTIONS = ("left", "right", "up", "down")
STEP = (-1, 1, -WIDTH, WIDTH)
"""What a step in each direction adds to a cell's number."""

NEXT = tuple(CENTRE + step for step in STEP)
"""The four cells next to the player, in the order of `DIRECTIONS`."""

GLYPHS: dict[str, str] = {
    ".": "grass",
    ":": "sand",
    "_": "path",
    "~": "water",
    "#": "stone",
    "T": "tree",
    "c": "coal",
    "i": "iron",
    "d": "diamond",
    "L": "lava",
    "t": "table",
    "f": "furnace",
    "C": "cow",
    "Z": "zombie",
    "K": "skeleton",
    "<": "arrow",
    ">": "arrow",
    "^": "arrow",
    "v": "arrow",
    "p": "sapling",
    "P": "ripe_plant",
    "X": "edge",
    "?": "unknown",
}
UNKNOWN = "?"
WALKABLE = ".:_"

_GLYPH_OF = {kind: glyph for glyph, kind in GLYPHS.items() if kind != "arrow"} | {"arrow": "<"}
_DIRECTION_INDEX = {name: index for index, name in enumerate(DIRECTIONS)}


class UnreadableObservation(ValueError):
    """The text is not an observation of `crafter-v1`."""


@dataclass(frozen=True, slots=True)
class View:
    """What one observation says.

    Args:
        asleep: The player is asleep, so the next action is ignored unless energy is full.
        night: It is dark.
        standing: The ground under the player.
        facing: Index into `DIRECTIONS` of where the player looks.
        grid: 63 glyphs in reading order, 9 to a row; the player's own cell is ``@``.
        health: 0 to 9.
        food: 0 to 9.
        drink: 0 to 9.
        energy: 0 to 9.
        inventory: How many of each thing is carried; what is not carried is missing.
    """

    asleep: bool
    night: bool
    standing: str
    facing: int
    grid: str
    health: int
    food: int
    drink: int
    energy: int
    inventory: Mapping[str, int]

    @property
    def faced(self) -> str:
        """The kind of the cell in front of the player."""
        return GLYPHS[self.grid[NEXT[self.facing]]]

    def cells(self, kind: str) -> tuple[tuple[int, int], ...]:
        """Offsets from the player (x right, y down) of every cell in view of that kind."""
        return tuple(
            (cell % WIDTH - WIDTH // 2, cell // WIDTH - HEIGHT // 2)
            for cell, glyph in enumerate(self.grid)
            if glyph != "@" and GLYPHS[glyph] == kind
        )


def parse_view(observation_text: str) -> View:
    """Reads one observation.

    A map that the prompt left out is rebuilt from the neighbours and the list of the nearest
    things; what remains unsaid is unknown.

    Args:
        observation_text: The text of the observation, without anything around it.

    Returns:
        The view.

    Raises:
        UnreadableObservation: The text lacks a line that every observation has.
    """
    lines = observation_text.split("\n")
    try:
        first = 1 if lines[0].startswith("You are asleep") else 0
        words = lines[first].split(" ")
        facing = _DIRECTION_INDEX[words[-1][1:-2]]
        status = lines[-2][8:-1].split(", ")
        carried = lines[-1][11:-1]
        inventory: dict[str, int] = {}
        if carried != "nothing":
            for entry in carried.split(", "):
                name, _, count = entry.partition(" ")
                inventory[name] = int(count)
        return View(
            asleep=first == 1,
            night=lines[first + 1] == "It is night.",
            standing=words[3],
            facing=facing,
            grid=_grid(lines),
            health=int(status[0][7:]),
            food=int(status[1][5:]),
            drink=int(status[2][6:]),
            energy=int(status[3][7:]),
            inventory=inventory,
        )
    except (IndexError, KeyError, ValueError) as error:
        raise UnreadableObservation(
            f"this is not a crafter-v1 observation ({error}): {observation_text[:200]!r}"
        ) from error


def _grid(lines: list[str]) -> str:
    grid = "".join(lines[-9:-2])
    if len(grid) == CELLS and grid[CENTRE] == "@":
        return grid
    cells = [UNKNOWN] * CELLS
    cells[CENTRE] = "@"
    for line in lines:
        if line.startswith("Next to you: "):
            for part in line[13:-1].split(", "):
                side, _, kind = part.partition(" ")
                cells[NEXT[_DIRECTION_INDEX[side]]] = _GLYPH_OF[kind]
        elif line.startswith("- "):
            cell = _listed_cell(line)
            if cell is not None and cells[cell] == UNKNOWN:
                cells[cell] = _GLYPH_OF[line[2 : line.index(":")]]
    return "".join(cells)


def _listed_cell(line: str) -> int | None:
    """The cell of an entry such as ``- cow: 3 steps (2 right, 1 up)``; None outside the map."""
    x = y = 0
    for part in line[line.index("(") + 1 : line.index(")")].split(", "):
        count, _, side = part.partition(" ")
        if side in ("left", "right"):
            x = int(count) if side == "right" else -int(count)
        else:
            y = int(count) if side == "down" else -int(count)
    if abs(x) > WIDTH // 2 or abs(y) > HEIGHT // 2:
        return None
    return CENTRE + y * WIDTH + x
