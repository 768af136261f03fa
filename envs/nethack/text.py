"""An observation in words: what was said, where you are, what is in view, the map, your state.

`describe` is a function of the screen alone. Columns count from the left and rows from the top, as
NetHack's own map does; a distance is the number of moves there if nothing is in the way, for a
diagonal step is one move.
"""

from __future__ import annotations

import re

from envs.nethack.kinds import CROWDED, PLAIN
from envs.nethack.native import nethack
from envs.nethack.screen import Screen

DUNGEONS = (
    "the Dungeons of Doom", "Gehennom", "the Gnomish Mines", "the Quest", "Sokoban",
    "Fort Ludios", "Vlad's Tower", "the Elemental Planes",
)  # fmt: skip
NEAREST = 4
"""How many of a kind that fills whole areas are named."""

MENU = "Menu (a character picks, space turns the page, enter takes what was picked, escape leaves):"

_HUNGER = ("satiated", "not hungry", "hungry", "weak", "fainting", "fainted", "starved")
_BURDEN = ("", "burdened", "stressed", "strained", "overtaxed", "overloaded")
_ALIGNMENT = {-1: "chaotic", 0: "neutral", 1: "lawful"}
_CONDITIONS = (
    (nethack.BL_MASK_STONE, "turning to stone"),
    (nethack.BL_MASK_SLIME, "turning to slime"),
    (nethack.BL_MASK_STRNGL, "being strangled"),
    (nethack.BL_MASK_FOODPOIS, "food poisoned"),
    (nethack.BL_MASK_TERMILL, "terminally ill"),
    (nethack.BL_MASK_BLIND, "blind"),
    (nethack.BL_MASK_DEAF, "deaf"),
    (nethack.BL_MASK_STUN, "stunned"),
    (nethack.BL_MASK_CONF, "confused"),
    (nethack.BL_MASK_HALLU, "hallucinating"),
    (nethack.BL_MASK_LEV, "levitating"),
    (nethack.BL_MASK_FLY, "flying"),
    (nethack.BL_MASK_RIDE, "riding"),
)
_WHERE = re.compile(r"^You (?:\(.*\) )?are at \(\d+, \d+\) on level ", re.M)
_CLOCK = re.compile(r", turn \d+,")
_X, _Y = nethack.NLE_BL_X, nethack.NLE_BL_Y


def describe(screen: Screen) -> str:
    """Put a screen into words.

    Args:
        screen: The screen; its arrays must still be those of its moment.

    Returns:
        The observation, without a trailing newline.
    """
    here = screen.status[_X], screen.status[_Y]
    parts = [f"Message: {_said(screen)}"]
    if screen.question:
        parts.append("NetHack waits for a character that answers the question.")
    elif screen.line:
        parts.append("NetHack waits for a line of text, ended with enter.")
    if screen.menu:
        parts.append(f"{MENU}\n{screen.menu}")
    parts.append(_whereabouts(screen, here))
    parts.append(f"In view:\n{_in_view(screen, here)}")
    parts.append(_map(screen))
    parts.append(_status(screen.status))
    parts.append(_inventory(screen.inventory))
    return "\n".join(parts)


def scene_of(text: str) -> str:
    """What of an observation tells whether an action changed anything.

    Args:
        text: What `describe` gave.

    Returns:
        The text without its message, and without the turn.
    """
    start = _WHERE.search(text)
    return _CLOCK.sub(",", text[start.start() :] if start else text, count=1)


def _said(screen: Screen) -> str:
    if not screen.said:
        return "nothing"
    return "\n".join(screen.said)


def _whereabouts(screen: Screen, here: tuple[int, int]) -> str:
    x, y = here
    who = _name(screen, x, y).partition(" called ")[0]
    you = f"You ({who}) are" if who else "You are"
    status = screen.status
    number = status[nethack.NLE_BL_DNUM]
    dungeon = DUNGEONS[number] if 0 <= number < len(DUNGEONS) else f"dungeon {number}"
    text = f"{you} at ({x}, {y}) on level {status[nethack.NLE_BL_DEPTH]} of {dungeon}."
    if screen.cursor is not None and screen.cursor != here:
        text += f"\nThe cursor is at ({screen.cursor[0]}, {screen.cursor[1]})."
    return text


def _name(screen: Screen, x: int, y: int) -> str:
    raw: bytes = screen.descriptions[y, x].tobytes()
    return raw[: raw.find(0)].decode("latin-1")


def _in_view(screen: Screen, here: tuple[int, int]) -> str:
    """A line for each kind, the nearest first, with the way to each of that kind."""
    kinds: dict[str, list[tuple[int, int, int]]] = {}
    rows, columns = (~PLAIN[screen.glyphs]).nonzero()
    for y, x in zip(rows.tolist(), columns.tolist(), strict=True):
        if (x, y) == here:
            continue
        dx, dy = x - here[0], y - here[1]
        kinds.setdefault(_name(screen, x, y), []).append((max(abs(dx), abs(dy)), dx, dy))
    kinds.pop("", None)
    for places in kinds.values():
        places.sort()
    order = sorted(kinds, key=lambda kind: (kinds[kind][0][0], kind))
    return "\n".join(f"- {kind}: {_places(kind, kinds[kind])}" for kind in order) or "- nothing"


def _places(kind: str, places: list[tuple[int, int, int]]) -> str:
    crowded = kind in CROWDED and len(places) > NEAREST
    named = "; ".join(_way(*place) for place in places[: NEAREST if crowded else None])
    return f"{named}; {len(places) - NEAREST} more" if crowded else named


def _way(distance: int, dx: int, dy: int) -> str:
    parts = []
    if dy:
        parts.append(f"{abs(dy)} {'south' if dy > 0 else 'north'}")
    if dx:
        parts.append(f"{abs(dx)} {'east' if dx > 0 else 'west'}")
    return f"{distance} ({', '.join(parts)})"


def _map(screen: Screen) -> str:
    """The map, cut to what is known of it; its head says which columns and rows remain."""
    known = screen.chars != ord(" ")
    columns, rows = known.any(axis=0).nonzero()[0], known.any(axis=1).nonzero()[0]
    if not columns.size:
        return "Map: nothing"
    left, right, top, bottom = int(columns[0]), int(columns[-1]), int(rows[0]), int(rows[-1])
    cut = screen.chars[top : bottom + 1, left : right + 1]
    lines = [line.tobytes().decode("latin-1").rstrip() for line in cut]
    head = f"Map (columns {left} to {right}, rows {top} to {bottom}; you are @):"
    return "\n".join([head, *lines])


def _status(status: tuple[int, ...]) -> str:
    strength = _strength(status[nethack.NLE_BL_STR125])
    conditions = [word for mask, word in _CONDITIONS if status[nethack.NLE_BL_CONDITION] & mask]
    burden = _word(_BURDEN, status[nethack.NLE_BL_CAP])
    state = [_word(_HUNGER, status[nethack.NLE_BL_HUNGER]), *filter(None, [burden]), *conditions]
    return (
        f"Status: hit points {status[nethack.NLE_BL_HP]}/{status[nethack.NLE_BL_HPMAX]},"
        f" power {status[nethack.NLE_BL_ENE]}/{status[nethack.NLE_BL_ENEMAX]},"
        f" armor class {status[nethack.NLE_BL_AC]},"
        f" experience level {status[nethack.NLE_BL_XP]}"
        f" ({status[nethack.NLE_BL_EXP]} points), gold {status[nethack.NLE_BL_GOLD]},"
        f" turn {status[nethack.NLE_BL_TIME]}, {', '.join(state)}.\n"
        f"Attributes: strength {strength}, dexterity {status[nethack.NLE_BL_DEX]},"
        f" constitution {status[nethack.NLE_BL_CON]}, intelligence {status[nethack.NLE_BL_INT]},"
        f" wisdom {status[nethack.NLE_BL_WIS]}, charisma {status[nethack.NLE_BL_CHA]},"
        f" {_ALIGNMENT.get(status[nethack.NLE_BL_ALIGN], 'unaligned')}."
    )


def _strength(number: int) -> str:
    """Strength as NetHack writes it; NLE counts 18/01 to 18/100 as 19 to 118."""
    if number <= 18:
        return str(number)
    if number > 118:
        return str(number - 100)
    return "18/**" if number == 118 else f"18/{number - 18:02d}"


def _word(words: tuple[str, ...], number: int) -> str:
    return words[number] if 0 <= number < len(words) else f"state {number}"


def _inventory(carried: tuple[tuple[str, str], ...]) -> str:
    if not carried:
        return "Inventory: nothing"
    return "\n".join(["Inventory:", *(f"{letter} - {name}" for letter, name in carried)])
