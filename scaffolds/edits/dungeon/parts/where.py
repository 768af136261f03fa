"""Where the agent is, read from what it sees."""

import re

_HERE = re.compile(r"^You (?:\(.*\) )?are at \((\d+), (\d+)\) on level (-?\d+) of (.+)\.$", re.M)
_MAIN = "the Dungeons of Doom"


def place(observation):
    """Column, row and name of the level; None where it is not said."""
    found = _HERE.search(observation)
    if found is None:
        return None
    level = found[3] if found[4] == _MAIN else f"{found[3]} of {found[4]}"
    return int(found[1]), int(found[2]), level


def pairs(places):
    return " ".join(f"({x}, {y})" for x, y in places)
