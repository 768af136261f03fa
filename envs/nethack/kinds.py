"""Which squares of the map are worth a line of their own."""

from __future__ import annotations

import numpy as np

from envs.nethack.native import nethack

CROWDED = frozenset({"water", "molten lava", "iron bars", "tree", "ice", "air", "cloud"})
"""Kinds that fill whole areas: the nearest are named, and how many there are."""

# Stone and walls are the first symbols of NetHack's table, floors and corridors these four.
_STONE_AND_WALLS = range(12)
_FLOORS = ("floor of a room", "dark part of a room", "corridor", "lit corridor")


def _plain() -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """For each glyph whether the map alone says enough: stone, walls, floors, corridors."""
    plain = np.zeros(nethack.MAX_GLYPH + 1, dtype=np.bool_)
    for number in range(nethack.GLYPH_EXPLODE_OFF - nethack.GLYPH_CMAP_OFF):
        known = nethack.symdef.from_idx(number).explanation
        plain[nethack.GLYPH_CMAP_OFF + number] = number in _STONE_AND_WALLS or known in _FLOORS
    return plain


PLAIN = _plain()
