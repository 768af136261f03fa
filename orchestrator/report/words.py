"""Numbers and verdicts in plain words; pure functions of the facts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from orchestrator.report.data import (
    Candidate,
    Comparison,
    ErrorRate,
    Estimate,
    Model,
    ReportData,
    Spend,
)

MINUS = "\N{MINUS SIGN}"
NONE = "\N{EN DASH}"

DECISIONS = {
    "accept": "kept",
    "reject": "not kept",
    "indecisive": "undecided",
    "refused": "refused",
}
"""What became of a candidate, in a word."""

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

# Controls, characters that reorder or hide text on a screen, and what is no character at all.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff"
    "\ud800-\udfff\ufffe\uffff]"
)


def visible(text: str) -> str:
    """Text in which nothing hides: controls and reordering marks are shown as their number."""
    return _UNSEEN.sub(lambda found: f"⟦U+{ord(found[0]):04X}⟧", text)


def number(value: float | None, form: str = ",.1f") -> str:
    """A number with a real minus sign, or a dash."""
    if value is None:
        return NONE
    text = f"{value:{form}}"
    if re.fullmatch(r"[-+][0.,]+%?", text):
        text = text[1:]  # neither minus nor plus zero
    return text.replace("-", MINUS)


def score(value: float | None) -> str:
    """A score in percent."""
    return NONE if value is None else f"{number(value)}%"


def points(value: float | None) -> str:
    """A difference in points."""
    if value is None:
        return NONE
    shown = number(value, "+,.1f")
    return f"{shown} point" if shown.lstrip("+" + MINUS) == "1.0" else f"{shown} points"


def interval(estimate: Estimate, form: str = "+,.1f") -> str:
    """The interval of an estimate, without what it is of."""
    if estimate.low is None or estimate.high is None:
        return NONE
    return f"{number(estimate.low, form)} to {number(estimate.high, form)}"


def probability(value: float | None) -> str:
    """A p-value with two digits that count."""
    if value is None:
        return NONE
    text = f"{value:.2g}"
    mantissa, mark, exponent = text.partition("e")
    return f"{mantissa}×10{str(int(exponent)).translate(_SUPERSCRIPTS)}" if mark else text


def share(value: float) -> str:
    """A small probability in percent, with no more digits than it has: ``5%``, ``0.5%``."""
    return f"{100 * value:.4g}%"


def odds(value: float) -> str:
    """A small probability as a chance: ``1 in 66,000``."""
    one_in = 1 / value
    size = 10 ** max(0, len(str(int(one_in))) - 2)
    return f"1 in {round(one_in / size) * size:,}"


def money(usd: float) -> str:
    """An amount of US dollars; small ones to a hundredth of a cent."""
    return f"${usd:,.2f}" if usd >= 0.1 or usd == 0 else f"${usd:.4f}"


def count(value: int, one: str, many: str | None = None) -> str:
    """``1 game``, ``3 games``."""
    return f"{value:,} {one if value == 1 else many or one + 's'}"


def large(value: int) -> str:
    """A large count, shortened: ``44.7 million``."""
    for size, word in ((10**9, "billion"), (10**6, "million")):
        if value >= size:
            return f"{value / size:,.1f} {word}"
    return f"{value:,}"


def duration(seconds: float) -> str:
    """A time span with its two leading units."""
    whole = round(seconds)
    hours, rest = divmod(whole, 3600)
    minutes, left = divmod(rest, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {left} s" if minutes else f"{left} s"


def moment(when: datetime) -> str:
    """A point in time with its offset: ``30 November 2026, 23:07 (UTC+01:00)``."""
    zone = when.isoformat()[-6:] if when.utcoffset() else ""
    return f"{when.day} {when:%B %Y, %H:%M} (UTC{zone})"


def listed(items: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return " and ".join(filter(None, [", ".join(items[:-1]), *items[-1:]]))


# --- sentences --------------------------------------------------------------------------------


def summary(data: ReportData) -> tuple[str, ...]:
    """The night in one to three sentences: what changed, how sure that is."""
    kept, tried = data.accepted, len(data.candidates)
    if not tried:
        sentences = [f"No candidate was judged, so {data.first} is as it was."]
    elif kept:
        # More than two would bury the figures; the page lists them right below.
        names = f": {listed([f'“{one.subject}”' for one in kept])}" if len(kept) <= 2 else ""
        sentences = [f"{len(kept)} of {count(tried, 'candidate')} kept{names}."]
    else:
        none = "the one candidate was not" if tried == 1 else f"none of {tried} candidates was"
        sentences = [f"Nothing was kept: {none} proven better than {data.first}."]
    if not data.finished:
        so_far = f"{tried} of at most {count(data.candidates_at_most, 'candidate')} judged so far"
        sentences.insert(0, f"This night is not finished: {so_far}.")
    return (*sentences, *_report_sentence(data))


def _report_sentence(data: ReportData) -> list[str]:
    bank = data.report_bank
    if bank is None or bank.comparison is None:
        return []
    found = bank.comparison
    games = count(len(found.pairs) - found.missing, "sealed game")
    if data.suite:
        games += ", each one seed on every environment"
    if not data.accepted:
        return [f"It scores {score(found.before.mean)} on average over {games}."]
    sure = ""
    if found.effect.low is not None:
        sure = f" (95% interval {interval(found.effect)})"
    return [
        f"On {games}, played when all was decided, the mean score went from "
        f"{score(found.before.mean)} to {score(found.after.mean)}: "
        f"{points(found.effect.mean)}{sure}."
    ]


def verdict_words(one: Candidate) -> str:
    """What became of a candidate, in two or three sentences for somebody new to it."""
    verdict = one.verdict
    if verdict is None and one.decision == "indecisive":
        return "Not judged: it was not tried out, which says nothing about it."
    if verdict is None:
        return "Refused before it was judged: it played no game that counts."
    where = "fresh" if verdict.stage == "confirm" else "screening"
    shown = f"on {count(verdict.pairs, f'{where} game')} it scored {_than(verdict.effect, one)}"
    if verdict.decision == "accept":
        return f"Kept: {shown}.{_chance(verdict.p)}"
    if verdict.decision == "indecisive":
        return f"Undecided, so not kept: {shown}."
    if verdict.stage == "confirm":
        return f"Not kept: it passed the screen, but {shown}.{_chance(verdict.p)}"
    return f"Not kept: {shown}; that is too little to go on with."


def _than(effect: float | None, one: Candidate) -> str:
    if effect is None:
        return "nothing that can be compared"
    shown = points(abs(effect)).removeprefix("+")
    if shown.startswith("0.0 "):
        return f"the same as {one.champion} on average"
    return f"{shown} {'more' if effect > 0 else 'less'} than {one.champion} on average"


def _chance(p: float | None) -> str:
    if p is None:
        return ""
    chance = f"{probability(p)} ({odds(p)})" if p < 0.01 else probability(p)
    return (
        " If the change made no difference, luck alone would give a result at least this good"
        f" with probability {chance}."
    )


def games_words(found: Comparison) -> str:
    """On how many games it went better, worse and the same."""
    text = f"better on {found.better}, worse on {found.worse}, the same on {found.same}"
    return f"{text}, lost {found.missing}" if found.missing else text


def error_words(rate: ErrorRate) -> str:
    """The false-acceptance rate that the gate keeps."""
    if rate.allowed is None:
        return (
            f"The rule {rate.rule} keeps no error rate: a candidate that is merely lucky is kept."
        )
    return f"At most {share(rate.allowed)} a night; this one charged {share(rate.charged)}"


def model_words(models: Sequence[Model]) -> str:
    """Which model played, by role where they differ."""
    by_model: dict[str, list[str]] = {}
    for one in models:
        by_model.setdefault(_model(one), []).append(one.role)
    if len(by_model) == 1:
        return next(iter(by_model))
    return "; ".join(f"{listed(roles)}: {name}" for name, roles in by_model.items())


def _model(one: Model) -> str:
    if one.provider == "heuristic":
        return "heuristic: no language model"
    return f"{one.name} ({one.provider}, {one.url})"


def editor_words(editor: str) -> str:
    """Who proposed."""
    return "rules: a catalogue of known edits, no language model" if editor == "rules" else editor


def free(models: Sequence[Model]) -> bool:
    """Whether no language model was asked at all."""
    return all(one.provider == "heuristic" for one in models)


def cost_words(spend: Spend, models: Sequence[Model]) -> str:
    """What the night cost."""
    if free(models):
        return "$0: no language model was asked"
    what = "" if spend.whole_night else " for judging"
    text = f"{money(spend.money_usd)}, {large(spend.tokens)} tokens{what}"
    if spend.presumed_usd:
        text += f"; {money(spend.presumed_usd)} of it for calls whose bill is not known"
    return text
