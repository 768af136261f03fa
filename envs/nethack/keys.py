"""The vocabulary: a name for every key that NetHack understands.

The keys are those of ``nle.nethack.ACTIONS``, which `NetHackChallenge` uses, and every character
that a prompt or menu may ask for. A command's name and a character can be the same key (``search``
and ``s``): a name says what is meant outside a prompt, a character what is typed into one.
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from envs.nethack.native import nethack

_DIRECTIONS = {
    "N": "north", "E": "east", "S": "south", "W": "west",
    "NE": "northeast", "SE": "southeast", "SW": "southwest", "NW": "northwest",
}  # fmt: skip
_NAMES = {
    "ADJUST": "adjust", "ANNOTATE": "annotate", "APPLY": "apply", "ATTRIBUTES": "attributes",
    "AUTOPICKUP": "autopickup", "CALL": "call", "CAST": "cast", "CHAT": "chat", "CLOSE": "close",
    "CONDUCT": "conduct", "DIP": "dip", "DROP": "drop", "DROPTYPE": "drop_type", "EAT": "eat",
    "ENGRAVE": "engrave", "ENHANCE": "enhance", "ESC": "escape", "EXTCMD": "extended_command",
    "EXTLIST": "extended_list", "FIGHT": "fight", "FIRE": "fire", "FORCE": "force",
    "GLANCE": "glance", "HISTORY": "history", "INVENTORY": "inventory",
    "INVENTTYPE": "inventory_type", "INVOKE": "invoke", "JUMP": "jump", "KICK": "kick",
    "KNOWN": "known", "KNOWNCLASS": "known_class", "LOOK": "look", "LOOT": "loot",
    "MONSTER": "monster", "MOVE": "move", "MOVEFAR": "move_far", "OFFER": "offer", "OPEN": "open",
    "OPTIONS": "options", "OVERVIEW": "overview", "PAY": "pay", "PICKUP": "pickup", "PRAY": "pray",
    "PUTON": "put_on", "QUAFF": "quaff", "QUIT": "quit", "QUIVER": "quiver", "READ": "read",
    "REDRAW": "redraw", "REMOVE": "remove", "RIDE": "ride", "RUB": "rub", "RUSH": "rush",
    "RUSH2": "rush_far", "SAVE": "save", "SEARCH": "search", "SEEALL": "see_all",
    "SEEAMULET": "see_amulet", "SEEARMOR": "see_armor", "SEEGOLD": "see_gold",
    "SEERINGS": "see_rings", "SEESPELLS": "see_spells", "SEETOOLS": "see_tools",
    "SEETRAP": "see_trap", "SEEWEAPON": "see_weapon", "SHELL": "shell", "SIT": "sit",
    "SWAP": "swap", "TAKEOFF": "take_off", "TAKEOFFALL": "take_off_all", "TELEPORT": "teleport",
    "THROW": "throw", "TIP": "tip", "TRAVEL": "travel", "TURN": "turn", "TWOWEAPON": "two_weapon",
    "UNTRAP": "untrap", "VERSION": "version", "VERSIONSHORT": "version_short", "WEAR": "wear",
    "WHATDOES": "what_does", "WHATIS": "what_is", "WIELD": "wield", "WIPE": "wipe", "ZAP": "zap",
}  # fmt: skip

MORE = int(nethack.MiscAction.MORE)
ESCAPE = int(nethack.Command.ESC)

# "|", "<" and ">" would be taken for marks of the agent's grammar; the last two are up and down.
CHARACTERS = string.ascii_letters + string.digits + "*?$-+'\",.:;#/()[]=!@_&%^`~\\"
"""Every character that can be typed into a prompt or picked in a menu."""


def _named() -> dict[str, int]:
    """The keys that have a name, in the order in which a player would look for them."""
    keys = {_DIRECTIONS[one.name]: int(one) for one in nethack.CompassDirection}
    keys |= {f"far_{_DIRECTIONS[one.name]}": int(one) for one in nethack.CompassDirectionLonger}
    keys |= {one.name.lower(): int(one) for one in nethack.MiscDirection}
    # Some commands share a key (quote shows the amulet): the enumeration lists each value once.
    keys |= {_NAMES[one.name]: int(one) for one in nethack.Command}
    return {**keys, "help": ord("?"), "enter": MORE, "space": ord(" ")}


NAMED: Mapping[str, int] = MappingProxyType(_named())
KEYS: Mapping[str, int] = MappingProxyType({**NAMED, **{one: ord(one) for one in CHARACTERS}})
"""Every action and its key."""

IDLE = frozenset({"escape", "redraw", "wait", "search"})
"""Actions that need not change anything that is seen."""


def names_of(keys: Iterable[int]) -> tuple[str, ...]:
    """The named actions that press one of these keys, in the order of the vocabulary."""
    wanted = set(map(int, keys))
    return tuple(name for name, key in NAMED.items() if key in wanted)
