"""Whether a rule can accept anything at all, asked before anything is spent."""

from __future__ import annotations

import math

from orchestrator.gate.errors import CannotReach
from orchestrator.gate.protocol import AcceptanceRule, counted, enough
from orchestrator.gate.signflip import fewest_pairs


def check_reach(
    rule: AcceptanceRule,
    *,
    night_alpha: float = 0.05,
    binary: bool = False,
    champion_rate: float | None = None,
) -> tuple[str, ...]:
    """Whether the rule can accept anything at all, asked before anything is spent.

    Args:
        rule: The rule as configured.
        night_alpha: What the night may spend on confirmations.
        binary: Scores are only won or lost, so that only discordant pairs count.
        champion_rate: Share of episodes the champion wins, if `binary` and known: the pairs it
            wins cannot become discordant in the candidate's favour.

    Returns:
        Sentences a person should know before the night; empty if there is nothing to say.

    Raises:
        CannotReach: A stage cannot reach its level with the pairs it may end up with, or the night
            cannot afford a single confirmation.
    """
    said = []
    for stage in rule.plan():
        if stage.alpha is None:
            continue
        if stage.charge > night_alpha:
            raise CannotReach(
                f"A confirmation charges {stage.charge:g} and the night may spend {night_alpha:g}: "
                "nothing could ever be accepted.",
                mend="Lower confirm_alpha or raise the night's error budget.",
            )
        needed = fewest_pairs(stage.alpha)
        fewest = enough(stage.pairs, rule.min_share)
        if fewest < needed:
            raise CannotReach(
                f"The {stage.stage} stage may be decided on {counted(fewest)}, and the smallest p "
                f"that {counted(fewest)} can give is {2.0**-fewest:.3g}, above {stage.alpha:g}.",
                mend=f"Give it at least {needed} pairs that must be complete, or a higher level.",
            )
        if not binary:
            continue
        said.append(
            f"Scores are won or lost: the {stage.stage} stage needs {needed} or more pairs of "
            f"{stage.pairs} won by the candidate and lost by the champion, and none the other way, "
            f"to reach {stage.alpha:g}."
        )
        if champion_rate is None:
            continue
        room = stage.pairs * (1 - champion_rate)
        if room < needed:
            raise CannotReach(
                f"The champion wins {champion_rate:.0%} of its episodes, which leaves about "
                f"{room:.1f} of {stage.pairs} pairs of the {stage.stage} stage to win; "
                f"{needed} are needed to reach {stage.alpha:g}.",
                mend="There is nothing left to win here; use a harder task."
                if champion_rate >= 1
                else f"About {math.ceil(needed / (1 - champion_rate))} pairs would do.",
            )
    return tuple(said)
