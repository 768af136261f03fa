"""Averages over episodes: mean, standard error, behaviour metrics."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from orchestrator.episodes.spec import EpisodeResult, MissingEpisode
from orchestrator.gate.signflip import MAX_NONZERO, sign_flip_p
from orchestrator.gate.verdict import bca_interval


@dataclass(frozen=True, slots=True)
class Summary:
    """What a set of episodes came to.

    Attributes:
        mean: Mean progression in [0, 1]; ``None`` without episodes.
        stderr: Its standard error; ``None`` below two episodes.
        missing: Episodes the machinery lost.
        metrics: Mean of each behaviour metric over the episodes in which it is defined.
    """

    mean: float | None
    stderr: float | None
    missing: int
    metrics: dict[str, float | None]


@dataclass(frozen=True, slots=True)
class Difference:
    """One set of episodes against another on the same seeds, in points of progression.

    Attributes:
        effect: Mean difference; ``None`` without a pair.
        low: Lower end of its 95% BCa interval; ``None`` where there is none.
        high: Upper end.
        p: Two-sided p-value of the sign-flip test.
        pairs: Seeds that were played whole by both.
    """

    effect: float | None
    low: float | None
    high: float | None
    p: float | None
    pairs: int

    def as_record(self) -> dict[str, float | int | None]:
        """For ``--json``."""
        return asdict(self)


def summarize(outcomes: Sequence[EpisodeResult | MissingEpisode], environments: int = 1) -> Summary:
    """Average what was played; missing episodes are counted, never scored.

    Args:
        outcomes: What was played.
        environments: On how many environments each seed was to be played; see `scores_by_seed`.
    """
    played = [one for one in outcomes if isinstance(one, EpisodeResult)]
    by_seed = scores_by_seed(outcomes, environments).values()
    scores = [score / 100 for score in by_seed if score is not None]
    count = len(scores)
    mean = math.fsum(scores) / count if count else None
    stderr = None
    if mean is not None and count > 1:
        variance = math.fsum((score - mean) ** 2 for score in scores) / (count - 1)
        stderr = math.sqrt(variance / count)
    return Summary(mean, stderr, len(outcomes) - len(played), mean_metrics(played))


def compare(old: Mapping[int, float | None], new: Mapping[int, float | None]) -> Difference:
    """Scores of one scaffold minus those of another, paired by seed.

    Args:
        old: Percent by seed, as `scores_by_seed` gives them, of the one to compare with.
        new: The same of the other.

    Returns:
        The difference. Its p-value is exact where at most 40 pairs differ; beyond that it comes of
        9,999 random flips, always the same.
    """
    both = ((old.get(seed), score) for seed, score in new.items())
    found = [after - before for before, after in both if before is not None and after is not None]
    if not found:
        return Difference(None, None, None, None, 0)
    interval = bca_interval(found)
    p = _two_sided_p(found) if len(found) > 1 else None
    return Difference(math.fsum(found) / len(found), interval.low, interval.high, p, len(found))


def _two_sided_p(differences: Sequence[float]) -> float:
    if sum(difference != 0 for difference in differences) <= MAX_NONZERO:
        tails = (sign_flip_p(differences), sign_flip_p([-one for one in differences]))
        return min(1.0, 2 * min(tails))
    from scipy.stats import permutation_test  # here, because it takes most of a second to import

    test = permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=9_999, rng=0
    )
    return float(test.pvalue)


def scores_by_seed(
    outcomes: Iterable[EpisodeResult | MissingEpisode], environments: int = 1
) -> dict[int, float | None]:
    """One score per seed, in the order in which the seeds come.

    A suite plays every seed on each of its environments; the seed's score is their mean, so that
    pairs stay one per seed and independent.

    Args:
        outcomes: What was played.
        environments: On how many environments each seed was to be played.

    Returns:
        Percent of progression; ``None`` for a seed of which an episode is missing.
    """
    found: dict[int, list[float]] = {}
    for one in outcomes:
        scores = found.setdefault(one.seed, [])
        if isinstance(one, EpisodeResult):
            scores.append(100 * one.progression)
    return {
        seed: math.fsum(scores) / environments if len(scores) == environments else None
        for seed, scores in found.items()
    }


def means_by_environment(
    outcomes: Iterable[EpisodeResult | MissingEpisode],
) -> dict[str, float | None]:
    """Mean percent of progression of each environment; ``None`` for one without any episode."""
    found: dict[str, list[float]] = {}
    for one in outcomes:
        scores = found.setdefault(one.environment, [])
        if isinstance(one, EpisodeResult):
            scores.append(100 * one.progression)
    return {
        name: math.fsum(scores) / len(scores) if scores else None for name, scores in found.items()
    }


def mean_metrics(episodes: Sequence[EpisodeResult]) -> dict[str, float | None]:
    """Mean of each metric over the episodes in which it is defined; ``None`` where it never is."""
    means: dict[str, float | None] = {}
    for name in dict.fromkeys(name for episode in episodes for name in episode.metrics):
        values = [episode.metrics.get(name) for episode in episodes]
        present = [value for value in values if value is not None]
        means[name] = math.fsum(present) / len(present) if present else None
    return means
