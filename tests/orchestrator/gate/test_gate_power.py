"""Power."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from orchestrator.gate.errors import BadRule
from orchestrator.gate.power import PowerTable, power, smallest_effect
from orchestrator.gate.rules import StrictMeanRule, TwoStageRule
from orchestrator.gate.simulate import simulate
from orchestrator.gate.sources import GaussianSource


def test_strict_mean_finds_what_the_normal_distribution_says() -> None:
    # The mean of ten differences of sd 10 exceeds zero 80% of the time from z(.8) * 10 / sqrt(10).
    expected = stats.norm.ppf(0.8) * 10 / math.sqrt(10)
    found = smallest_effect(StrictMeanRule(), GaussianSource(noise=10 / math.sqrt(2)), trials=2000)
    # Standard error of the quantile: sqrt(.8 * .2 / 1000) / density, about 0.14 points.
    assert found == pytest.approx(expected, abs=0.6)


def test_table_rises_with_the_effect_and_falls_with_the_pairs() -> None:
    table = power(
        TwoStageRule(), difference_sd=12.7, effects=(12, 0, 4, 8), scales=(1.3,), trials=100
    )
    found = [row.power.estimate for row in table.effects]
    assert [row.effect for row in table.effects] == [0, 4, 8, 12]
    assert found == sorted(found)
    assert found[0] <= 0.05
    assert found[-1] >= 0.7
    configured, larger = table.sizes
    assert (configured.screen_pairs, configured.confirm_pairs) == (10, 20)
    assert (larger.screen_pairs, larger.confirm_pairs) == (13, 26)
    assert table.smallest_effect == configured.smallest_effect
    assert configured.smallest_effect is not None
    assert larger.smallest_effect is not None
    assert larger.smallest_effect < configured.smallest_effect
    assert larger.episodes_worthless > configured.episodes_worthless
    assert f"{table.smallest_effect:.1f} points or more 80% of the time" in table.sentences[0]
    assert PowerTable.model_validate_json(table.model_dump_json()) == table


def test_the_search_agrees_with_the_table() -> None:
    rule, world = TwoStageRule(), GaussianSource(noise=9)
    found = smallest_effect(rule, world, trials=200)
    assert found is not None
    table = power(
        rule, difference_sd=9 * math.sqrt(2), effects=(found - 0.2, found), scales=(), trials=200
    )
    below, at = (row.power.estimate for row in table.effects)
    assert below < 0.8 <= at


def test_power_agrees_with_the_simulated_night() -> None:
    table = power(
        TwoStageRule(), difference_sd=9 * math.sqrt(2), effects=(8,), scales=(), trials=250
    )
    night = simulate(TwoStageRule(), nights=250, candidates=1, effect=8, seed=1)
    assert night.power is not None
    tolerance = 4 * math.sqrt(2 * 0.25 / 250)
    assert table.effects[0].power.estimate == pytest.approx(night.power.estimate, abs=tolerance)


def test_stored_differences_serve_as_well() -> None:
    table = power(
        TwoStageRule(), differences=[-10.0, 2.0, 5.0, 11.0], effects=(), scales=(), trials=50
    )
    assert table.difference_sd == pytest.approx(np.std([-10, 2, 5, 11], ddof=1))
    assert table.smallest_effect is not None


def test_without_spread_the_smallest_step_is_found() -> None:
    table = power(TwoStageRule(), difference_sd=0, effects=(1,), scales=(), trials=20)
    assert table.effects[0].power.estimate == 1
    assert table.smallest_effect == pytest.approx(0, abs=0.1)


def test_what_cannot_be_found_is_said() -> None:
    table = power(TwoStageRule(), difference_sd=500, effects=(), scales=(), trials=40)
    assert table.smallest_effect is None
    assert "finds no improvement 80% of the time" in table.sentences[0]


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"difference_sd": 1.0, "differences": [1.0, 2.0]},
        {"difference_sd": -1.0},
        {"differences": [1.0]},
        {"difference_sd": 1.0, "target": 1.0},
    ],
)
def test_too_little_to_go_by(settings: dict) -> None:
    with pytest.raises(BadRule):
        power(TwoStageRule(), **settings)
