"""The simulation: its world, its accounts, and the table of the design."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import pytest

from orchestrator.gate.errors import BadRule
from orchestrator.gate.evidence import Evidence
from orchestrator.gate.protocol import Need, Ruling, StagePlan
from orchestrator.gate.rate import Rate
from orchestrator.gate.rules import StrictMeanRule, TwoStageRule
from orchestrator.gate.signflip import sign_flip_p
from orchestrator.gate.simulate import simulate, simulate_source
from orchestrator.gate.sources import DifferenceSource, GaussianSource, ReplicateSource

SCREEN = StagePlan("screen", 10, False, 0.1, 0.0)
CONFIRM = StagePlan("confirm", 20, True, 0.01, 0.01)


def binomial_tolerance(rate: float, trials: int) -> float:
    """Four standard errors."""
    return 4 * math.sqrt(rate * (1 - rate) / trials)


@dataclass(frozen=True)
class OneStage:
    """A rule of the design's table that decides on the screen alone."""

    test: str
    fresh: bool = False
    pairs: int = 10
    min_share: float = 0.9
    name: str = "one-stage"

    def plan(self) -> tuple[StagePlan, ...]:
        return (StagePlan("screen", self.pairs, self.fresh, None, 0.0),)

    def scaled(self, factor: float) -> Self:
        return replace(self, pairs=round(self.pairs * factor))

    def next(self, evidence: Evidence) -> Need | Ruling:
        scores = evidence.screen
        if scores.played < self.pairs:
            return Need("screen", self.pairs, self.fresh)
        differences = np.array(scores.differences())
        if self.test == "standard error":
            better = differences.mean() > differences.std(ddof=1) / math.sqrt(self.pairs)
        else:
            better = sign_flip_p(differences.tolist()) <= 0.05
        effect = float(differences.mean())
        return Ruling("accept" if better else "reject", "", "screen", effect, None, self.pairs, 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule", "chance", "reported"),
    [
        (StrictMeanRule(), 0.96, 5.3),
        (OneStage("standard error"), 0.73, 4.5),
        (OneStage("sign-flip"), 0.40, 3.0),
        (OneStage("sign-flip", fresh=True), 0.79, None),
        (TwoStageRule(futility_pairs=0), 0.035, 0.0),
    ],
)
def test_table_of_the_design(rule, chance: float, reported: float | None) -> None:
    """Thirty worthless candidates, noise 9, shared 6; `shared/design/gate.md`.

    Both tables are simulations, so the tolerance covers the error of theirs as well. The reported
    improvement of the row that re-runs its incumbent is not comparable: there the accepted effects
    do not add up to last score minus first.
    """
    nights = 500
    result = simulate(
        rule, nights=nights, candidates=30, effect=0, noise=9, shared=6, night_alpha=1
    )
    found = result.false_accept_rate.estimate
    assert found == pytest.approx(chance, abs=math.sqrt(2) * binomial_tolerance(chance, nights))
    if reported is not None:
        assert result.mean_reported_effect == pytest.approx(reported, abs=0.8)


@pytest.mark.slow
def test_the_promise_is_kept_and_the_papers_gate_breaks_it() -> None:
    kept = simulate(TwoStageRule(), nights=400)
    assert kept.false_accept_rate.high <= 0.05
    assert kept.confirmations_per_night <= 5
    broken = simulate(StrictMeanRule(), nights=400)
    assert broken.false_accept_rate.low > 0.90
    assert broken.mean_true_effect == 0


@pytest.mark.slow
def test_power_of_the_design() -> None:
    # "finds a true +8-point improvement 44% of the time, +12 points 88%", before the futility look.
    for effect, power in ((8, 0.44), (12, 0.88)):
        result = simulate(TwoStageRule(futility_pairs=0), nights=1200, candidates=1, effect=effect)
        assert result.power is not None
        assert result.power.estimate == pytest.approx(power, abs=0.05)


def test_episodes_of_the_design() -> None:
    # Ten to screen and, for about a tenth, twice twenty to confirm: about 14.
    patient = simulate(TwoStageRule(futility_pairs=0), nights=1500, candidates=1)
    expected = 10 + 40 * 102 / 1024
    assert patient.episodes_per_candidate == pytest.approx(
        expected, abs=40 * binomial_tolerance(0.1, 1500)
    )
    # Half of the worthless are stopped after five.
    looked = simulate(TwoStageRule(), nights=1500, candidates=1)
    saved = patient.episodes_per_candidate - looked.episodes_per_candidate
    assert saved == pytest.approx(2.5, abs=5 * binomial_tolerance(0.5, 1500) + 0.3)
    assert simulate(StrictMeanRule(), nights=3, candidates=4).episodes_per_candidate == 10


def test_false_acceptance_of_the_papers_gate_has_a_closed_form() -> None:
    # The night is clean only if the first champion's mean is the highest of 1 + 5 equals: 1/6.
    result = simulate(StrictMeanRule(), nights=1500, candidates=5)
    assert result.false_accept_rate.estimate == pytest.approx(
        5 / 6, abs=binomial_tolerance(5 / 6, 1500)
    )


def test_without_noise_the_truth_is_found_and_told() -> None:
    result = simulate(TwoStageRule(), nights=20, candidates=6, effect=4, better=2, noise=0)
    # Of two equally good ones the first is accepted, the second is then no better.
    assert result.power == Rate.of(20, 20)
    assert result.false_accept_rate == Rate.of(0, 20)
    assert result.mean_true_effect == pytest.approx(4)
    assert result.mean_reported_effect == pytest.approx(4)
    # Both sides of one confirmation, ten screening pairs for two, and five for the rest, which
    # tie before the improvement and lose after it; the second better one ties and stops too.
    assert result.episodes_per_candidate == pytest.approx((10 + 40 + 5 * 5) / 6)


def test_after_a_true_improvement_the_old_level_is_worse() -> None:
    # Strict mean without noise accepts exactly the better one, whatever comes after it.
    result = simulate(StrictMeanRule(), nights=30, candidates=5, effect=1, better=1, noise=0)
    assert result.mean_reported_effect == pytest.approx(1)
    assert result.false_accept_rate.estimate == 0


def test_a_simulation_repeats_and_depends_on_its_seed() -> None:
    first = simulate(TwoStageRule(), nights=40, candidates=5, effect=8, seed=3)
    assert simulate(TwoStageRule(), nights=40, candidates=5, effect=8, seed=3) == first
    assert simulate(TwoStageRule(), nights=40, candidates=5, effect=8, seed=4) != first


def test_no_effect_has_no_power() -> None:
    result = simulate(TwoStageRule(), nights=5, candidates=2, effect=0, better=2)
    assert (result.power, result.better) == (None, 0)
    assert type(result).model_validate_json(result.model_dump_json()) == result


@pytest.mark.parametrize(
    "settings",
    [{"nights": 0}, {"candidates": 0}, {"better": 9}, {"effect": -1}, {"noise": -1}],
)
def test_settings_that_make_no_sense(settings: dict[str, float]) -> None:
    with pytest.raises(BadRule):
        simulate(TwoStageRule(), **{"nights": 2, "candidates": 2, **settings})  # type: ignore[arg-type]


def test_rate_has_the_exact_interval() -> None:
    # Clopper-Pearson of 0 in 20: 1 - .025**(1/20); of 5 in 10: from the tables, .1871 to .8129.
    assert Rate.of(0, 20).high == pytest.approx(1 - 0.025 ** (1 / 20))
    assert (Rate.of(5, 10).low, Rate.of(5, 10).high) == pytest.approx((0.1871, 0.8129), abs=1e-4)


class TestSources:
    def test_normal_scores_have_the_stated_spread(self) -> None:
        rng = np.random.default_rng(1)
        draw = GaussianSource(noise=9, shared=6, base=30).draw(rng, 20_000, CONFIRM)
        assert draw.candidate.mean() == pytest.approx(30, abs=0.2)
        assert draw.candidate.std() == pytest.approx(math.hypot(9, 6), rel=0.01)
        assert (draw.candidate - draw.rerun).std() == pytest.approx(9 * math.sqrt(2), rel=0.01)

    def test_screen_seeds_are_shared_by_the_night(self) -> None:
        draw = GaussianSource(noise=0, shared=6).draw(np.random.default_rng(1), 7, SCREEN)
        assert np.all(draw.candidate == draw.stored)
        assert np.all(draw.rerun == draw.stored)

    def test_confirm_seeds_are_not(self) -> None:
        draw = GaussianSource(noise=0, shared=6).draw(np.random.default_rng(1), 7, CONFIRM)
        assert np.all(draw.candidate == draw.rerun)
        assert len(np.unique(draw.candidate)) == 7 * 20

    def test_played_differences_are_centred_and_keep_their_spread(self) -> None:
        played = [4.0, 10.0, 7.0]
        source = DifferenceSource(played)
        draw = source.draw(np.random.default_rng(1), 20_000, CONFIRM)
        differences = draw.candidate - draw.rerun
        assert source.sd == pytest.approx(3)
        assert differences.mean() == pytest.approx(0, abs=0.05)
        assert differences.std() == pytest.approx(3, rel=0.01)

    def test_replicates_give_back_the_variance_they_came_from(self) -> None:
        rng = np.random.default_rng(5)
        scores = 30 + 6 * rng.standard_normal((400, 1)) + 9 * rng.standard_normal((400, 3))
        scores[::7, 0] = np.nan
        source = ReplicateSource(scores)
        assert source.run_noise
        assert source.run_sd == pytest.approx(9, rel=0.06)
        draw = source.draw(rng, 2000, CONFIRM)
        assert (draw.candidate - draw.rerun).std() == pytest.approx(9 * math.sqrt(2), rel=0.06)

    def test_an_agent_without_run_noise_differs_by_seed(self) -> None:
        scores = np.repeat(np.array([[10.0], [20.0], [40.0]]), 2, axis=1)
        source = ReplicateSource(scores)
        assert not source.run_noise
        assert source.run_sd == 0
        # Two independent draws of {10, 20, 40}: sqrt(2) times their standard deviation.
        assert source.difference_sd == pytest.approx(math.sqrt(2) * np.std([10, 20, 40]))
        draw = source.draw(np.random.default_rng(1), 5000, SCREEN)
        assert np.all(draw.rerun == draw.stored)
        assert set(np.unique(draw.candidate)) == {10.0, 20.0, 40.0}
        assert draw.candidate.mean() == pytest.approx(70 / 3, abs=0.3)

    def test_too_little_to_resample(self) -> None:
        with pytest.raises(ValueError, match="two paired differences"):
            DifferenceSource([1.0])
        with pytest.raises(ValueError, match="two seeds"):
            ReplicateSource(np.array([[1.0, 2.0], [np.nan, np.nan]]))


def test_any_source_drives_the_same_nights() -> None:
    model = simulate(TwoStageRule(), nights=20, candidates=4)
    same = simulate_source(TwoStageRule(), GaussianSource(9, 6), nights=20, candidates=4)
    assert same == model.model_copy(update={"noise": None, "shared": None})
