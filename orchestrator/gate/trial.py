"""The one driver of a rule: what a night and a simulation both do with candidates.

    need -> (charge, slice) -> play -> evidence -> need -> ... -> verdict

`judge` does so with one candidate. `race` does so with several that were made from one champion:
all are screened, then the best survivor is confirmed, the next best only if that one fails.
A player that can play no more halts both: what was decided until then stands.

Nothing here plays or knows how: `play` is handed in. Resuming after a crash is running it again:
the rule is pure, the charge is idempotent, and a player that keeps its results gives them back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from orchestrator.gate.account import Budget, Confirmation
from orchestrator.gate.banks import slice_name
from orchestrator.gate.errors import AlphaSpent, Halted, SameRevision
from orchestrator.gate.evidence import Evidence, PairedScores
from orchestrator.gate.protocol import AcceptanceRule, Need, Ruling
from orchestrator.gate.verdict import Verdict, bca_interval

OUTDONE = (
    "Passed the screen, but another candidate of its round did better there and was accepted: "
    "judge it again on that one."
)
BARRED = "Passed the screen, but what it did there bars it from being accepted."


class Player(Protocol):
    """Plays what a rule needs; episodes may run in parallel behind it."""

    def __call__(self, need: Need, slice_index: int) -> PairedScores:
        """Play (or look up) the first ``need.pairs`` seeds of a slice.

        Args:
            need: Which bank, how many pairs in total, and whether the champion plays anew.
            slice_index: Which slice of that bank; 0 for the screen.

        Returns:
            All ``need.pairs`` pairs of the stage, lost ones with ``None``.

        Raises:
            Halted: Nothing more can be played, by whomever.
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
        halted: Why it was not played to its end; empty if it was.
    """

    ruling: Ruling
    evidence: Evidence
    slices: tuple[str, ...]
    alpha: float
    halted: str = ""


def judge(rule: AcceptanceRule, confirmation: Confirmation, budget: Budget, play: Player) -> Trial:
    """Drive a rule to its ruling.

    Args:
        rule: The acceptance rule.
        confirmation: Identity under which a confirmation is charged.
        budget: The night's error budget.
        play: Plays the pairs.

    Returns:
        The ruling with its evidence. When the error budget cannot afford the confirmation, or
        nothing more can be played, the candidate is ``indecisive``: it was neither accepted nor
        found wanting.

    Raises:
        SameRevision: Candidate and champion are the same tree; refused before any episode.
        BudgetError: The ledger cannot be used.
    """
    trial = _Course(rule, confirmation, budget, play).advance()
    assert trial is not None
    return trial


def race(
    rule: AcceptanceRule,
    confirmations: Sequence[Confirmation],
    budget: Budget,
    players: Sequence[Player],
    may_win: Callable[[int], bool] = lambda _: True,
) -> list[Trial]:
    """Drive a rule for several candidates of one champion; at most one is accepted.

    Screening charges nothing, so that many may be screened; and the one with the highest mean on
    the screen is the likeliest to be better. Which of them is confirmed may depend on the screen in
    any way: the confirmation is an exact test on fresh seeds, and what is charged bounds the
    false acceptances as ever.

    Args:
        rule: The acceptance rule.
        confirmations: Identities of the candidates.
        budget: The night's error budget.
        players: Plays the pairs of each.
        may_win: Whether the candidate at this place may be accepted after what it did so far.
            Asked before a confirmation is charged, as what it costs may be all that is left for
            an honest one; and again after it.

    Returns:
        The trials in the order of the candidates. A survivor of the screen that was behind the
        accepted one, or was seen before its confirmation to be one that may not win, is
        ``indecisive``. One that is seen so only after it keeps its ruling, and the caller refuses
        it: ``may_win`` says why.

    Raises:
        SameRevision: As `judge`.
        BudgetError: The ledger cannot be used.
    """
    courses = [
        _Course(rule, confirmation, budget, play)
        for confirmation, play in zip(confirmations, players, strict=True)
    ]
    trials = [course.advance(to_the_charge=True) for course in courses]
    # Best first; sorting is stable, so of equals the one that was proposed first.
    order = sorted(range(len(courses)), key=lambda one: -_mean(courses[one].evidence.screen))
    halted = next((trial.halted for trial in trials if trial and trial.halted), "")
    accepted = False
    for number in order:
        trial, course = trials[number], courses[number]
        if trial is not None and trial.ruling.decision != "accept":
            continue
        if accepted:
            trial = course.unconfirmed(OUTDONE)
        elif trial is None and not may_win(number):
            trial = course.unconfirmed(BARRED)
        elif trial is None and halted and not course.charged:
            trial = course.halted(halted)
        elif trial is None:
            # One that was charged by a run that was cut off may have all it needs in the store, and
            # may have been accepted: though another is halted, it has to come out as it did.
            trial = course.advance()
        assert trial is not None
        trials[number] = trial
        halted = halted or trial.halted
        accepted = accepted or (trial.ruling.decision == "accept" and may_win(number))
    return [trial for trial in trials if trial is not None]


class _Course:
    """One candidate on its way through a rule."""

    def __init__(
        self, rule: AcceptanceRule, confirmation: Confirmation, budget: Budget, play: Player
    ) -> None:
        if confirmation.candidate == confirmation.champion:
            raise SameRevision(
                f"The candidate {confirmation.candidate[:12]} is the champion's own tree.",
                mend="Nothing was played; propose a revision that changes something.",
            )
        self._rule, self._confirmation = rule, confirmation
        self._budget, self._play = budget, play
        self._slices: list[str] = []
        self._alpha = 0.0
        self.evidence = Evidence()

    def advance(self, *, to_the_charge: bool = False) -> Trial | None:
        """Play on to the ruling; or, if that is asked, to what would be charged (``None``)."""
        while True:
            asked = self._rule.next(self.evidence)
            if isinstance(asked, Ruling):
                return self._trial(asked)
            index = 0
            if asked.alpha:
                if to_the_charge:
                    return None
                try:
                    charge = self._budget.charge(self._confirmation, asked.alpha)
                except AlphaSpent as spent:
                    return self._trial(_unaffordable(self.evidence, spent))
                index, self._alpha = charge.slice, charge.alpha
            name = slice_name(asked.stage, index)
            if name not in self._slices:
                self._slices.append(name)
            try:
                scores = self._play(asked, index)
            except Halted as halt:
                return self.halted(str(halt))
            self.evidence = _extended(self.evidence, asked, scores)

    @property
    def charged(self) -> bool:
        """Whether its confirmation was charged before."""
        return self._budget.charged(self._confirmation)

    def unconfirmed(self, reason: str) -> Trial:
        """The trial of a survivor that is not confirmed."""
        return self._trial(_unconfirmed(self.evidence, reason))

    def halted(self, reason: str) -> Trial:
        """The trial of one that could not be played to its end."""
        ruling = _unconfirmed(self.evidence, f"Not judged to its end: {reason}")
        return self._trial(ruling, reason)

    def _trial(self, ruling: Ruling, halted: str = "") -> Trial:
        return Trial(ruling, self.evidence, tuple(self._slices), self._alpha, halted)


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
    return _unconfirmed(
        evidence,
        f"Passed the screen, but the night's error budget of {spent.limit:g} has {spent.left:g} "
        f"left and a confirmation costs {spent.asked:g}: nothing more is accepted this night.",
    )


def _unconfirmed(evidence: Evidence, reason: str) -> Ruling:
    screen = evidence.screen
    effect = _mean(screen) if screen.differences() else None
    pairs = len(screen.differences())
    return Ruling("indecisive", reason, "screen", effect, None, pairs, screen.missing)


def _mean(scores: PairedScores) -> float:
    differences = scores.differences()
    return sum(differences) / len(differences) if differences else 0.0
