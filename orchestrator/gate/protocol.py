"""The contract between acceptance rules and whoever drives them, and the words rules share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol, Self

from orchestrator.gate.errors import BadRule
from orchestrator.gate.evidence import Evidence, PairedScores
from orchestrator.gate.signflip import MAX_NONZERO
from orchestrator.gate.verdict import Decision, Stage


@dataclass(frozen=True, slots=True)
class Need:
    """What has to be played before the rule can go on.

    Attributes:
        stage: ``screen`` (the seeds that stay the same all night) or ``confirm`` (a fresh slice).
        pairs: Pairs to have in total at this stage, those already played included.
        fresh_incumbent: The champion must be played again on these seeds; otherwise its stored
            scores serve.
        alpha: What starting this stage charges to the night's error budget; 0 for none.
    """

    stage: Stage
    pairs: int
    fresh_incumbent: bool
    alpha: float = 0.0


@dataclass(frozen=True, slots=True)
class Ruling:
    """A decision and what it rests on.

    Attributes:
        decision: ``accept``, ``reject`` or ``indecisive``.
        reason: One sentence for a person.
        stage: The stage that decided.
        effect: Mean paired difference at that stage, in points of progression (percent).
        p: Exact one-sided p-value at that stage; ``None`` if the rule computes none.
        pairs: Complete pairs at that stage.
        missing: Pairs lost to the machinery at that stage.
    """

    decision: Decision
    reason: str
    stage: Stage
    effect: float | None
    p: float | None
    pairs: int
    missing: int


@dataclass(frozen=True, slots=True)
class StagePlan:
    """The most that one stage of a rule can ask for.

    Attributes:
        stage: Which bank it plays on.
        pairs: Pairs at most.
        fresh_incumbent: Whether the champion is played again.
        alpha: Level of its test; ``None`` if it makes none.
        charge: What it charges to the error budget.
    """

    stage: Stage
    pairs: int
    fresh_incumbent: bool
    alpha: float | None
    charge: float


class AcceptanceRule(Protocol):
    """From paired per-seed results to a ruling."""

    @property
    def name(self) -> str:
        """Name in configuration and verdicts."""
        ...

    @property
    def min_share(self) -> float:
        """Share of a stage's pairs below which nothing is decided."""
        ...

    def plan(self) -> tuple[StagePlan, ...]:
        """Stages in order, each with the most it can ask for."""
        ...

    def next(self, evidence: Evidence) -> Need | Ruling:
        """What to play next, or the ruling if the evidence is enough."""
        ...

    def scaled(self, factor: float) -> Self:
        """The same rule with that many times the pairs at every stage (rounded)."""
        ...


def enough(pairs: int, min_share: float) -> int:
    """Fewest complete pairs of so many planned on which a rule decides."""
    return math.ceil(pairs * min_share - 1e-9)


def too_few(scores: PairedScores, planned: int, min_share: float, stage: Stage) -> Ruling | None:
    """An indecisive ruling if too many pairs of the stage are missing."""
    required = enough(planned, min_share)
    if scores.pairs >= required:
        return None
    return ruling(
        "indecisive",
        f"Only {scores.pairs} of {counted(planned)} at the {stage} stage are complete and "
        f"{required} are required; {scores.missing} were lost to the machinery.",
        stage,
        scores,
        None,
    )


def ruling(
    decision: Decision, reason: str, stage: Stage, scores: PairedScores, p: float | None
) -> Ruling:
    """A ruling with effect and counts taken from the scores it rests on."""
    differences = scores.differences()
    effect = mean(differences) if differences else None
    return Ruling(decision, reason, stage, effect, p, len(differences), scores.missing)


def mean(values: tuple[float, ...]) -> float:
    """Mean, correctly rounded."""
    return math.fsum(values) / len(values)


def points(effect: float) -> str:
    """An effect as people read it."""
    return f"{effect:+.1f} points"


def counted(count: int) -> str:
    """A number of pairs as people read it."""
    return f"{count} pair" if count == 1 else f"{count} pairs"


def check_pairs(**counts: int) -> None:
    """Refuse a number of pairs that the exact test cannot take."""
    for name, count in counts.items():
        if not 1 <= count <= MAX_NONZERO:
            raise BadRule(f"{name} is {count}; the exact test takes 1 to {MAX_NONZERO} pairs.")


def check_share(share: float) -> None:
    """Refuse a share that is none."""
    if not 0 < share <= 1:
        raise BadRule(f"min_share is {share}; it must be above 0 and at most 1.")
