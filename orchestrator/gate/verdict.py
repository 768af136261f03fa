"""The gate's answer about one candidate, with all that it was decided on."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict

Decision = Literal["accept", "reject", "indecisive"]
Stage = Literal["screen", "confirm"]

_BOOTSTRAP_SEED = 19870301  # Efron's paper is of March 1987; any fixed number would do.
_RESAMPLES = 9_999


class Interval(NamedTuple):
    """A confidence interval in points of progression (percent); ``None`` where undefined."""

    low: float | None
    high: float | None


class Verdict(BaseModel):
    """One judgement, complete enough to stand in a commit message.

    Attributes:
        decision: ``accept``, ``reject`` or ``indecisive``; the only thing an editor is told.
        reason: One sentence for a person.
        rule: Name of the acceptance rule.
        stage: The stage that decided.
        effect: Mean paired difference at that stage, in points of progression (percent).
        low: Lower end of the 95% BCa interval of the effect; ``None`` below two pairs.
        high: Upper end.
        p: Exact one-sided p-value of that stage; ``None`` if the rule computes none.
        pairs: Complete pairs the decision rests on.
        missing: Pairs lost to the machinery at that stage.
        slices: Bank slices played, by name (``screen``, ``confirm[3]``), never seeds.
        episodes: New episodes played for this judgement, the champion's re-runs included.
        tokens: Model tokens they used.
        money_usd: What they cost.
        hours: Their playing time, added up over episodes that may have run side by side.
        alpha: What was charged to the night's error budget.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    decision: Decision
    reason: str
    rule: str
    stage: Stage
    effect: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    pairs: int = 0
    missing: int = 0
    slices: tuple[str, ...] = ()
    episodes: int = 0
    tokens: int = 0
    money_usd: float = 0.0
    hours: float = 0.0
    alpha: float = 0.0

    @property
    def accepted(self) -> bool:
        """Whether the candidate becomes champion."""
        return self.decision == "accept"


def bca_interval(differences: Sequence[float], level: float = 0.95) -> Interval:
    """Bias-corrected and accelerated bootstrap interval of the mean difference.

    The resampling is seeded, so the same differences always give the same interval. Where BCa is
    undefined (all resamples on one side of the estimate) the percentile interval is returned; where
    all differences are the same the interval is that value.

    Args:
        differences: Paired differences in points of progression (percent).
        level: Confidence level.

    Returns:
        The interval; both ends ``None`` below two differences.

    Source:
        Efron 1987, "Better bootstrap confidence intervals", JASA 82 (397), 171-185.
    """
    from scipy import stats  # here, because it takes most of a second to import

    values = np.asarray(differences, dtype=float)
    if values.size < 2:
        return Interval(None, None)
    if np.ptp(values) <= 1e-9:
        return Interval(float(values.mean()), float(values.mean()))
    for method in ("BCa", "percentile"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a degenerate sample shows as NaN, handled below
            found = stats.bootstrap(
                (values,),
                np.mean,
                confidence_level=level,
                n_resamples=_RESAMPLES,
                method=method,
                rng=np.random.default_rng(_BOOTSTRAP_SEED),
            ).confidence_interval
        low, high = float(found.low), float(found.high)
        if np.isfinite(low) and np.isfinite(high):
            return Interval(low, high)
    return Interval(None, None)
