"""A measured rate with its exact interval."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Rate(BaseModel):
    """A share of trials, as a number from 0 to 1.

    Attributes:
        estimate: Successes over trials.
        low: Lower end of the 95% Clopper-Pearson interval.
        high: Upper end.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    estimate: float
    low: float
    high: float

    @classmethod
    def of(cls, successes: int, trials: int) -> Rate:
        """Rate with the exact two-sided 95% interval.

        Args:
            successes: How often it happened.
            trials: Out of how many, at least one.

        Returns:
            The rate.

        Source:
            Clopper & Pearson 1934, Biometrika 26 (4), 404-413.
        """
        from scipy import stats  # here, because it takes most of a second to import

        interval = stats.binomtest(successes, trials).proportion_ci(0.95, method="exact")
        return cls(estimate=successes / trials, low=float(interval.low), high=float(interval.high))
