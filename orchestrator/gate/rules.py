"""The acceptance rules: pure state machines from paired scores to a ruling.

A rule never plays, waits or spends. `AcceptanceRule.next` looks at all the evidence there is and
either names what it needs next or rules. So the same object drives a night, its resumption after a
crash and `simulate`, and judges the same whatever the order in which the episodes came in.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace
from typing import Self

from orchestrator.gate.errors import BadRule, UnknownRule
from orchestrator.gate.evidence import Evidence, PairedScores
from orchestrator.gate.protocol import (
    AcceptanceRule,
    Need,
    Ruling,
    StagePlan,
    check_pairs,
    check_share,
    counted,
    enough,
    mean,
    points,
    ruling,
    too_few,
)
from orchestrator.gate.signflip import sign_flip_p

__all__ = [
    "AcceptanceRule",
    "Need",
    "Ruling",
    "StagePlan",
    "StrictMeanRule",
    "TwoStageRule",
    "available_rules",
    "rule_from_name",
]


@dataclass(frozen=True, slots=True)
class TwoStageRule:
    """Screen cheaply on known seeds, confirm strictly on fresh ones.

    Only the confirmation accepts. It uses seeds nobody has seen and plays both sides anew, so its
    p-value is exact whatever the screen, the editor or the stored scores did before; the chance of
    a false acceptance in a night is at most the sum of the alphas charged.

    **Futility.** After `futility_pairs` screening pairs the candidate is rejected if the sign-flip
    p of those alone exceeds `futility_p` (at .5: exactly if their mean is not above zero).

    - It cannot add a false acceptance: it only turns candidates that might have gone on into
      rejected ones, and a confirmation that is not made charges nothing.
    - What it costs: let N be the sets of differences whose sum is not positive; the screen has
      ``p = |N| / 2**n``. With `futility_p` = .5 after half of n = 10, a candidate that would pass
      is stopped only if its first five are a member of N. Seeds come in random order, so that has
      probability ``|N of size 5| / 252``: at most ``(1024 p - 1) / 252``, whatever the
      distribution of scores. For normal scores it is about p itself (the first half of a Brownian
      path given its end). Simulated with 9 points of noise it takes 1.3 points from the screen's
      73% at +8 and saves 2.5 of the 10 episodes that screen a worthless candidate.
    - Apart from that, a screen stops once it is lost for certain: the p of n pairs is at least
      ``2**-(n - m)`` times the p of any m of them (keep the signs of the rest, flip among the m).

    A lost episode is never a zero, but pairs may not be lost at will: below `min_share` nothing is
    decided, so that a candidate that breaks the machinery on its bad games gains little.

    Attributes:
        screen_pairs: Pairs of the screen.
        screen_alpha: Level of the screen; it charges nothing.
        confirm_pairs: Fresh pairs of the confirmation.
        confirm_alpha: Level of the confirmation, charged to the night's budget.
        min_share: Share of pairs that must be complete for a decision.
        futility_pairs: Pairs after which the screen may stop; 0 for never.
        futility_p: It stops if their p exceeds this.
    """

    screen_pairs: int = 10
    screen_alpha: float = 0.10
    confirm_pairs: int = 20
    confirm_alpha: float = 0.01
    min_share: float = 0.9
    futility_pairs: int = 5
    futility_p: float = 0.5

    def __post_init__(self) -> None:
        """Refuse settings that contradict each other."""
        check_pairs(screen_pairs=self.screen_pairs, confirm_pairs=self.confirm_pairs)
        check_share(self.min_share)
        for name in ("screen_alpha", "confirm_alpha"):
            if not 0 < getattr(self, name) < 1:
                raise BadRule(f"{name} is {getattr(self, name)}; it must lie between 0 and 1.")
        if not 0 <= self.futility_pairs <= self.screen_pairs:
            raise BadRule(
                f"futility_pairs is {self.futility_pairs}; it must lie between 0 (never) and "
                f"screen_pairs ({self.screen_pairs})."
            )
        if not 0.5 <= self.futility_p <= 1:
            raise BadRule(
                f"futility_p is {self.futility_p}; it must lie between 0.5, below which candidates "
                "that are ahead would be stopped, and 1."
            )

    @property
    def name(self) -> str:
        """``two-stage``."""
        return "two-stage"

    def plan(self) -> tuple[StagePlan, ...]:
        """Screen, then confirm."""
        return (
            StagePlan("screen", self.screen_pairs, False, self.screen_alpha, 0.0),
            StagePlan("confirm", self.confirm_pairs, True, self.confirm_alpha, self.confirm_alpha),
        )

    def scaled(self, factor: float) -> Self:
        """The same levels with ``factor`` times the pairs."""
        return replace(
            self,
            screen_pairs=max(1, round(self.screen_pairs * factor)),
            confirm_pairs=max(1, round(self.confirm_pairs * factor)),
            futility_pairs=round(self.futility_pairs * factor),
        )

    def next(self, evidence: Evidence) -> Need | Ruling:
        """Screen in two portions, then confirm in one; see the class for what stops it."""
        screened = self._screen(evidence.screen)
        if screened is not None:
            return screened
        if evidence.confirm.played < self.confirm_pairs:
            return Need("confirm", self.confirm_pairs, True, self.confirm_alpha)
        return self._confirm(evidence.confirm)

    def _screen(self, scores: PairedScores) -> Need | Ruling | None:
        """What the screen wants or rules; ``None`` if it is passed."""
        if scores.played < self.futility_pairs:
            return Need("screen", self.futility_pairs, False)
        hopeless = self._futile(scores)
        if hopeless is not None:
            return hopeless
        if scores.played < self.screen_pairs:
            return Need("screen", self.screen_pairs, False)
        short = too_few(scores, self.screen_pairs, self.min_share, "screen")
        if short is not None:
            return short
        differences = scores.differences()
        p = sign_flip_p(differences)
        if p <= self.screen_alpha:
            return None
        return ruling(
            "reject",
            f"Screened out: {points(mean(differences))} on {counted(len(differences))} is not "
            f"enough (p = {p:.3g}, needed {self.screen_alpha:g}).",
            "screen",
            scores,
            p,
        )

    def _futile(self, scores: PairedScores) -> Ruling | None:
        look = scores.first(self.futility_pairs)
        differences = look.differences()
        if not differences or len(differences) < enough(self.futility_pairs, self.min_share):
            return None
        p = sign_flip_p(differences)
        lost = 2.0 ** (self.futility_pairs - self.screen_pairs) * p > self.screen_alpha
        if p <= self.futility_p and not lost:
            return None
        return ruling(
            "reject",
            f"Stopped early: {points(mean(differences))} on the first {counted(len(differences))} "
            f"of the screen (p = {p:.3g}) leaves too little hope of p = {self.screen_alpha:g} on "
            f"{self.screen_pairs}.",
            "screen",
            look,
            p,
        )

    def _confirm(self, scores: PairedScores) -> Ruling:
        short = too_few(scores, self.confirm_pairs, self.min_share, "confirm")
        if short is not None:
            return short
        differences = scores.differences()
        p = sign_flip_p(differences)
        accepted = p <= self.confirm_alpha
        word = "Confirmed" if accepted else "Not confirmed"
        sign = "<=" if accepted else ">"
        return ruling(
            "accept" if accepted else "reject",
            f"{word}: {points(mean(differences))} on {counted(len(differences))} of fresh seeds "
            f"(p = {p:.3g} {sign} {self.confirm_alpha:g}).",
            "confirm",
            scores,
            p,
        )


@dataclass(frozen=True, slots=True)
class StrictMeanRule:
    """Keep whatever has the higher mean on a few fixed seeds (AutoMem's gate, for comparison).

    The incumbent is not played again: the candidate's mean is compared with the stored one, so a
    lucky champion is beaten only by a luckier candidate, and with enough candidates one is always
    lucky. It has no error rate to keep and charges none.

    Attributes:
        screen_pairs: Fixed seeds.
        min_share: Share of pairs that must be complete for a decision.
    """

    screen_pairs: int = 10
    min_share: float = 0.9

    def __post_init__(self) -> None:
        """Refuse settings that contradict each other."""
        check_pairs(screen_pairs=self.screen_pairs)
        check_share(self.min_share)

    @property
    def name(self) -> str:
        """``strict-mean``."""
        return "strict-mean"

    def plan(self) -> tuple[StagePlan, ...]:
        """One stage on the screen bank, without a test."""
        return (StagePlan("screen", self.screen_pairs, False, None, 0.0),)

    def scaled(self, factor: float) -> Self:
        """The same rule on ``factor`` times the seeds."""
        return replace(self, screen_pairs=max(1, round(self.screen_pairs * factor)))

    def next(self, evidence: Evidence) -> Need | Ruling:
        """Play all seeds, then compare the means."""
        scores = evidence.screen
        if scores.played < self.screen_pairs:
            return Need("screen", self.screen_pairs, False)
        short = too_few(scores, self.screen_pairs, self.min_share, "screen")
        if short is not None:
            return short
        effect = mean(scores.differences())
        # The tie of two sums of twenty-seconds must not be decided by a last bit.
        accepted = effect > 1e-9
        return ruling(
            "accept" if accepted else "reject",
            f"{'Higher' if accepted else 'No higher'} mean: {points(effect)} against the stored "
            f"scores on {counted(scores.pairs)} (no error rate is kept by this rule).",
            "screen",
            scores,
            None,
        )


_RULES: dict[str, type[TwoStageRule] | type[StrictMeanRule]] = {
    "two-stage": TwoStageRule,
    "strict-mean": StrictMeanRule,
}


def available_rules() -> tuple[str, ...]:
    """Names of the rules, the default first."""
    return tuple(_RULES)


def rule_from_name(name: str, **settings: float) -> AcceptanceRule:
    """The rule of that name.

    Args:
        name: One of `available_rules`.
        settings: Fields of the rule that differ from their defaults.

    Returns:
        The rule.

    Raises:
        UnknownRule: There is none of that name.
        BadRule: A setting is unknown to it or contradicts another.
    """
    kind = _RULES.get(name)
    if kind is None:
        close = difflib.get_close_matches(name, _RULES, n=1, cutoff=0.4)
        hint = f"Did you mean {close[0]}?" if close else f"There are: {', '.join(_RULES)}."
        raise UnknownRule(f"There is no acceptance rule called {name!r}.", mend=hint)
    known = kind.__dataclass_fields__
    for setting, value in settings.items():
        if setting not in known:
            close = difflib.get_close_matches(setting, known, n=1, cutoff=0.4)
            hint = f"Did you mean {close[0]}?" if close else f"It has: {', '.join(known)}."
            raise BadRule(f"The rule {name} has no setting {setting!r}.", mend=hint)
        if setting.endswith("_pairs") and value != int(value):
            raise BadRule(f"{setting} is {value}; it must be a whole number.")
    chosen = {
        setting: int(value) if setting.endswith("_pairs") else value
        for setting, value in settings.items()
    }
    return kind(**chosen)  # type: ignore[arg-type]
