"""What the configured rule can find, and what more pairs would buy.

Power is found by running the production rule on simulated candidates. The same draws serve every
effect, and adding points to a candidate can only lower a sign-flip p (fewer subsets keep a
non-positive sum), so each simulated candidate is accepted from some effect on: the share accepted
rises with the effect without jitter, and the smallest effect found 80% of the time is a quantile
that bisection finds exactly for these draws. (The mean of `strict-mean` rises likewise.)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from orchestrator.gate.account import Confirmation, MemoryBudget
from orchestrator.gate.errors import BadRule
from orchestrator.gate.protocol import AcceptanceRule
from orchestrator.gate.rate import Rate
from orchestrator.gate.simulate import draw_night, night_rng
from orchestrator.gate.sources import DifferenceSource, GaussianSource, ScoreSource
from orchestrator.gate.trial import judge

EFFECTS = (2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 16.0, 20.0)
"""Effects tabulated by default, in points of progression (percent)."""

SCALES = (1.25, 1.5)
"""Larger numbers of pairs tabulated by default, as multiples of the configured ones."""

_LARGEST_EFFECT = 100.0
_PRECISION = 0.1
_MOST = 32  # pairs; beyond it a test takes tens of milliseconds, and a search thousands of tests


class PowerRow(BaseModel):
    """How often an effect is found.

    Attributes:
        effect: True improvement in points of progression (percent).
        power: Share of candidates with that effect that are accepted.
        episodes: New episodes per such candidate.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    effect: float
    power: Rate
    episodes: float


class SizeRow(BaseModel):
    """What a number of pairs buys.

    Attributes:
        screen_pairs: Pairs of the screen.
        confirm_pairs: Pairs of the confirmation; 0 for a rule without one.
        smallest_effect: Smallest effect found with the target power, in points (percent), to a
            tenth; ``None`` if none up to 100 is.
        episodes_worthless: New episodes per candidate that is no better.
        episodes_found: New episodes per candidate with the smallest effect.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    screen_pairs: int
    confirm_pairs: int
    smallest_effect: float | None
    episodes_worthless: float
    episodes_found: float | None


class PowerTable(BaseModel):
    """Power of a rule in one world.

    Attributes:
        rule: Name of the rule.
        difference_sd: Standard deviation of a paired difference, in points (percent).
        target: Power that counts as found.
        trials: Simulated candidates behind each figure.
        seed: Seed of the simulation.
        smallest_effect: Smallest effect found with the target power at the configured size.
        effects: Power by effect.
        sizes: What more pairs would buy, the configured size first.
        sentences: The same for a person.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    rule: str
    difference_sd: float
    target: float
    trials: int
    seed: int
    smallest_effect: float | None
    effects: tuple[PowerRow, ...]
    sizes: tuple[SizeRow, ...]
    sentences: tuple[str, ...]


def power(
    rule: AcceptanceRule,
    *,
    difference_sd: float | None = None,
    differences: Sequence[float] | None = None,
    effects: Iterable[float] = EFFECTS,
    scales: Iterable[float] = SCALES,
    target: float = 0.8,
    trials: int = 400,
    seed: int = 0,
) -> PowerTable:
    """Power of a rule from the variance of paired differences, without playing.

    Args:
        rule: The rule as configured.
        difference_sd: Standard deviation of a paired difference in points (percent): normal
            differences are drawn.
        differences: Paired differences that were played; they are resampled instead.
        effects: Effects to tabulate, in points.
        scales: Multiples of the configured pairs to tabulate beside them; those that would take a
            stage above 32 pairs are left out.
        target: Power that counts as found.
        trials: Simulated candidates behind each figure.
        seed: Seed of the simulation.

    Returns:
        The table.

    Raises:
        BadRule: Neither or both of the two sources are given, or there is too little to go by.
    """
    if (difference_sd is None) == (differences is None):
        raise BadRule("Power follows from a standard deviation or from differences: give one.")
    source: ScoreSource
    if differences is not None:
        if len(differences) < 2:
            raise BadRule(
                f"{len(differences)} paired results are too few to tell their spread.",
                mend="Judge a candidate first, run `slowwave gate calibrate`, or give the "
                "standard deviation.",
            )
        resampled = DifferenceSource(differences)
        source, spread = resampled, resampled.sd
    else:
        assert difference_sd is not None
        if difference_sd < 0:
            raise BadRule(f"A standard deviation of {difference_sd} is not possible.")
        source, spread = GaussianSource(noise=difference_sd / 2**0.5), difference_sd
    return power_of_source(
        rule,
        source,
        spread,
        effects=effects,
        scales=scales,
        target=target,
        trials=trials,
        seed=seed,
    )


def power_of_source(
    rule: AcceptanceRule,
    source: ScoreSource,
    difference_sd: float,
    *,
    effects: Iterable[float] = EFFECTS,
    scales: Iterable[float] = SCALES,
    target: float = 0.8,
    trials: int = 400,
    seed: int = 0,
) -> PowerTable:
    """Power of a rule with scores from any source; see `power`."""
    if not 0 < target < 1 or trials < 1:
        raise BadRule(f"A power of {target} on {trials} trials cannot be sought.")
    rows = _effect_rows(rule, source, sorted(set(effects)), trials, seed)
    larger = {
        _sizes(scaled): scaled
        for scaled in (rule.scaled(scale) for scale in scales if max(_sizes(rule)) * scale <= _MOST)
    }
    larger.pop(_sizes(rule), None)
    sizes = tuple(
        _size_row(sized, source, target, trials, seed) for sized in (rule, *larger.values())
    )
    smallest = sizes[0].smallest_effect
    return PowerTable(
        rule=rule.name,
        difference_sd=difference_sd,
        target=target,
        trials=trials,
        seed=seed,
        smallest_effect=smallest,
        effects=rows,
        sizes=sizes,
        sentences=_sentences(rule, difference_sd, target, smallest, sizes),
    )


def smallest_effect(
    rule: AcceptanceRule,
    source: ScoreSource,
    *,
    target: float = 0.8,
    trials: int = 400,
    seed: int = 0,
) -> float | None:
    """Smallest effect that is accepted with the target power.

    Args:
        rule: The rule.
        source: World without effects.
        target: Power that counts as found.
        trials: Simulated candidates.
        seed: Seed of the simulation.

    Returns:
        The effect in points (percent), to a tenth, rounded up; ``None`` if none up to 100 is.
    """
    # Candidates accepted at `low` stay accepted above it, those rejected at `high` below it; only
    # the rest, ever fewer, has to be tried again.
    low, high = 0.0, _LARGEST_EFFECT
    undecided = [trial for trial in range(trials) if _try(rule, source, seed, trial, high).accepted]
    if len(undecided) < target * trials:
        return None
    surely = 0
    while high - low > _PRECISION / 2:
        middle = (low + high) / 2
        accepted = [
            trial for trial in undecided if _try(rule, source, seed, trial, middle).accepted
        ]
        if surely + len(accepted) >= target * trials:
            high, undecided = middle, accepted
        else:
            low, surely = middle, surely + len(accepted)
            kept = set(accepted)
            undecided = [trial for trial in undecided if trial not in kept]
    return math.ceil(high * 10 - 1e-9) / 10


@dataclass(frozen=True, slots=True)
class _Outcome:
    accepted: bool
    episodes: int


def _try(
    rule: AcceptanceRule, source: ScoreSource, seed: int, trial: int, effect: float
) -> _Outcome:
    """One candidate, alone in its night."""
    night = draw_night(rule, source, night_rng(seed, trial), 1)
    confirmation = Confirmation("power", "simulated", "0")
    ruling = judge(rule, confirmation, MemoryBudget(1.0), night.candidate(0, effect)).ruling
    return _Outcome(ruling.decision == "accept", night.episodes)


def _effect_rows(
    rule: AcceptanceRule, source: ScoreSource, effects: Sequence[float], trials: int, seed: int
) -> tuple[PowerRow, ...]:
    outcomes: list[_Outcome | None] = [None] * trials
    rows = []
    for effect in effects:
        # Once accepted, accepted with every larger effect, after the same episodes.
        outcomes = [
            before if before and before.accepted else _try(rule, source, seed, trial, effect)
            for trial, before in enumerate(outcomes)
        ]
        tried = [outcome for outcome in outcomes if outcome]
        found = Rate.of(sum(outcome.accepted for outcome in tried), trials)
        rows.append(PowerRow(effect=effect, power=found, episodes=_mean_episodes(tried)))
    return tuple(rows)


def _mean_episodes(outcomes: Sequence[_Outcome]) -> float:
    return sum(outcome.episodes for outcome in outcomes) / len(outcomes)


def _sizes(rule: AcceptanceRule) -> tuple[int, int]:
    pairs = {stage.stage: stage.pairs for stage in rule.plan()}
    return pairs.get("screen", 0), pairs.get("confirm", 0)


def _size_row(
    rule: AcceptanceRule, source: ScoreSource, target: float, trials: int, seed: int
) -> SizeRow:
    smallest = smallest_effect(rule, source, target=target, trials=trials, seed=seed)
    worthless, found = (
        None
        if effect is None
        else _mean_episodes([_try(rule, source, seed, trial, effect) for trial in range(trials)])
        for effect in (0.0, smallest)
    )
    screen_pairs, confirm_pairs = _sizes(rule)
    return SizeRow(
        screen_pairs=screen_pairs,
        confirm_pairs=confirm_pairs,
        smallest_effect=smallest,
        episodes_worthless=worthless or 0.0,
        episodes_found=found,
    )


def _sentences(
    rule: AcceptanceRule,
    difference_sd: float,
    target: float,
    smallest: float | None,
    sizes: Sequence[SizeRow],
) -> tuple[str, ...]:
    world = f"With paired differences of standard deviation {difference_sd:.1f} points"
    if smallest is None:
        first = f"{world}, {rule.name} finds no improvement {target:.0%} of the time."
    else:
        first = (
            f"{world}, {rule.name} finds an improvement of {smallest:.1f} points or more "
            f"{target:.0%} of the time."
        )
    said = [first]
    for row in sizes[1:]:
        if row.smallest_effect is not None:
            stages = f"{row.screen_pairs} screening"
            if row.confirm_pairs:
                stages += f" and {row.confirm_pairs} confirming"
            said.append(
                f"With {stages} pairs it would be {row.smallest_effect:.1f} points, at "
                f"{row.episodes_worthless:.1f} episodes for a worthless candidate instead of "
                f"{sizes[0].episodes_worthless:.1f}."
            )
    return tuple(said)
