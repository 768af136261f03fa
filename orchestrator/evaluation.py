"""Averages over episodes: mean, standard error, behaviour metrics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.episodes.spec import EpisodeResult, MissingEpisode


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


def summarize(outcomes: Sequence[EpisodeResult | MissingEpisode]) -> Summary:
    """Average what was played; missing episodes are counted, never scored."""
    played = [one for one in outcomes if isinstance(one, EpisodeResult)]
    scores = [one.progression for one in played]
    count = len(scores)
    mean = math.fsum(scores) / count if count else None
    stderr = None
    if mean is not None and count > 1:
        variance = math.fsum((score - mean) ** 2 for score in scores) / (count - 1)
        stderr = math.sqrt(variance / count)
    return Summary(mean, stderr, len(outcomes) - count, mean_metrics(played))


def mean_metrics(episodes: Sequence[EpisodeResult]) -> dict[str, float | None]:
    """Mean of each metric over the episodes in which it is defined; ``None`` where it never is."""
    means: dict[str, float | None] = {}
    for name in dict.fromkeys(name for episode in episodes for name in episode.metrics):
        values = [episode.metrics.get(name) for episode in episodes]
        present = [value for value in values if value is not None]
        means[name] = math.fsum(present) / len(present) if present else None
    return means
