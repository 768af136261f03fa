"""How far a game of NetHack has come.

The table gives, for each dungeon depth and each experience level, the share of human games that
reached it and went on to ascend; it was published with the BALROG benchmark (Paglieri et al. 2024,
arXiv 2411.13543). A game's progression is the larger of the two shares, the most it has been.
Ascension itself, which stands in no row, is 1.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

TABLE = Path(__file__).with_name("progression.csv")


@cache
def shares() -> Mapping[tuple[str, int], float]:
    """The table.

    Returns:
        Share of games won, from 0 to 1, by ``("depth", n)`` and ``("experience_level", n)``.
    """
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    marks = ((row["mark"].rsplit(" ", 1), float(row["percent"]) / 100) for row in rows)
    return MappingProxyType({(kind, int(number)): share for (kind, number), share in marks})


def progression(depth: int, experience_level: int) -> float:
    """The progression of a game that has been so deep and so experienced.

    Args:
        depth: Greatest depth below the surface, in levels.
        experience_level: Highest experience level.

    Returns:
        From 0 to 1. Past either end of the table its last row counts.
    """
    return max(_share("depth", depth), _share("experience_level", experience_level))


@cache
def _share(kind: str, number: int) -> float:
    table = shares()
    most = max(known for name, known in table if name == kind)
    return table[kind, min(max(number, 1), most)]
