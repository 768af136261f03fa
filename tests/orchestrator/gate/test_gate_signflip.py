"""The exact test against hand counts, Fisher's worked example and SciPy."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from orchestrator.gate.signflip import MAX_NONZERO, fewest_pairs, sign_flip_p

small_ints = st.lists(st.integers(-30, 30), max_size=11)
crafter_scores = st.integers(0, 22).map(lambda unlocked: unlocked / 22 * 100)


def enumerated(differences: list[int]) -> Fraction:
    """Every sign pattern, counted one by one."""
    observed = sum(differences)
    patterns = list(itertools.product((1, -1), repeat=len(differences)))
    as_good = sum(
        sum(s * abs(d) for s, d in zip(signs, differences, strict=True)) >= observed
        for signs in patterns
    )
    return Fraction(as_good, len(patterns))


def test_darwins_maize_gives_fishers_count() -> None:
    # Fisher 1935, The Design of Experiments, section 21: 863 of 32,768 arrangements reach 314.
    eighths_of_an_inch = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]
    assert sign_flip_p(eighths_of_an_inch) == 863 / 32768


@pytest.mark.parametrize(
    ("differences", "expected"),
    [
        ([], 1),
        ([0, 0, 0], 1),
        ([1], 1 / 2),
        ([-1], 1),
        ([1, 2, 3], 1 / 8),
        ([-1, 2, 3], 2 / 8),
        # {}, {-1}, {-2}, {-1, -2} and, because of the tie, {3, -1, -2}.
        ([3, -1, -2], 5 / 8),
        ([1] * 5, 1 / 32),
        # Eight of ten equal ones: (C(10,0) + C(10,1) + C(10,2)) / 1024.
        ([1] * 8 + [-1] * 2, 56 / 1024),
        # Zeros neither help nor hurt.
        ([1] * 5 + [0] * 15, 1 / 32),
    ],
)
def test_hand_counts(differences: list[int], expected: float) -> None:
    assert sign_flip_p(differences) == expected


def test_a_tie_of_twenty_seconds_is_a_tie() -> None:
    twenty_seconds = [k / 22 * 100 for k in (3, -1, -2)]
    assert sum(twenty_seconds) != 0  # floating point would decide it
    assert sign_flip_p(twenty_seconds) == 5 / 8
    assert sign_flip_p([Fraction(k * 100, 22) for k in (3, -1, -2)]) == 5 / 8


def test_a_billionth_is_within_the_slack_and_a_thousandth_is_not() -> None:
    assert sign_flip_p([3.0, -1.0, -2.0 + 1e-9]) == 5 / 8
    assert sign_flip_p([3.0, -1.0, -2.0 + 1e-3]) == 4 / 8


def test_integers_beyond_64_bits_stay_exact() -> None:
    huge = 10**30
    assert sign_flip_p([3 * huge, -huge, -2 * huge]) == 5 / 8
    assert sign_flip_p([3 * huge + 1, -huge, -2 * huge]) == 4 / 8


@settings(deadline=None)
@given(small_ints)
def test_equals_enumeration(differences: list[int]) -> None:
    assert sign_flip_p(differences) == enumerated(differences)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(crafter_scores, crafter_scores), min_size=2, max_size=9))
def test_equals_scipy_on_crafter_scores(pairs: list[tuple[float, float]]) -> None:
    differences = [new - old for old, new in pairs]
    # SciPy is given whole achievements, so that its floats are exact too.
    whole = np.array([round(value * 22 / 100) for value in differences], dtype=float)
    expected = stats.permutation_test(
        (whole,), np.sum, permutation_type="samples", alternative="greater", n_resamples=math.inf
    ).pvalue
    assert sign_flip_p(differences) == pytest.approx(expected, abs=1e-12)


@settings(deadline=None)
@given(small_ints, st.randoms(use_true_random=False), st.integers(1, 1000))
def test_order_and_unit_do_not_matter(differences: list[int], rng, factor: int) -> None:
    p = sign_flip_p(differences)
    shuffled = differences[:]
    rng.shuffle(shuffled)
    assert sign_flip_p(shuffled) == p
    assert sign_flip_p([value * factor for value in differences]) == p
    assert sign_flip_p([Fraction(value, factor) for value in differences]) == p


@settings(deadline=None)
@given(small_ints)
def test_the_two_tails_share_only_the_ties(differences: list[int]) -> None:
    both = sign_flip_p(differences) + sign_flip_p([-value for value in differences])
    assert both >= 1
    if not any(
        sum(part) == 0
        for size in range(1, len(differences) + 1)
        for part in itertools.combinations(differences, size)
    ):
        # Without ties only the observed pattern is in both tails.
        assert both == 1 + 2.0 ** -len(differences)


@settings(deadline=None)
@given(st.lists(st.integers(-30, 30), min_size=1, max_size=11), st.data())
def test_raising_a_difference_never_raises_p(differences: list[int], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(differences) - 1))
    better = differences[:]
    better[at] += data.draw(st.integers(0, 40))
    assert sign_flip_p(better) <= sign_flip_p(differences)


@settings(deadline=None)
@given(st.lists(st.integers(-30, 30), min_size=1, max_size=11), st.data())
def test_p_of_all_is_bounded_by_p_of_some(differences: list[int], data: st.DataObject) -> None:
    """The bound behind stopping a screen that is lost for certain."""
    some = data.draw(st.integers(0, len(differences)))
    bound = 2.0 ** (some - len(differences)) * sign_flip_p(differences[:some])
    assert sign_flip_p(differences) >= bound


def test_level_is_kept_exactly_for_any_sizes() -> None:
    # Over all sign patterns of given sizes, at most a share alpha has p <= alpha.
    sizes = [1, 2, 2, 3, 5, 8, 13, 13]
    ps = [
        sign_flip_p([s * d for s, d in zip(signs, sizes, strict=True)])
        for signs in itertools.product((1, -1), repeat=len(sizes))
    ]
    for alpha in (0.01, 0.05, 0.1, 0.5):
        assert sum(p <= alpha for p in ps) / len(ps) <= alpha


def test_forty_are_exact_and_more_are_refused() -> None:
    assert sign_flip_p([1] * MAX_NONZERO) == 2.0**-MAX_NONZERO
    with pytest.raises(ValueError, match="41 differences"):
        sign_flip_p([1] * (MAX_NONZERO + 1))


def test_what_is_not_a_number_is_refused() -> None:
    with pytest.raises(ValueError, match="not a finite number"):
        sign_flip_p([1.0, math.nan])


@pytest.mark.parametrize(("alpha", "pairs"), [(0.05, 5), (0.01, 7), (0.1, 4), (0.5, 1), (1, 0)])
def test_fewest_pairs(alpha: float, pairs: int) -> None:
    assert fewest_pairs(alpha) == pairs
