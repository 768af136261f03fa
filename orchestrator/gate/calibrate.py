"""What the configured gate does to a champion that is put up against itself.

The part of `slowwave gate calibrate` without playing: it takes the champion's scores on new
replicates and resamples whole nights from them, in which no candidate is better. So the
false-acceptance rate that is published was measured on the user's own agent, by the rule that
judges it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pydantic import BaseModel, ConfigDict

from orchestrator.gate.errors import BadRule
from orchestrator.gate.power import PowerTable, power_of_source
from orchestrator.gate.protocol import AcceptanceRule
from orchestrator.gate.rate import Rate
from orchestrator.gate.simulate import SimulationResult, simulate_source
from orchestrator.gate.sources import ReplicateSource, Scores


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
        false_accept_rate: Share of nights with an acceptance.
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
    simulated = simulate_source(
        rule, source, nights=nights, candidates=candidates, night_alpha=night_alpha, seed=seed
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
        false_accept_rate=simulated.false_accept_rate,
        night_alpha=night_alpha,
        episodes_per_candidate=simulated.episodes_per_candidate,
        power=found,
        sentences=(_noise_sentence(source, table), _rate_sentence(simulated), *found.sentences),
    )


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
        f"better, {result.rule} accepted one in {rate.estimate:.1%} of nights (95% interval "
        f"{rate.low:.1%} to {rate.high:.1%}): {kept} the {result.night_alpha:.0%} asked for, at "
        f"{result.episodes_per_candidate:.1f} episodes a candidate."
    )
