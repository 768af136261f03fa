"""The one driver of a rule: what a night and a simulation both do with a candidate.

    need -> (charge, slice) -> play -> evidence -> need -> ... -> verdict

Nothing here plays or knows how: `play` is handed in. Resuming after a crash is running it again:
the rule is pure, the charge is idempotent, and a player that keeps its results gives them back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from orchestrator.gate.account import Budget, Confirmation
from orchestrator.gate.banks import slice_name
from orchestrator.gate.errors import AlphaSpent, SameRevision
from orchestrator.gate.evidence import Evidence, PairedScores
from orchestrator.gate.protocol import AcceptanceRule, Need, Ruling
from orchestrator.gate.verdict import Verdict, bca_interval


class Player(Protocol):
    """Plays what a rule needs; episodes may run in parallel behind it."""

    def __call__(self, need: Need, slice_index: int) -> PairedScores:
        """Play (or look up) the first ``need.pairs`` seeds of a slice.

        Args:
            need: Which bank, how many pairs in total, and whether the champion plays anew.
            slice_index: Which slice of that bank; 0 for the screen.

        Returns:
            All ``need.pairs`` pairs of the stage, lost ones with ``None``.
        """
        ...


@dataclass(frozen=True, slots=True)
class Trial:
    """A finished judgement.

    Attributes:
        ruling: What the rule said.
        evidence: What it was decided on.
        slices: Names of the slices played.
        alpha: What is charged to the night for it.
    """

    ruling: Ruling
    evidence: Evidence
    slices: tuple[str, ...]
    alpha: float


def judge(rule: AcceptanceRule, confirmation: Confirmation, budget: Budget, play: Player) -> Trial:
    """Drive a rule to its ruling.

    Args:
        rule: The acceptance rule.
        confirmation: Identity under which a confirmation is charged.
        budget: The night's error budget.
        play: Plays the pairs.

    Returns:
        The ruling with its evidence. When the error budget cannot afford the confirmation the
        candidate is ``indecisive``: it was neither accepted nor found wanting.

    Raises:
        SameRevision: Candidate and champion are the same tree; refused before any episode.
        BudgetError: The ledger cannot be used.
    """
    if confirmation.candidate == confirmation.champion:
        raise SameRevision(
            f"The candidate {confirmation.candidate[:12]} is the champion's own tree.",
            mend="Nothing was played; propose a revision that changes something.",
        )
    evidence, alpha = Evidence(), 0.0
    slices: list[str] = []
    while True:
        asked = rule.next(evidence)
        if isinstance(asked, Ruling):
            return Trial(asked, evidence, tuple(slices), alpha)
        index = 0
        if asked.alpha:
            try:
                charge = budget.charge(confirmation, asked.alpha)
            except AlphaSpent as spent:
                return Trial(_unaffordable(evidence, spent), evidence, tuple(slices), alpha)
            index, alpha = charge.slice, charge.alpha
        name = slice_name(asked.stage, index)
        if name not in slices:
            slices.append(name)
        evidence = _extended(evidence, asked, play(asked, index))


def verdict_of(
    trial: Trial,
    rule: AcceptanceRule,
    *,
    episodes: int = 0,
    tokens: int = 0,
    money_usd: float = 0.0,
    hours: float = 0.0,
) -> Verdict:
    """The verdict of a finished trial, with its interval and its cost.

    Args:
        trial: The trial.
        rule: The rule that judged.
        episodes: New episodes played for it.
        tokens: Model tokens they used.
        money_usd: What they cost.
        hours: Their playing time, added up.

    Returns:
        The verdict.
    """
    ruling = trial.ruling
    scores = trial.evidence.screen if ruling.stage == "screen" else trial.evidence.confirm
    # A screen that stopped early was decided on its first pairs only, whatever else is stored.
    decided = scores.differences()[: ruling.pairs]
    interval = bca_interval(decided)
    return Verdict(
        decision=ruling.decision,
        reason=ruling.reason,
        rule=rule.name,
        stage=ruling.stage,
        effect=ruling.effect,
        low=interval.low,
        high=interval.high,
        p=ruling.p,
        pairs=ruling.pairs,
        missing=ruling.missing,
        slices=trial.slices,
        episodes=episodes,
        tokens=tokens,
        money_usd=money_usd,
        hours=hours,
        alpha=trial.alpha,
    )


def _extended(evidence: Evidence, need: Need, scores: PairedScores) -> Evidence:
    if scores.played < need.pairs:
        raise ValueError(
            f"the {need.stage} stage needed {need.pairs} pairs and was given {scores.played}; "
            "a lost pair is one with None"
        )
    if need.stage == "screen":
        return Evidence.model_construct(screen=scores, confirm=evidence.confirm)
    return Evidence.model_construct(screen=evidence.screen, confirm=scores)


def _unaffordable(evidence: Evidence, spent: AlphaSpent) -> Ruling:
    screen = evidence.screen
    differences = screen.differences()
    effect = sum(differences) / len(differences) if differences else None
    return Ruling(
        "indecisive",
        f"Passed the screen, but the night's error budget of {spent.limit:g} has {spent.left:g} "
        f"left and a confirmation costs {spent.asked:g}: nothing more is accepted this night.",
        "screen",
        effect,
        None,
        len(differences),
        screen.missing,
    )
