"""Paired scores and verdicts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy import stats

from orchestrator.gate.evidence import Evidence, PairedScores
from orchestrator.gate.verdict import Verdict, bca_interval

score = st.none() | st.floats(0, 100)


@st.composite
def paired(draw: st.DrawFn) -> PairedScores:
    seeds = draw(st.lists(st.integers(0, 2**31 - 1), unique=True, max_size=12))
    both = st.lists(score, min_size=len(seeds), max_size=len(seeds))
    return PairedScores(seeds=seeds, champion=draw(both), candidate=draw(both))


def test_a_lost_episode_loses_the_pair_and_is_no_zero() -> None:
    scores = PairedScores(
        seeds=(1, 2, 3, 4), champion=(10.0, None, 30.0, None), candidate=(15.0, 20.0, 28.0, None)
    )
    assert scores.differences() == (5.0, -2.0)
    assert (scores.played, scores.pairs, scores.missing) == (4, 2, 2)
    assert scores.first(2).differences() == (5.0,)


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"seeds": (1, 2), "champion": (1.0,), "candidate": (1.0, 2.0)}, "do not pair up"),
        ({"seeds": (7, 7), "champion": (1.0, 1.0), "candidate": (1.0, 1.0)}, "listed twice"),
        ({"seeds": (7,), "champion": (float("nan"),), "candidate": (1.0,)}, "is not a score"),
    ],
)
def test_scores_that_do_not_pair_are_refused(fields: dict, complaint: str) -> None:
    with pytest.raises(ValidationError, match=complaint):
        PairedScores(**fields)


@settings(deadline=None)
@given(paired(), paired())
def test_evidence_survives_json(screen: PairedScores, confirm: PairedScores) -> None:
    evidence = Evidence(screen=screen, confirm=confirm)
    assert Evidence.model_validate_json(evidence.model_dump_json()) == evidence


def test_verdict_survives_json_and_cannot_be_changed() -> None:
    verdict = Verdict(
        decision="accept",
        reason="Confirmed.",
        rule="two-stage",
        stage="confirm",
        effect=8.25,
        low=2.5,
        high=13.75,
        p=2**-9,
        pairs=19,
        missing=1,
        slices=("screen", "confirm[3]"),
        episodes=50,
        tokens=123_456,
        money_usd=1.25,
        hours=0.5,
        alpha=0.01,
    )
    assert verdict.accepted
    assert Verdict.model_validate_json(verdict.model_dump_json()) == verdict
    with pytest.raises(ValidationError):
        verdict.decision = "reject"  # type: ignore[misc]


def own_bca(values: np.ndarray, level: float = 0.95) -> tuple[float, float]:
    """BCa of the mean, written from Efron 1987, equations 2.3 and 6.6."""
    rng = np.random.default_rng(99)
    means = np.sort(rng.choice(values, (100_000, len(values))).mean(axis=1))
    bias = stats.norm.ppf(np.mean(means < values.mean()))
    leave_one_out = (values.sum() - values) / (len(values) - 1)
    u = leave_one_out.mean() - leave_one_out
    acceleration = (u**3).sum() / (6 * (u**2).sum() ** 1.5)
    ends = []
    for z in stats.norm.ppf([(1 - level) / 2, (1 + level) / 2]):
        adjusted = bias + (bias + z) / (1 - acceleration * (bias + z))
        ends.append(float(np.quantile(means, stats.norm.cdf(adjusted))))
    return ends[0], ends[1]


def test_interval_agrees_with_the_formula_on_skewed_differences() -> None:
    values = np.array([0.0, 1, 1, 2, 2, 3, 3, 4, 6, 9, 15, 28])
    low, high = bca_interval(values.tolist())
    assert low is not None
    assert high is not None
    assert (low, high) == pytest.approx(own_bca(values), abs=0.35)
    # Skewed to the right, so the interval reaches further that way.
    assert high - values.mean() > 1.3 * (values.mean() - low)


def test_interval_of_what_cannot_have_one() -> None:
    assert bca_interval([]) == (None, None)
    assert bca_interval([3.0]) == (None, None)
    assert bca_interval([3.0, 3.0, 3.0]) == (3.0, 3.0)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(-22, 22), min_size=2, max_size=20))
def test_interval_is_finite_and_repeatable(whole: list[int]) -> None:
    differences = [value / 22 * 100 for value in whole]
    low, high = bca_interval(differences)
    assert low is not None
    assert high is not None
    assert min(differences) - 1e-6 <= low <= high <= max(differences) + 1e-6
    assert bca_interval(differences) == (low, high)
