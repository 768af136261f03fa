"""Where a simulated night takes its scores from: a model, or results that were really played.

A source draws the *null* world, in which every candidate is as good as the champion; `simulate`
adds the true effects. All scores are points of progression (percent).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from orchestrator.gate.protocol import StagePlan

Scores = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class StageDraw:
    """Scores of one stage for all candidates of a night, without effects.

    Attributes:
        stored: The champion's stored scores on the stage's fixed seeds, shape (pairs,); unused
            where the champion is played again.
        rerun: The champion played again for each candidate, shape (candidates, pairs).
        candidate: Each candidate, shape (candidates, pairs).
    """

    stored: Scores
    rerun: Scores
    candidate: Scores


class ScoreSource(Protocol):
    """Draws the scores of a night's stages."""

    def draw(self, rng: np.random.Generator, candidates: int, stage: StagePlan) -> StageDraw:
        """Draw one stage.

        Args:
            rng: The night's generator.
            candidates: How many candidates the night has.
            stage: The stage; its seeds are fixed for the night on the screen bank and fresh for
                each candidate on the confirm bank.

        Returns:
            The scores.
        """
        ...


@dataclass(frozen=True, slots=True)
class GaussianSource:
    """score(revision, seed, replicate) = base + shared * z[seed] + noise * z[replicate].

    Attributes:
        noise: Standard deviation of a replicate on one seed, in points.
        shared: Standard deviation of what a seed does to every revision alike, in points.
        base: Mean score; it cancels.
    """

    noise: float
    shared: float = 0.0
    base: float = 30.0

    def draw(self, rng: np.random.Generator, candidates: int, stage: StagePlan) -> StageDraw:
        """Draw one stage; see `ScoreSource`."""
        shape = (candidates, stage.pairs)
        seeds = rng.standard_normal(shape if stage.stage == "confirm" else shape[1:])
        common = self.base + self.shared * seeds
        return StageDraw(
            stored=common + self.noise * rng.standard_normal(common.shape),
            rerun=common + self.noise * rng.standard_normal(shape),
            candidate=common + self.noise * rng.standard_normal(shape),
        )


class DifferenceSource:
    """Resamples paired differences that were really played, shifted to mean zero."""

    def __init__(self, differences: Sequence[float]) -> None:
        """Keep the centred differences.

        Args:
            differences: Candidate minus champion in points of progression (percent), at least two.
        """
        values = np.asarray(differences, dtype=float)
        if values.size < 2:
            raise ValueError("at least two paired differences are needed to resample them")
        # Centring makes a sample look less spread than its population; this undoes it.
        self._centred = (values - values.mean()) * np.sqrt(values.size / (values.size - 1))
        self.sd = float(values.std(ddof=1))

    def draw(self, rng: np.random.Generator, candidates: int, stage: StagePlan) -> StageDraw:
        """Draw one stage; see `ScoreSource`."""
        shape = (candidates, stage.pairs)
        zero = np.zeros(shape)
        return StageDraw(stored=zero[0], rerun=zero, candidate=rng.choice(self._centred, shape))


class ReplicateSource:
    """Resamples the champion's own results: seeds with replacement, run noise around each.

    Run noise is drawn from the deviations of all replicates from the mean of their seed, inflated
    by ``sqrt(r / (r - 1))``, since r replicates stray less from their own mean than from the true
    one. An agent without run noise plays a seed the same every time; then what differs between two
    equally good revisions is *which* seeds go well, so a candidate's score is drawn from the
    champion's scores on all seeds, apart from the champion's own.
    """

    def __init__(self, scores: Scores) -> None:
        """Split the scores into seed means and run noise.

        Args:
            scores: The champion's scores in points (percent), shape (seeds, replicates), NaN where
                an episode is missing; at least two seeds.
        """
        counts = np.sum(~np.isnan(scores), axis=1)
        scores, counts = scores[counts > 0], counts[counts > 0]
        if len(scores) < 2:
            raise ValueError("at least two seeds with results are needed to resample them")
        self._means: Scores = np.nanmean(scores, axis=1)
        repeated = counts > 1
        inflate = np.sqrt(counts[repeated] / (counts[repeated] - 1))
        deviations = (scores[repeated] - self._means[repeated, None]) * inflate[:, None]
        residuals: Scores = deviations[~np.isnan(deviations)]
        self._residuals = residuals
        # Replicates of one game are equal to the last bit or they are different games.
        self.run_noise = bool(np.any(np.abs(residuals) > 1e-9))

    @property
    def run_sd(self) -> float:
        """Standard deviation between replicates of one seed, in points."""
        return float(np.sqrt(np.mean(self._residuals**2))) if self.run_noise else 0.0

    @property
    def seed_sd(self) -> float:
        """Standard deviation of the seeds' mean scores, in points, run noise included."""
        return float(np.std(self._means, ddof=1))

    @property
    def difference_sd(self) -> float:
        """Standard deviation of a paired difference in this world, in points."""
        return float(np.sqrt(2) * (self.run_sd if self.run_noise else np.std(self._means)))

    def draw(self, rng: np.random.Generator, candidates: int, stage: StagePlan) -> StageDraw:
        """Draw one stage; see `ScoreSource`."""
        shape = (candidates, stage.pairs)
        seeds = rng.integers(
            len(self._means), size=shape if stage.stage == "confirm" else shape[1:]
        )
        common = self._means[seeds]
        if not self.run_noise:
            # The champion replays its seeds exactly; a candidate draws seeds of its own.
            other = self._means[rng.integers(len(self._means), size=shape)]
            return StageDraw(common, np.broadcast_to(common, shape), other)
        return StageDraw(
            stored=common + rng.choice(self._residuals, common.shape),
            rerun=common + rng.choice(self._residuals, shape),
            candidate=common + rng.choice(self._residuals, shape),
        )
