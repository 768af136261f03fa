"""One observation of NetHack or MiniHack, read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

Place = tuple[int, int]

OBSERVATION = re.compile(r"^Message: (?:.*\n)*?Inventory:(?: nothing|(?:\n\S - .*)+)$", re.M)
"""An observation inside a prompt."""

_HERE = re.compile(r"^You (?:\(.*\) )?are at \((\d+), (\d+)\) on level (-?\d+) of (.+)\.$", re.M)
_CURSOR = re.compile(r"^The cursor is at \((\d+), (\d+)\)\.$", re.M)
_MAP = re.compile(r"^Map \(columns (\d+) to \d+, rows (\d+) to \d+; you are @\):$", re.M)
_WAY = re.compile(r"(\d+) \((?:(\d+) (north|south))?(?:, )?(?:(\d+) (east|west))?\)")
_STATUS = re.compile(
    r"^Status: hit points (-?\d+)/(\d+), .*?, turn (\d+), (.+)\.$",
    re.M,
)


class UnreadableObservation(Exception):
    """A text is no observation of these games."""


@dataclass(frozen=True, eq=False)
class View:
    """What an observation says.

    Attributes:
        message: The message, all of it.
        asked: NetHack waits for the answer to a question.
        typing: NetHack waits for a line of text.
        menu: The menu that is open, empty without one.
        here: Column and row of the player.
        cursor: Where the cursor is, if elsewhere on the map.
        level: Depth of the level.
        dungeon: Name of the dungeon it belongs to.
        things: Places of everything that has a name, by name.
        rows: Rows of the known map.
        corner: Column and row of the map's first character.
        health, most_health: Hit points.
        turn: The game's clock.
        state: Words for hunger and afflictions.
        inventory: Letter and description of what is carried.
    """

    message: str
    asked: bool
    typing: bool
    menu: str
    here: Place
    cursor: Place | None
    level: int
    dungeon: str
    things: dict[str, tuple[Place, ...]]
    rows: tuple[str, ...]
    corner: Place
    health: int
    most_health: int
    turn: int
    state: frozenset[str]
    inventory: tuple[tuple[str, str], ...]

    def glyph(self, place: Place) -> str:
        """The character of the map at a place; a space where nothing is known."""
        x, y = place[0] - self.corner[0], place[1] - self.corner[1]
        if 0 <= y < len(self.rows) and 0 <= x < len(self.rows[y]):
            return self.rows[y][x]
        return " "


# The same text is read in LOG, in both turns of PLAN and, in a window, for many steps: reading it
# once is only a matter of speed.
@lru_cache(maxsize=64)
def parse_view(text: str) -> View:
    """Read one observation.

    Args:
        text: The observation without anything around it.

    Raises:
        UnreadableObservation: A line that every observation has is missing.
    """
    here, status = _HERE.search(text), _STATUS.search(text)
    if here is None or status is None:
        raise UnreadableObservation(f"this is no observation of NetHack: {text[:200]!r}")
    head = text[: here.start()]
    message, _, menu = head.partition("\nMenu (")
    place = int(here[1]), int(here[2])
    cursor = _CURSOR.search(text, here.end())
    rows, corner = _map(text, status.start())
    return View(
        message=message.partition("\nNetHack waits for ")[0].removeprefix("Message: ").strip(),
        asked="\nNetHack waits for a character" in head,
        typing="\nNetHack waits for a line of text" in head,
        menu=menu.partition("\n")[2].strip(),
        here=place,
        cursor=(int(cursor[1]), int(cursor[2])) if cursor else None,
        level=int(here[3]),
        dungeon=here[4],
        things=_things(text[here.end() : status.start()], place),
        rows=rows,
        corner=corner,
        health=int(status[1]),
        most_health=int(status[2]),
        turn=int(status[3]),
        state=frozenset(status[4].split(", ")),
        inventory=tuple(
            (line[0], line[4:]) for line in text[status.end() :].split("\n") if line[1:4] == " - "
        ),
    )


def _map(text: str, end: int) -> tuple[tuple[str, ...], Place]:
    head = _MAP.search(text, 0, end)
    if head is None:
        return (), (0, 0)
    rows = text[head.end() + 1 : end].rstrip("\n").split("\n")
    return tuple(rows), (int(head[1]), int(head[2]))


def _things(text: str, here: Place) -> dict[str, tuple[Place, ...]]:
    found = {}
    for line in text.split("\n"):
        if line.startswith("Map"):
            break
        name, _, ways = line.removeprefix("- ").rpartition(": ")
        if line.startswith("- ") and name:
            found[name] = tuple(_place(way, here) for way in _WAY.finditer(ways))
    return found


def _place(way: re.Match[str], here: Place) -> Place:
    down = int(way[2] or 0) * (-1 if way[3] == "north" else 1)
    right = int(way[4] or 0) * (-1 if way[5] == "west" else 1)
    return here[0] + right, here[1] + down
