"""Behaviour metrics with names for people, and which direction is better."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from orchestrator.report.data import Candidate
from orchestrator.report.words import number

Unit = Literal["score", "share", "amount"]
Tendency = Literal["better", "worse", "more", "less", "same", "unknown"]


@dataclass(frozen=True, slots=True)
class Metric:
    """How a metric is shown.

    Attributes:
        label: Its name for people.
        unit: A score in percent, a share of 1, or an amount.
        good: 1 if more of it is better, -1 if less is, 0 if neither.
    """

    label: str
    unit: Unit
    good: int

    def show(self, value: float | None) -> str:
        """A value with as many digits as are read."""
        if self.unit == "score":
            return number(value, ",.1f") + ("%" if value is not None else "")
        if self.unit == "share":
            return number(value, ".1%")
        return number(value, ",.0f" if value is not None and abs(value) >= 100 else ",.2f")


METRICS = {
    "progression": Metric("Score (progression)", "score", 1),
    "ineffective_action_rate": Metric("Actions wasted in one of the next three ways", "share", -1),
    "stuck_rate": Metric("Actions that changed nothing", "share", -1),
    "oscillation_rate": Metric("Actions that undid the one before", "share", -1),
    "invalid_action_rate": Metric("Actions the game does not know", "share", -1),
    "redundant_write_rate": Metric("Notes that only repeat what is there", "share", -1),
    "empty_search_rate": Metric("Searches that find nothing", "share", -1),
    "memory_growth": Metric("Characters of memory added per step", "amount", 0),
    "write_search_ratio": Metric("Notes written per search", "amount", 0),
    "write_read_ratio": Metric("Notes written per look into memory", "amount", 0),
    "override_rate": Metric("Steps in which code overrode the model", "share", -1),
    "memory_tokens_per_step": Metric("Tokens spent on memory per step", "amount", -1),
    "model_calls_per_step": Metric("Model calls per step", "amount", -1),
}
"""In the order of the page; a metric that is not listed is shown by its own name."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: a metric before and after a change, as shown."""

    name: str
    label: str
    before: str
    after: str
    tendency: Tendency
    up: bool


def rows(one: Candidate) -> list[Row]:
    """The metrics of a candidate beside its champion's; those never defined are left out."""
    names = one.metrics_before.keys() | one.metrics_after.keys()
    order = [*(name for name in METRICS if name in names), *sorted(names - METRICS.keys())]
    made = (_row(name, one.metrics_before.get(name), one.metrics_after.get(name)) for name in order)
    return [row for row in made if row is not None]


def got_worse(kept: Iterable[Candidate]) -> list[tuple[Candidate, Row]]:
    """What became worse in the kept candidates."""
    return [(one, row) for one in kept for row in rows(one) if row.tendency == "worse"]


def _row(name: str, before: float | None, after: float | None) -> Row | None:
    if before is None and after is None:
        return None
    metric = METRICS.get(name, Metric(name, "amount", 0))
    shown = metric.show(before), metric.show(after)
    up = before is not None and after is not None and after > before
    if before is None or after is None:
        tendency: Tendency = "unknown"
    elif shown[0] == shown[1]:
        tendency = "same"
    else:
        tendency = _tendency(metric, up)
    return Row(name, metric.label, *shown, tendency, up)


def _tendency(metric: Metric, up: bool) -> Tendency:
    if metric.good == 0:
        return "more" if up else "less"
    return "better" if up == (metric.good > 0) else "worse"
