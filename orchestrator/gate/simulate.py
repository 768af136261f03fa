"""What a rule does in many nights whose truth is known.

It drives the production rule through the production driver and the production budget arithmetic;
only the scores are invented. A night has a fixed screen bank on which the first champion's scores
are stored, and candidates that come one after the other. `better` of them, at random places, are
truly better than the first champion by `effect`; all others equal it. An accepted candidate becomes
the champion, and its screen scores the stored ones: luck included, as in a real night.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from pydantic import BaseModel, ConfigDict

from orchestrator.gate.account import Confirmation, MemoryBudget
from orchestrator.gate.errors import BadRule
from orchestrator.gate.evidence import PairedScores
from orchestrator.gate.protocol import AcceptanceRule, Need
from orchestrator.gate.rate import Rate
from orchestrator.gate.sources import GaussianSource, ScoreSource, StageDraw
from orchestrator.gate.trial import Player, race


class SimulationResult(BaseModel):
    """What a rule did, and in which world.

    Attributes:
        rule: Name of the rule.
        nights: Nights simulated.
        candidates: Candidates in each.
        effect: True improvement of the better ones, in points of progression (percent).
        better: How many are truly better.
        proposals: Candidates of a round; they are screened together, and the best is confirmed.
        noise: Standard deviation of an episode on one seed, in points.
        shared: Standard deviation of a seed's effect on all revisions, in points.
        night_alpha: Error budget of a night.
        seed: Seed of the simulation.
        false_accept_rate: Share of nights in which a candidate was accepted that was not better
            than the champion it replaced.
        power: Share of nights in which a truly better candidate was accepted; ``None`` if there
            is none.
        episodes_per_candidate: New episodes per candidate, the champion's re-runs included.
        confirmations_per_night: Confirmations charged.
        mean_reported_effect: What a night reports to have gained: the accepted effects added up,
            averaged over all nights, in points.
        mean_true_effect: What it truly gained, in points.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    rule: str
    nights: int
    candidates: int
    effect: float
    better: int
    proposals: int
    noise: float | None
    shared: float | None
    night_alpha: float
    seed: int
    false_accept_rate: Rate
    power: Rate | None
    episodes_per_candidate: float
    confirmations_per_night: float
    mean_reported_effect: float
    mean_true_effect: float


def simulate(
    rule: AcceptanceRule,
    *,
    nights: int = 2000,
    candidates: int = 30,
    effect: float = 0.0,
    better: int = 1,
    proposals: int = 1,
    noise: float = 9.0,
    shared: float = 6.0,
    night_alpha: float = 0.05,
    seed: int = 0,
) -> SimulationResult:
    """Run nights with normal scores.

    Args:
        rule: The rule.
        nights: How many nights.
        candidates: Candidates in each.
        effect: True improvement of the better ones, in points of progression (percent).
        better: How many are truly better; none if `effect` is 0.
        proposals: Candidates that are made from one champion and race; 1 for one after the other.
        noise: Standard deviation of an episode on one seed, in points.
        shared: Standard deviation of a seed's effect on all revisions, in points.
        night_alpha: Error budget of a night.
        seed: Seed; the same seed draws the same scores for any rule with the same plan.

    Returns:
        Rates with intervals, costs, and the settings.

    Raises:
        BadRule: A setting makes no sense.
    """
    if noise < 0 or shared < 0:
        raise BadRule(f"noise {noise} and shared {shared} are standard deviations; neither is < 0.")
    result = simulate_source(
        rule,
        GaussianSource(noise, shared),
        nights=nights,
        candidates=candidates,
        effect=effect,
        better=better,
        proposals=proposals,
        night_alpha=night_alpha,
        seed=seed,
    )
    return result.model_copy(update={"noise": noise, "shared": shared})


def simulate_source(
    rule: AcceptanceRule,
    source: ScoreSource,
    *,
    nights: int,
    candidates: int,
    effect: float = 0.0,
    better: int = 1,
    proposals: int = 1,
    night_alpha: float = 0.05,
    seed: int = 0,
) -> SimulationResult:
    """Run nights with scores from any source; see `simulate`."""
    if nights < 1 or candidates < 1:
        raise BadRule(f"{nights} nights of {candidates} candidates: there must be at least one.")
    if effect < 0 or not 0 <= better <= candidates:
        raise BadRule(
            f"{better} of {candidates} candidates better by {effect} points is not possible."
        )
    if proposals < 1:
        raise BadRule(f"{proposals} proposals a round: there must be at least one.")
    better = better if effect else 0
    tally = _Tally()
    for night in range(nights):
        rng = night_rng(seed, night)
        places = set(rng.permutation(candidates)[:better].tolist())
        levels = [effect if which in places else 0.0 for which in range(candidates)]
        scores = draw_night(rule, source, rng, candidates)
        _play_night(rule, scores, levels, proposals, night_alpha, tally)
    return SimulationResult(
        rule=rule.name,
        nights=nights,
        candidates=candidates,
        effect=effect,
        better=better,
        proposals=proposals,
        noise=None,
        shared=None,
        night_alpha=night_alpha,
        seed=seed,
        false_accept_rate=Rate.of(tally.false_nights, nights),
        power=Rate.of(tally.true_nights, nights) if better else None,
        episodes_per_candidate=tally.episodes / (nights * candidates),
        confirmations_per_night=tally.confirmations / nights,
        mean_reported_effect=tally.reported / nights,
        mean_true_effect=tally.gained / nights,
    )


def night_rng(seed: int, night: int) -> np.random.Generator:
    """A night's own generator: nights can be drawn in any order or number."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(night,)))


def draw_night(
    rule: AcceptanceRule, source: ScoreSource, rng: np.random.Generator, candidates: int
) -> SimulatedNight:
    """Draw all scores of a night, as many as the rule can ask for."""
    return SimulatedNight(
        {stage.stage: source.draw(rng, candidates, stage) for stage in rule.plan()}
    )


@dataclass(slots=True)
class _Tally:
    false_nights: int = 0
    true_nights: int = 0
    episodes: int = 0
    confirmations: int = 0
    reported: float = 0.0
    gained: float = 0.0


class SimulatedNight:
    """One night whose candidates play out of drawn scores."""

    def __init__(self, draws: Mapping[str, StageDraw]) -> None:
        """Start with the first champion.

        Args:
            draws: Scores of each stage, without effects.
        """
        self._rerun = {stage: draw.rerun.tolist() for stage, draw in draws.items()}
        self._candidate = {stage: draw.candidate.tolist() for stage, draw in draws.items()}
        self._stored: dict[str, list[float]] = {
            stage: draw.stored.tolist() for stage, draw in draws.items() if stage == "screen"
        }
        self._champion_level = 0.0
        self._levels: dict[int, float] = {}
        self._played: dict[tuple[int, str], int] = {}
        self.episodes = 0

    def candidate(self, which: int, level: float) -> Player:
        """One of the night's candidates, better than the first champion by ``level`` points."""
        self._levels[which] = level
        return partial(self._play, which)

    def promote(self, which: int) -> float:
        """Make a candidate champion.

        Returns:
            By how much it is truly better than the one it replaces, in points.
        """
        level = self._levels[which]
        gain = level - self._champion_level
        self._champion_level = level
        self._stored = {
            stage: self._shifted(self._candidate[stage][which], level) for stage in self._stored
        }
        return gain

    def _play(self, which: int, need: Need, slice_index: int) -> PairedScores:
        """Hand out the scores that were drawn; see `trial.Player`."""
        fresh = need.pairs - self._played.get((which, need.stage), 0)
        self._played[which, need.stage] = need.pairs
        self.episodes += fresh * (2 if need.fresh_incumbent else 1)
        if need.fresh_incumbent:
            champion = self._shifted(self._rerun[need.stage][which], self._champion_level)
        else:
            champion = self._stored[need.stage]
        candidate = self._shifted(self._candidate[need.stage][which], self._levels[which])
        # Not validated again: two lists of finite numbers of one length, made just above.
        return PairedScores.model_construct(
            seeds=tuple(range(need.pairs)),
            champion=tuple(champion[: need.pairs]),
            candidate=tuple(candidate[: need.pairs]),
        )

    @staticmethod
    def _shifted(scores: list[float], by: float) -> list[float]:
        return [score + by for score in scores] if by else scores


def _play_night(
    rule: AcceptanceRule,
    scores: SimulatedNight,
    levels: list[float],
    proposals: int,
    night_alpha: float,
    tally: _Tally,
) -> None:
    budget = MemoryBudget(night_alpha)
    wrong = right = False
    for first in range(0, len(levels), proposals):
        together = range(first, min(first + proposals, len(levels)))
        trials = race(
            rule,
            [Confirmation("night", "simulated", str(which)) for which in together],
            budget,
            [scores.candidate(which, levels[which]) for which in together],
        )
        for which, trial in zip(together, trials, strict=True):
            tally.confirmations += trial.alpha > 0
            if trial.ruling.decision != "accept":
                continue
            gain = scores.promote(which)
            wrong, right = wrong or gain <= 0, right or gain > 0
            tally.reported += trial.ruling.effect or 0.0
            tally.gained += gain
    tally.episodes += scores.episodes
    tally.false_nights += wrong
    tally.true_nights += right
