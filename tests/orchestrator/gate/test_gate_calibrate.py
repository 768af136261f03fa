"""Calibration: a champion against itself, and what its intervals are for."""

from __future__ import annotations

import math

import numpy as np
import pytest

from orchestrator.gate.calibrate import Calibration, calibrate, on_other_seeds
from orchestrator.gate.errors import BadRule
from orchestrator.gate.rate import Rate
from orchestrator.gate.rules import StrictMeanRule, TwoStageRule
from orchestrator.gate.simulate import simulate, simulate_source
from orchestrator.gate.sources import ReplicateSource, Scores


def champion(which: int, seeds: int = 20, replicates: int = 2) -> Scores:
    """Scores of a champion with 9 points of run noise on seeds that differ by 6."""
    rng = np.random.default_rng(which)
    common = 50 + 6 * rng.standard_normal((seeds, 1))
    return common + 9 * rng.standard_normal((seeds, replicates))


@pytest.mark.slow
def test_a_noisy_agent_agrees_with_the_model_of_its_variance() -> None:
    rng = np.random.default_rng(2)
    scores = 30 + 6 * rng.standard_normal((40, 1)) + 9 * rng.standard_normal((40, 3))
    found = calibrate(TwoStageRule(), scores.tolist(), nights=200, candidates=5, trials=30)
    assert found.run_noise
    assert found.run_sd == pytest.approx(9, rel=0.25)
    model = simulate(
        TwoStageRule(), nights=200, candidates=5, noise=found.run_sd, shared=found.seed_sd
    )
    assert found.false_accept_rate.low <= model.false_accept_rate.high
    assert model.false_accept_rate.low <= found.false_accept_rate.high
    assert "differently by" in found.sentences[0]
    assert Calibration.model_validate_json(found.model_dump_json()) == found


def test_no_run_noise_is_said_and_seeds_are_resampled() -> None:
    scores = [[score] * 2 for score in (18.2, 22.7, 27.3, 31.8, 36.4, 40.9)]
    found = calibrate(TwoStageRule(), scores, nights=100, candidates=5, trials=40)
    assert not found.run_noise
    assert found.sentences[0].startswith("No run noise")
    assert found.difference_sd == pytest.approx(math.sqrt(2) * np.std([s[0] for s in scores]))
    assert found.false_accept_rate.estimate < 0.1


def test_the_papers_gate_is_found_out() -> None:
    scores = [[18.2, 27.3], [22.7, 40.9], [31.8, 13.6], [36.4, 27.3]]
    found = calibrate(StrictMeanRule(), scores, nights=200, candidates=10, trials=20)
    assert found.false_accept_rate.low > 0.5
    assert "above the 5% asked for" in found.sentences[1]


def test_lost_episodes_are_counted_and_left_out() -> None:
    scores = [[10.0, 20.0, None], [None, None, None], [30.0, 10.0, 20.0]]
    found = calibrate(TwoStageRule(), scores, nights=20, candidates=2, trials=10)
    assert (found.seeds, found.episodes, found.missing) == (2, 5, 4)


@pytest.mark.parametrize(
    "scores",
    [[], [[1.0], [2.0, 3.0]], [[1.0, 2.0]], [[1.0], [2.0]], [[None, None], [None, None]]],
)
def test_too_few_results(scores: list[list[float | None]]) -> None:
    with pytest.raises(BadRule, match="Calibration needs"):
        calibrate(TwoStageRule(), scores)


def test_a_race_is_resampled_as_a_race() -> None:
    table = champion(0)
    rule = TwoStageRule(screen_alpha=0.2, confirm_alpha=0.05)
    found = calibrate(rule, table.tolist(), nights=60, candidates=6, proposals=6, trials=5)
    race = simulate_source(rule, ReplicateSource(table), nights=60, candidates=6, proposals=6)
    assert found.proposals == 6
    assert found.false_accept_rate.estimate == race.false_accept_rate.estimate
    assert found.episodes_per_candidate == race.episodes_per_candidate


def test_the_interval_counts_seeds_and_not_nights_alone() -> None:
    # Twenty pairs tell a standard deviation to a sixth of itself, however many nights are drawn.
    found = on_other_seeds(StrictMeanRule(), champion(1), nights=1000, candidates=6, effect=5.0)
    assert found.power is not None
    nights = Rate.of(round(1000 * found.power.estimate), 1000)
    assert found.power.estimate == nights.estimate
    assert found.power.low < nights.low - 0.03
    assert found.power.high > nights.high + 0.03


def test_where_seeds_do_not_matter_the_interval_is_that_of_the_nights() -> None:
    # Every seed plays alike: whichever are drawn, the nights come from the same scores.
    table = np.tile([40.0, 44.0, 49.0, 60.0], (400, 1))
    found = on_other_seeds(StrictMeanRule(), table, nights=1000, candidates=2).false_accept_rate
    nights = Rate.of(round(1000 * found.estimate), 1000)
    assert found.low <= nights.low + 1e-9
    assert found.high >= nights.high - 1e-9
    assert found.high - found.low < 1.6 * (nights.high - nights.low)


def test_what_never_happened_may_still_happen() -> None:
    # Two seeds that are always lost, by everybody: no night accepts anything.
    found = on_other_seeds(StrictMeanRule(), np.zeros((2, 2)), nights=100, candidates=2)
    # Clopper-Pearson for none of a hundred: 1 - .025 ** (1 / 100).
    assert found.false_accept_rate.model_dump() == pytest.approx(
        {"estimate": 0, "low": 0, "high": 1 - 0.025**0.01}
    )


def test_an_agent_with_run_noise_keeps_it_whichever_seeds_are_drawn() -> None:
    # Without the one noisy seed there would be no noise, and seeds would be compared with seeds:
    # nine times out of ten a candidate on a lost seed against a champion that won.
    table = np.array([[0.0, 0.0], [100.0, 100.0], [0.0, 0.0], [100.0, 100.0], [50.0, 60.0]])
    found = on_other_seeds(StrictMeanRule(), table, nights=200, candidates=1, effect=30.0)
    assert found.power is not None
    # The noise is at most 2 * 5 * sqrt(2) points a pair: a gain of 30 is always found.
    assert found.power.estimate == 1
    assert found.power.low > 0.95


@pytest.mark.slow
def test_the_interval_holds_the_truth_where_that_of_the_nights_does_not() -> None:
    # Eight champions that are alike, each played on twenty seeds of its own.
    rule, world = StrictMeanRule(), {"candidates": 2, "effect": 5.0}
    truth = simulate(rule, nights=4000, noise=9, shared=6, **world).power
    assert truth is not None
    held = by_nights = 0
    for which in range(8):
        found = on_other_seeds(rule, champion(which), nights=1000, seed=which, **world).power
        assert found is not None
        nights = Rate.of(round(1000 * found.estimate), 1000)
        held += found.low <= truth.estimate <= found.high
        by_nights += nights.low <= truth.estimate <= nights.high
    # Of eight intervals at .95, two or more miss once in seventeen times, three in 170.
    assert held >= 7
    assert by_nights < 5
