"""What the configured gate does to a champion that is put up against itself.

The part of `slowwave gate calibrate` without playing: it takes the champion's scores on new
replicates and resamples whole nights from them, in which no candidate is better. So the
false-acceptance rate that is published was measured on the user's own agent, by the rule that
judges it.

Thousands of nights are resampled from some forty episodes, so they are no thousands of
observations: another twenty seeds would have given another rate, however many nights are drawn
from them. An interval that counts nights alone would shrink to nothing around that chance. The one
reported here counts seeds: the seeds are resampled as a whole, with all their replicates, nights
are resampled from these, and what the rate varies by beyond the luck of so many nights is what it
varies by from seeds to seeds (`on_other_seeds`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from pydantic import BaseModel, ConfigDict

from orchestrator.gate.errors import BadRule
from orchestrator.gate.power import PowerTable, power_of_source
from orchestrator.gate.protocol import AcceptanceRule
from orchestrator.gate.rate import Rate
from orchestrator.gate.simulate import SimulationResult, simulate_source
from orchestrator.gate.sources import ReplicateSource, Scores

WORLDS = 20
"""Resamples of the seeds behind an interval, each with a tenth of the nights."""

_FEWEST = 50  # nights of a resample: with fewer, their luck hides what the seeds do


class Calibration(BaseModel):
    """A rule measured on an agent's own results.

    Attributes:
        rule: Name of the rule.
        seeds: Seeds with at least one result.
        episodes: Episodes behind it.
        missing: Episodes lost to the machinery.
        run_noise: Whether the agent plays the same seed differently each time.
        run_sd: Standard deviation between replicates of a seed, in points (percent).
        seed_sd: Standard deviation of the seeds' mean scores, in points.
        difference_sd: Standard deviation of a paired difference between equals, in points.
        nights: Nights resampled.
        candidates: Candidates in each, none of them better.
        proposals: Candidates of a round; the best on the screen is confirmed.
        false_accept_rate: Share of nights with an acceptance; its interval is for other seeds.
        night_alpha: What a night may spend.
        episodes_per_candidate: New episodes per (worthless) candidate.
        power: Smallest improvement found and what more pairs would buy.
        sentences: The same for a person.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    rule: str
    seeds: int
    episodes: int
    missing: int
    run_noise: bool
    run_sd: float
    seed_sd: float
    difference_sd: float
    nights: int
    candidates: int
    proposals: int
    false_accept_rate: Rate
    night_alpha: float
    episodes_per_candidate: float
    power: PowerTable
    sentences: tuple[str, ...]


def calibrate(
    rule: AcceptanceRule,
    scores: Sequence[Sequence[float | None]],
    *,
    candidates: int = 30,
    proposals: int = 1,
    nights: int = 2000,
    night_alpha: float = 0.05,
    trials: int = 400,
    seed: int = 0,
) -> Calibration:
    """Measure a rule on the champion's own replicates.

    Args:
        rule: The rule as configured.
        scores: Points of progression (percent) by seed and replicate, ``None`` where an episode is
            missing. At least two replicates on some seed, and at least two seeds.
        candidates: Candidates of a night.
        proposals: Candidates that are made from one champion and race; 1 for one after the other.
        nights: Nights to resample.
        night_alpha: What a night may spend.
        trials: Simulated candidates behind each figure of the power table.
        seed: Seed of the resampling.

    Returns:
        The calibration.

    Raises:
        BadRule: The results are too few or of unequal length.
    """
    table = _table(scores)
    source = ReplicateSource(table)
    simulated = on_other_seeds(
        rule,
        table,
        nights=nights,
        candidates=candidates,
        proposals=proposals,
        night_alpha=night_alpha,
        seed=seed,
    )
    found = power_of_source(rule, source, source.difference_sd, trials=trials, seed=seed)
    episodes = int(np.sum(~np.isnan(table)))
    return Calibration(
        rule=rule.name,
        seeds=int(np.sum(np.any(~np.isnan(table), axis=1))),
        episodes=episodes,
        missing=table.size - episodes,
        run_noise=source.run_noise,
        run_sd=source.run_sd,
        seed_sd=source.seed_sd,
        difference_sd=source.difference_sd,
        nights=nights,
        candidates=candidates,
        proposals=proposals,
        false_accept_rate=simulated.false_accept_rate,
        night_alpha=night_alpha,
        episodes_per_candidate=simulated.episodes_per_candidate,
        power=found,
        sentences=(_noise_sentence(source, table), _rate_sentence(simulated), *found.sentences),
    )


def on_other_seeds(
    rule: AcceptanceRule,
    table: Scores,
    *,
    nights: int,
    candidates: int,
    effect: float = 0.0,
    proposals: int = 1,
    night_alpha: float = 0.05,
    seed: int = 0,
) -> SimulationResult:
    """Resample nights from played scores, with intervals that hold for other seeds.

    Args:
        rule: The rule.
        table: Points of progression (percent), shape (seeds, replicates), NaN where an episode is
            missing; at least two replicates on some seed, and at least two seeds.
        nights: Nights to resample.
        candidates: Candidates of a night.
        effect: True improvement of one of them, in points; 0 for none.
        proposals: Candidates that are made from one champion and race.
        night_alpha: What a night may spend.
        seed: Seed of the resampling.

    Returns:
        What the rule did. The intervals of its rates are those of a sample of clusters, each seed
        with its replicates being one.

    Source:
        Korn & Graubard 1998, Survey Methodology 24 (2), 193-201: Clopper-Pearson with the number
        of independent trials that would vary as much.
    """

    def resample(world: Scores, count: int, its_seed: int) -> SimulationResult:
        return simulate_source(
            rule,
            ReplicateSource(world),
            nights=count,
            candidates=candidates,
            effect=effect,
            proposals=proposals,
            night_alpha=night_alpha,
            seed=its_seed,
        )

    table = table[np.any(~np.isnan(table), axis=1)]
    found = resample(table, nights, seed)
    each = max(_FEWEST, nights // 10)
    others = [resample(world, each, seed + 1 + at) for at, world in enumerate(_worlds(table, seed))]

    def interval(rate: Callable[[SimulationResult], Rate | None]) -> Rate | None:
        whole, shares = rate(found), [one.estimate for one in map(rate, others) if one]
        return _clustered(whole.estimate, nights, shares, each, len(table)) if whole else None

    return found.model_copy(
        update={
            "false_accept_rate": interval(lambda one: one.false_accept_rate),
            "power": interval(lambda one: one.power),
        }
    )


def _worlds(table: Scores, seed: int) -> Iterator[Scores]:
    """The table with its seeds resampled, each with all its replicates."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0, 0)))
    noisy = ReplicateSource(table).run_noise
    for _ in range(WORLDS):
        world = table[rng.integers(len(table), size=len(table))]
        # An agent that plays differently each time stays one, whichever seeds are drawn.
        while ReplicateSource(world).run_noise != noisy:
            world = table[rng.integers(len(table), size=len(table))]
        yield world


def _clustered(
    estimate: float, nights: int, shares: Sequence[float], each: int, seeds: int
) -> Rate:
    """The interval of a rate that varies with the seeds as well as with the nights.

    Args:
        estimate: The rate over all nights.
        nights: How many.
        shares: The same rate for each resample of the seeds.
        each: Nights behind each share.
        seeds: How many seeds there are.
    """
    from scipy import stats  # here, because it takes most of a second to import

    values = np.asarray(shares)
    luck = float(np.mean(values * (1 - values))) / (each - 1)
    # Resampled seeds vary less than fresh ones would, as a sample does around its own mean.
    between = max(0.0, float(np.var(values, ddof=1)) - luck) * seeds / (seeds - 1)
    # A rate of exactly 0 or 1 would vary by nothing: one success and one failure more.
    smooth = (estimate * nights + 1) / (nights + 2)
    binomial = smooth * (1 - smooth)
    # With few seeds the spread itself is uncertain, as in Student's t.
    wider = float(stats.t.ppf(0.975, seeds - 1) / stats.norm.ppf(0.975)) ** 2
    trials = min(float(nights), binomial / (between * wider + binomial / nights))
    hits = estimate * trials
    low = stats.beta.ppf(0.025, hits, trials - hits + 1) if hits > 0 else 0.0
    high = stats.beta.ppf(0.975, hits + 1, trials - hits) if hits < trials else 1.0
    return Rate(estimate=estimate, low=float(low), high=float(high))


def _table(scores: Sequence[Sequence[float | None]]) -> Scores:
    lengths = {len(row) for row in scores}
    if len(lengths) != 1:
        raise BadRule("Calibration needs the same number of replicates of every seed.")
    table = np.array(
        [[np.nan if score is None else score for score in row] for row in scores], dtype=float
    )
    played = np.sum(~np.isnan(table), axis=1)
    if np.sum(played > 0) < 2 or np.max(played) < 2:
        raise BadRule(
            f"Calibration needs at least two seeds and two replicates of one; there are "
            f"{int(np.sum(played > 0))} seeds with at most {int(np.max(played))}.",
            mend="Play more replicates; episodes that are stored are not played again.",
        )
    return table


def _noise_sentence(source: ReplicateSource, table: Scores) -> str:
    if source.run_noise:
        return (
            f"The same game comes out differently by {source.run_sd:.1f} points (standard "
            f"deviation over {table.shape[1]} replicates of {table.shape[0]} seeds)."
        )
    return (
        f"No run noise: all replicates of each of {table.shape[0]} seeds came out the same. What "
        "remains uncertain is other seeds, so seeds were resampled: a candidate that is no better "
        "was given the champion's scores on seeds drawn at random."
    )


def _rate_sentence(result: SimulationResult) -> str:
    rate = result.false_accept_rate
    kept = (
        "within"
        if rate.high <= result.night_alpha
        else "not shown to be within"
        if rate.low <= result.night_alpha
        else "above"
    )
    return (
        f"In {result.nights} resampled nights of {result.candidates} candidates, none of them "
        f"better, {result.rule} accepted one in {rate.estimate:.1%} of nights (95% interval for "
        f"other seeds {rate.low:.1%} to {rate.high:.1%}): {kept} the {result.night_alpha:.0%} "
        f"asked for, at {result.episodes_per_candidate:.1f} episodes a candidate."
    )
