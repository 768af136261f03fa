"""Which revision lost it? Binary search over a lineage, with paired tests that say how sure it is.

Every claim "a is better than b" is an exact one-sided sign-flip test on pairs of the same seeds,
in looks of a growing number of pairs. At every moment the search knows, by such a test, that the
last revision of its range is worse than the first; when these two are neighbors, the claim about
them was tested itself. Where the tests cannot tell, it stops with a range.

Why an answer, revision or range, is wrong with at most ``alpha``: the midpoint of a range does not
depend on the data, so each revision between the ends can be the midpoint of one range only. Where
the first revision of a range is truly better than the last, at most one of the two claims about its
midpoint is false (if neither half lost anything, the whole did not). Going wrong therefore takes
one of ``revisions - 2`` false claims that are fixed beforehand, at one of the looks; or, if nothing
was lost between the ends, that one false claim. Boole's inequality over these, each at the same
level. To split over the midpoints of one path only would not do: which path is taken depends on
the data. The bound is over all searches, not over those that happened to end in one way.

"Wrong" is as the test means it: a difference as likely to come out with the other sign. Revisions
of equal mean whose differences are lopsided (a little better on most seeds, much worse on a few)
can be told apart although neither lost anything on average.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from orchestrator.gate.signflip import MAX_NONZERO, fewest_pairs, sign_flip_p
from orchestrator.gate.verdict import Interval, bca_interval

LOOKS = (0.25, 0.5, 1.0)
"""Shares of the pairs after which the tests are made."""

Measure = Callable[[int, int], Sequence[float | None]]
"""From a revision's place in the lineage and a number of seeds to its figure on each of them,
higher being better; ``None`` where a game is missing."""


@dataclass(frozen=True, slots=True)
class Tested:
    """One comparison of two revisions.

    Attributes:
        better: Place of the one that was to be better.
        worse: Place of the other.
        differences: The better minus the worse for each complete pair.
        p: Exact one-sided p; ``None`` without pairs.
        shown: The test says that it is better.
    """

    better: int
    worse: int
    differences: tuple[float, ...]
    p: float | None
    shown: bool

    @property
    def pairs(self) -> int:
        """Complete pairs."""
        return len(self.differences)

    @property
    def effect(self) -> float | None:
        """Mean difference; ``None`` without pairs."""
        return math.fsum(self.differences) / self.pairs if self.differences else None

    @property
    def interval(self) -> Interval:
        """Its 95% BCa interval."""
        return bca_interval(self.differences)


@dataclass(frozen=True, slots=True)
class Found:
    """What the search came to.

    Attributes:
        outcome: ``found``: `last` is worse than the one before it. ``range``: something was lost
            after `first` and not after `last`. ``nothing``: no loss could be shown at all.
        first: Place of the last revision known to be better.
        last: Place of the first revision known to be worse.
        tests: Every comparison, in order, the last look of each.
        level: Level of a single test.
        in_steps: Something was lost elsewhere as well.
    """

    outcome: Literal["found", "range", "nothing"]
    first: int
    last: int
    tests: tuple[Tested, ...]
    level: float
    in_steps: bool


def bisect(revisions: int, measure: Measure, *, pairs: int = 40, alpha: float = 0.05) -> Found:
    """Find the first revision that is worse than the one before it.

    Args:
        revisions: How many there are, the good one first and the bad one last; at least 2.
        measure: Gives figures; asked for growing numbers of seeds.
        pairs: Seeds at most, up to 40.
        alpha: Probability of naming a wrong revision.

    Returns:
        The revision, a range, or nothing.
    """
    search = _Search(revisions, measure, pairs, alpha)
    return search.run()


def pairs_needed(revisions: int, alpha: float) -> int:
    """Fewest pairs with which a search over so many revisions can name one."""
    return fewest_pairs(alpha / max(1, revisions - 2))


def _looks(revisions: int, pairs: int, alpha: float) -> tuple[list[int], float]:
    """Pairs at each look, and the level of a test: looks that could show nothing are left out."""
    looks = sorted({round(pairs * share) for share in LOOKS})
    while True:
        level = alpha / (len(looks) * max(1, revisions - 2))
        if looks[0] >= fewest_pairs(level) or len(looks) == 1:
            return looks, level
        del looks[0]


class _Search:
    def __init__(self, revisions: int, measure: Measure, pairs: int, alpha: float) -> None:
        if revisions < 2 or not 2 <= pairs <= MAX_NONZERO:
            raise ValueError(f"{revisions} revisions and {pairs} pairs cannot be searched")
        self._measure = measure
        self._looks, self.level = _looks(revisions, pairs, alpha)
        self._revisions = revisions
        self._tests: list[Tested] = []
        self._in_steps = False

    def run(self) -> Found:
        first, last = 0, self._revisions - 1
        if not self._compare([(first, last)])[0].shown:
            return self._found("nothing", first, last)
        while last - first > 1:
            middle = (first + last) // 2
            before, after = self._compare([(first, middle), (middle, last)])
            if not before.shown and not after.shown:
                return self._found("range", first, last)
            if before.shown and after.shown:
                self._in_steps = True
                earlier = (before.effect or 0.0) >= (after.effect or 0.0)
            else:
                earlier = before.shown
            first, last = (first, middle) if earlier else (middle, last)
        return self._found("found", first, last)

    def _compare(self, claims: list[tuple[int, int]]) -> list[Tested]:
        """Test claims ``(better, worse)`` on the same seeds until one is shown, or none can be."""
        tested: list[Tested] = []
        for pairs in self._looks:
            figures = {place: self._measure(place, pairs) for claim in claims for place in claim}
            tested = [self._test(better, worse, figures) for better, worse in claims]
            if any(one.shown for one in tested):
                break
        self._tests += tested
        return tested

    def _test(self, better: int, worse: int, figures: dict[int, Sequence[float | None]]) -> Tested:
        both = zip(figures[better], figures[worse], strict=True)
        found = tuple(high - low for high, low in both if high is not None and low is not None)
        p = sign_flip_p(found) if found else None
        return Tested(better, worse, found, p, p is not None and p <= self.level)

    def _found(self, outcome: Literal["found", "range", "nothing"], first: int, last: int) -> Found:
        return Found(outcome, first, last, tuple(self._tests), self.level, self._in_steps)
