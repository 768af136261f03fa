"""What a rule judges by: scores of champion and candidate on the same seeds.

All scores are points of progression in percent (0 to 100).
"""

from __future__ import annotations

import math
from typing import Self

from pydantic import BaseModel, ConfigDict, model_validator


class PairedScores(BaseModel):
    """Scores of one stage, paired by seed.

    A score of ``None`` is an episode that the machinery lost (and retried in vain): its pair is
    missing, never a zero. A seed that is not listed has not been played yet.

    Attributes:
        seeds: Seeds in the order in which they are played, each once.
        champion: Percent of progression per seed, or ``None``.
        candidate: The same for the candidate.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    seeds: tuple[int, ...] = ()
    champion: tuple[float | None, ...] = ()
    candidate: tuple[float | None, ...] = ()

    @model_validator(mode="after")
    def _pairs_line_up(self) -> Self:
        if not len(self.seeds) == len(self.champion) == len(self.candidate):
            raise ValueError(
                f"{len(self.seeds)} seeds, {len(self.champion)} champion scores and "
                f"{len(self.candidate)} candidate scores do not pair up"
            )
        if len(set(self.seeds)) != len(self.seeds):
            raise ValueError("a seed is listed twice; each pair needs a seed of its own")
        for score in (*self.champion, *self.candidate):
            if score is not None and not math.isfinite(score):
                raise ValueError(f"{score} is not a score; a lost episode is None")
        return self

    def differences(self) -> tuple[float, ...]:
        """Candidate minus champion for each complete pair, in the order of the seeds.

        Returns:
            Points of progression (percent).
        """
        return tuple(
            new - old
            for old, new in zip(self.champion, self.candidate, strict=True)
            if old is not None and new is not None
        )

    def first(self, count: int) -> PairedScores:
        """The pairs of the first ``count`` seeds."""
        return PairedScores.model_construct(
            seeds=self.seeds[:count],
            champion=self.champion[:count],
            candidate=self.candidate[:count],
        )

    @property
    def played(self) -> int:
        """Pairs attempted, complete or missing."""
        return len(self.seeds)

    @property
    def pairs(self) -> int:
        """Complete pairs."""
        return len(self.differences())

    @property
    def missing(self) -> int:
        """Pairs of which at least one episode was lost."""
        return self.played - self.pairs


class Evidence(BaseModel):
    """All that has been played for one candidate so far.

    Attributes:
        screen: On the screen bank, whose seeds stay the same all night.
        confirm: On the fresh slice of the confirm bank that this candidate was given.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    screen: PairedScores = PairedScores()
    confirm: PairedScores = PairedScores()
