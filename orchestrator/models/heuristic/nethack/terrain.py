"""The level as a grid of squares that can or cannot be walked on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from orchestrator.models.heuristic.nethack.view import Place, View

WIDTH, HEIGHT = 81, 23
"""Squares of the grid: the map of 79 by 21 with a border of unknown ones around it."""

UNKNOWN, FREE, DOOR, CLOSED, BLOCKED, RISKY, PET, ROCK = range(8)
"""What a square is: not seen, free, a doorway, a closed door, not to be walked on, to be avoided, a
pet to swap places with, a boulder."""

STEPS: dict[str, Place] = {
    "north": (0, -1), "east": (1, 0), "south": (0, 1), "west": (-1, 0),
    "northeast": (1, -1), "southeast": (1, 1), "southwest": (-1, 1), "northwest": (-1, -1),
}  # fmt: skip
"""The eight directions, straight ones first."""

WAYS_DOWN = ("staircase down", "ladder down", "trap door", "hole")
_DOORS = ("doorway", "open door", "broken door")
_FURNITURE = (
    *WAYS_DOWN, "staircase up", "ladder up", "fountain", "grave", "opulent throne", "sink", "ice",
    "lowered drawbridge",
)  # fmt: skip
_WALLS = ("water", "molten lava", "iron bars", "tree", "raised drawbridge")
_TRAPS = ("trap", "pit", "web", "land mine", "portal", "field")
_CREATURES = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ@&;:~'")
_ROW = bytes([0, *[1] * (WIDTH - 2), 0])
_INSIDE = int.from_bytes(bytes(WIDTH) + _ROW * (HEIGHT - 2) + bytes(WIDTH), "little")
# Of what fills whole areas, only the nearest squares are named.
_OF_GLYPH = bytearray([FREE]) * 256
_OF_GLYPH[ord(" ")] = UNKNOWN
for _glyph in b"|-}":
    _OF_GLYPH[_glyph] = BLOCKED


@dataclass(frozen=True, slots=True)
class Level:
    """The level as far as it is known.

    Attributes:
        squares: What each square is, row by row.
        hostile: Creatures to fight or flee from, by place.
        down: Known ways down, nearest first.
        here: Number of the player's square.
    """

    squares: bytes
    hostile: dict[Place, str]
    down: tuple[Place, ...]
    here: int


def number(place: Place) -> int:
    """The number of a square in the grid."""
    return (place[1] + 1) * WIDTH + place[0] + 1


def place_of(square: int) -> Place:
    """The column and row of a square's number."""
    return square % WIDTH - 1, square // WIDTH - 1


@lru_cache(maxsize=512)
def _kind(name: str) -> int:
    if is_statue(name):
        return FREE  # to be walked over, and drawn as what it is a statue of
    if name.startswith("peaceful "):
        return BLOCKED
    if name.startswith("tame "):
        return PET
    if name in _DOORS:
        return DOOR
    if name == "closed door":
        return CLOSED
    if name in _FURNITURE or name.endswith("altar"):
        return FREE
    if name in _WALLS:
        return BLOCKED
    if name.endswith("boulder"):
        return ROCK
    if name.endswith(_TRAPS):
        return RISKY
    return FREE


@lru_cache(maxsize=8)
def survey(view: View) -> Level:
    """Read the map and what is named on it.

    Args:
        view: The observation.
    """
    squares = bytearray(WIDTH * HEIGHT)
    left, top = view.corner
    for y, row in enumerate(view.rows):
        at = number((left, top + y))
        # What is no floor, wall or corridor has a name, and is looked up below.
        squares[at : at + len(row)] = row.encode("latin-1").translate(_OF_GLYPH)
    hostile: dict[Place, str] = {}
    for name, places in view.things.items():
        for place in places:
            glyph = view.glyph(place)
            squares[number(place)] = _kind(name)
            if glyph in _CREATURES and is_hostile(name):
                hostile[place] = name
    squares[number(view.here)] = _under(view)
    down = [place for name in WAYS_DOWN for place in view.things.get(name, ())]
    return Level(bytes(squares), hostile, tuple(by_distance(down, view.here)), number(view.here))


def count_around(squares: bytes, kinds: tuple[int, ...]) -> bytes:
    """For every square, how many of the eight next to it are of some kinds.

    Args:
        squares: What each square is; the border counts as of no kind.
        kinds: The kinds to count.

    Returns:
        The counts, in the order of the squares; those of the border mean nothing.
    """
    # One byte for each square of a long number: shifting and adding it counts them all at once.
    marks = int.from_bytes(squares.translate(_ones_for(kinds)), "little") & _INSIDE
    counts = 0
    for offset in (1, WIDTH - 1, WIDTH, WIDTH + 1):
        counts += (marks << 8 * offset) + (marks >> 8 * offset)
    return (counts & 15 * _INSIDE).to_bytes(len(squares), "little")


@lru_cache(maxsize=16)
def _ones_for(kinds: tuple[int, ...]) -> bytes:
    return bytes(kind in kinds for kind in range(256))


def is_hostile(name: str) -> bool:
    """Whether a creature of that name is one to fight or flee from."""
    return not (name.startswith(("tame ", "peaceful ", "staircase")) or is_statue(name))


def is_statue(name: str) -> bool:
    """Whether what has this name is a statue of something, and no creature."""
    return "statue of " in name


def by_distance(places: Iterable[Place], here: Place) -> list[Place]:
    """Places by the number of moves to them, ties by position."""
    return sorted(places, key=lambda one: (max(abs(one[0] - here[0]), abs(one[1] - here[1])), one))


def _under(view: View) -> int:
    """The player's own square: a doorway if walls stand on two opposite sides of it."""
    x, y = view.here
    sides = [view.glyph((x + dx, y + dy)) for dx, dy in ((-1, 0), (1, 0), (0, -1), (0, 1))]
    walls = [glyph in "|-" for glyph in sides]
    return DOOR if (walls[0] and walls[1]) or (walls[2] and walls[3]) else FREE
