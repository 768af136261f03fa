"""The exact one-sided sign-flip test for paired differences.

If candidate and champion are equally good, each paired difference is as likely to have come out
with the other sign, so all ``2**n`` sign patterns of the observed sizes are equally likely. The
p-value is the share of patterns whose sum is at least the observed one. The observed pattern is
one of them, so p is never below ``2**-n`` and the test keeps its level exactly, with no Monte
Carlo state to carry over a crash (Phipson & Smyth 2010, "Permutation p-values should never be
zero", Stat. Appl. Genet. Mol. Biol. 9 (1), 39).

What it assumes: under the null a difference is symmetric about zero, as it is for two revisions
that play alike. Against a candidate with the same mean and another spread or shape the level is
approximate, the better so the more pairs there are.

Flipping the set ``A`` of differences lowers the sum by ``2 * sum(A)``. So a pattern counts exactly
if ``sum(A) <= 0``, and p is the share of *subsets with a non-positive sum*: a form that needs no
observed total and is easy to reason about (see `rules`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

GRID = 10**9
"""Floats are rounded once to this many parts of a point; see `integer_differences`."""

MAX_NONZERO = 40
"""Most non-zero differences the exact test takes: half the subsets of 40 fill 8 MiB."""


def integer_differences(differences: Sequence[float | Fraction]) -> tuple[tuple[int, ...], int]:
    """Differences as integers, with the slack within which a sum counts as zero.

    Integers and fractions are scaled by their common denominator and compared exactly. If there is
    a float among them, all are rounded once to a billionth of a point; sums of at most one unit
    per difference then count as ties. (22 achievements make scores of 4.5454... percent: three
    differences that cancel on paper would otherwise be decided by their last bit.) A tie counts
    against the candidate, so the slack can only raise p.

    Args:
        differences: Candidate minus champion, in points of progression (percent).

    Returns:
        The integers in the order given, and the slack in the same unit.

    Raises:
        ValueError: A difference is not finite.
    """
    if not any(isinstance(value, float) for value in differences):
        exact = [Fraction(value) for value in differences]
        scale = math.lcm(*(value.denominator for value in exact))
        return tuple(int(value * scale) for value in exact), 0
    floats = [float(value) for value in differences]
    if not all(map(math.isfinite, floats)):
        raise ValueError("a paired difference is not a finite number")
    return tuple(round(value * GRID) for value in floats), len(floats)


def sign_flip_p(differences: Sequence[float | Fraction]) -> float:
    """Exact one-sided p-value that the candidate is better.

    Args:
        differences: Candidate minus champion for each complete pair, in any unit (floats: points
            of progression in percent).

    Returns:
        Share of sign patterns at least as favourable as the observed one: in
        ``[2**-n, 1]``, and 1 if there is no difference at all.

    Raises:
        ValueError: More than `MAX_NONZERO` differences are not zero, or one is not finite.
    """
    integers, slack = integer_differences(differences)
    # A zero difference doubles patterns and favourable patterns alike. Order and a common factor
    # do not matter either, so that discrete scores hit the cache often.
    nonzero = sorted(value for value in integers if value)
    divisor = math.gcd(*nonzero) if slack == 0 else 1
    return _share_not_positive(tuple(value // divisor for value in nonzero), slack)


@lru_cache(maxsize=4096)
def _share_not_positive(values: tuple[int, ...], slack: int) -> float:
    if len(values) > MAX_NONZERO:
        raise ValueError(
            f"{len(values)} differences are more than the exact test takes ({MAX_NONZERO})"
        )
    half = len(values) // 2
    # Both sides sorted: NumPy searches ascending keys several times faster.
    most = np.sort(slack - _subset_sums(values[:half]))
    right = np.sort(_subset_sums(values[half:]))
    count = int(np.searchsorted(right, most, side="right").sum())
    return float(count / 2 ** len(values))


def _subset_sums(values: tuple[int, ...]) -> NDArray[Any]:
    # Python integers where 64 bits might overflow: slower, never wrong.
    fits = sum(map(abs, values)) < 2**61
    sums: NDArray[Any] = np.zeros(1 << len(values), dtype=np.int64 if fits else object)
    for at, value in enumerate(values):
        done = 1 << at
        np.add(sums[:done], value, out=sums[done : 2 * done])
    return sums


def fewest_pairs(alpha: float) -> int:
    """Fewest pairs with which p can reach ``alpha``: all of them in the candidate's favour.

    With binary scores only discordant pairs count: five for .05, seven for .01.

    Args:
        alpha: Level of the test, in (0, 1].

    Returns:
        The smallest n with ``2**-n <= alpha``.
    """
    pairs = 0
    while 2.0**-pairs > alpha:
        pairs += 1
    return pairs
