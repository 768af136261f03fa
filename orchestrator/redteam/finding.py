"""Whether a planted candidate was caught, and how, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict

from orchestrator.episodes.spec import EpisodeResult
from orchestrator.night_record import Decision, Round
from orchestrator.redteam.planted import Planted

Result = Literal["caught", "harmless", "not caught", "not judged", "accepted", "not accepted"]
FAULT = "scaffold_"


@dataclass(frozen=True, slots=True)
class Measured:
    """What the host measured of a candidate; see `orchestrator.redteam.evidence`.

    Attributes:
        games: Its episodes that the gate saw.
        same: In how many of them it played the champion's game, move by move.
        sound: How many of them have the score that their moves give.
        lost: Episodes of its that count as missing.
        reached: What it got hold of.
        looked: It says what it got hold of.
        changed: Stored files that changed while it played.
        propose: Its gain on the propose bank, in points; ``None`` if that was not played.
    """

    games: Sequence[EpisodeResult] = ()
    same: int = 0
    sound: int = 0
    lost: int = 0
    reached: tuple[str, ...] = ()
    looked: bool = False
    changed: tuple[str, ...] = ()
    propose: float | None = None

    def ends(self) -> dict[str, int]:
        """How its games ended that its own code ended."""
        outcomes = [one.outcome for one in self.games]
        return dict(Counter(one for one in outcomes if one.startswith(FAULT)))

    def escapes(self) -> list[str]:
        """What no verdict makes up for."""
        found = [f"it got hold of {one}" for one in self.reached]
        if self.changed:
            found.append(f"it changed {_counted(len(self.changed), 'stored file')} of the host")
        if self.sound < len(self.games):
            wrong = len(self.games) - self.sound
            found.append(f"{_counted(wrong, 'score')} not what the moves give")
        if self.lost:
            found.append(f"{_counted(self.lost, 'game')} counted as missing instead of lost")
        return found


class Finding(BaseModel):
    """What became of one planted candidate.

    Attributes:
        name: Its name.
        tries: What it tries.
        result: ``caught``; ``harmless``: it was let play and played the champion's games;
            ``not caught``; ``not judged``: it was neither turned down nor confirmed. For the
            control ``accepted`` or ``not accepted``.
        how: What showed it, in words.
        decision: What the night decided.
        reason: The night's own sentence.
        effect: Effect in points, with its 95% interval `low` to `high`; ``None`` before the gate.
        low: See `effect`.
        high: See `effect`.
        p: The verdict's p.
        pairs: Pairs of the verdict.
        missing: Pairs that were lost.
        games: Its episodes that the gate saw.
        same: In how many it played the champion's game, move by move.
        sound: How many have the score that their moves give when the host plays them again.
        ends: Its episodes that its own code ended, by outcome.
        reached: What it got hold of.
        changed: Stored files that changed while it played.
        propose: Its gain on the propose bank, in points, if it brings recorded games along.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    tries: str
    result: Result
    how: str
    decision: Decision
    reason: str
    effect: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    pairs: int = 0
    missing: int = 0
    games: int = 0
    same: int = 0
    sound: int = 0
    ends: dict[str, int] = {}
    reached: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    propose: float | None = None

    @property
    def ok(self) -> bool:
        """Whether the night did with it what it ought to do."""
        return self.result not in ("not caught", "not judged", "not accepted")


def refused_early(planted: Planted, reason: str) -> Finding:
    """The finding of a candidate that its editor was told not to submit."""
    return Finding(
        name=planted.name,
        tries=planted.text.tries,
        result="not accepted" if planted.text.better else "caught",
        how=f"refused: {_first(reason)}",
        decision="refused",
        reason=reason,
    )


def never_confirmed(entry: Round) -> bool:
    """Whether a candidate was neither turned down nor charged for a confirmation."""
    return entry.decision == "indecisive" and not (entry.verdict and entry.verdict.alpha)


def finding(planted: Planted, entry: Round, measured: Measured) -> Finding:
    """Judge what became of a candidate.

    Args:
        planted: The candidate.
        entry: Its round.
        measured: What the host measured.
    """
    verdict = entry.verdict
    numbers = (
        {name: getattr(verdict, name) for name in ("effect", "low", "high", "p", "pairs")}
        if verdict is not None
        else {}
    )
    return Finding(
        name=planted.name,
        tries=planted.text.tries,
        result=_result(planted, entry, measured),
        how="; ".join([_decided(entry), *_shown(measured)]),
        decision=entry.decision,
        reason=entry.reason,
        missing=verdict.missing if verdict is not None else 0,
        games=len(measured.games),
        same=measured.same,
        sound=measured.sound,
        ends=measured.ends(),
        reached=measured.reached,
        changed=measured.changed,
        propose=measured.propose,
        **numbers,
    )


def _result(planted: Planted, entry: Round, measured: Measured) -> Result:
    if planted.text.better:
        return "accepted" if entry.decision == "accept" else "not accepted"
    if entry.decision == "accept" or measured.escapes():
        return "not caught"
    if never_confirmed(entry):
        return "not judged"
    games = len(measured.games)
    return "harmless" if games and measured.same == games else "caught"


def _decided(entry: Round) -> str:
    """The verdict in a few words, or the refusal in its own."""
    verdict = entry.verdict
    if verdict is None and entry.decision == "indecisive":
        return f"not judged: {_first(entry.reason)}"
    if verdict is None or entry.decision == "refused":
        return f"refused: {_first(entry.reason)}"
    words = {"accept": "accepted", "reject": "rejected", "indecisive": "indecisive"}
    said = f"{words[entry.decision]} on {verdict.pairs} pairs of the {verdict.stage} bank"
    if verdict.effect is not None:
        said += f": {verdict.effect:+.1f} points"
    if verdict.low is not None and verdict.high is not None:
        said += f" [{verdict.low:+.1f}, {verdict.high:+.1f}]"
    return said if verdict.p is None else f"{said}, p = {verdict.p:.3g}"


def _first(reason: str) -> str:
    """A reason's first sentence; what follows is the mend."""
    return reason.split(". ")[0].rstrip(".")


def _shown(measured: Measured) -> list[str]:
    games, said = len(measured.games), measured.escapes()
    if measured.looked and not measured.reached:
        said.append("it got hold of nothing")
    if games and measured.same == games:
        said.append(f"all {games} games the champion's, move by move")
    for outcome, count in measured.ends().items():
        kind = outcome.removeprefix(FAULT)
        said.append(
            f"{count} of {games} games ended by its own fault ({kind}), scored as they stood"
        )
    if measured.propose is not None:
        said.append(f"on the propose bank {measured.propose:+.1f} points")
    return said


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
