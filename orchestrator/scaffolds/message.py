"""The text of a commit: prose for a reviewer, trailers for everything that is counted.

Prose may come from a language model, so it cannot be allowed to pass for evidence: lines that
would read as our trailers are indented, and the real ones are always the last paragraph, which
is where git looks.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence

from orchestrator.scaffolds.errors import StoreError
from orchestrator.scaffolds.names import bank_slice
from orchestrator.scaffolds.revision import KINDS, WORDS, Proposal, Verdict

Trailers = Sequence[tuple[str, str]]

WIDTH = 76
SUBJECT_WIDTH = 72

ORIGIN_KEYS = (
    "Lineage",
    "Kind",
    "Editor",
    "Editor-Tokens",
    "Editor-Cost",
    "Night",
    "Candidate",
    "Continues",
    "Reverts",
)
VERDICT_KEYS = (
    "Verdict",
    "Effect",
    "Interval",
    "P",
    "Pairs",
    "Bank-Slices",
    "Episodes",
    "Tokens",
    "Cost",
    "Hours",
    "Models",
    "Trajectories",
    "MLflow-Run",
    "Note",
)

# C0 and C1 controls (terminal escapes), and the characters that reorder text on a screen.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_FORGED = re.compile(rf"(?:{'|'.join((*ORIGIN_KEYS, *VERDICT_KEYS))})\s*:", re.IGNORECASE)
_LIST_ITEM = re.compile(r"(?:[-*]|\d+[.)]) ")


def proposal_message(proposal: Proposal, *, lineage: str, night: str, number: int) -> str:
    """The commit message of a candidate before its verdict.

    Raises:
        StoreError: The change kind is not one of ours.
    """
    if proposal.kind not in KINDS:
        raise StoreError(
            f"{proposal.kind!r} is not a kind of change.", mend=f"Use one of {', '.join(KINDS)}."
        )
    paragraphs = [
        prose(proposal.summary),
        prose(f"Why: {proposal.rationale}") if proposal.rationale.strip() else "",
        prose(f"Expected: {proposal.expected_effect}") if proposal.expected_effect.strip() else "",
    ]
    trailers = [
        ("Lineage", lineage),
        ("Kind", proposal.kind),
        ("Editor", proposal.editor),
        ("Editor-Tokens", _number(proposal.tokens or None, "d") or ""),
        ("Editor-Cost", _number(proposal.cost or None, ".4f", " USD") or ""),
        ("Night", night),
        ("Candidate", str(number)),
        ("Continues", proposal.continues),
    ]
    said = [(key, value) for key, value in trailers if value]
    return compose(proposal.subject, "\n\n".join(filter(None, paragraphs)), said)


def compose(subject: str, body: str, trailers: Trailers) -> str:
    """Join subject, body and trailers into a message that git parses back.

    Args:
        subject: First line; cut at 72 characters.
        body: Paragraphs that are already wrapped and safe (`prose`).
        trailers: Key and value in order; long values are folded.
    """
    block = "\n".join(_trailer_line(key, value) for key, value in trailers)
    return "\n\n".join(filter(None, [subject_line(subject), body.strip("\n"), block])) + "\n"


def subject_line(text: str) -> str:
    """One printable line of at most 72 characters."""
    line = _one_line(text).lstrip("#").strip() or "Revise the scaffold"
    if len(line) <= SUBJECT_WIDTH:
        return line
    return textwrap.shorten(line, SUBJECT_WIDTH, placeholder="…") or line[:SUBJECT_WIDTH]


def prose(text: str) -> str:
    """Wrap text written by anyone so that it reads well and cannot pass for a trailer."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", "    ")
    text = _UNPRINTABLE.sub("", text)
    lines = [wrapped for line in text.split("\n") for wrapped in _wrap(line.rstrip())]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(map(_harmless, lines))).strip("\n")


def verdict_trailers(verdict: Verdict) -> list[tuple[str, str]]:
    """The trailers that spell a verdict.

    Raises:
        BadName: A bank slice is not a slice.
        StoreError: The word or a number is not one.
    """
    if verdict.word not in WORDS:
        raise StoreError(f"{verdict.word!r} is not a verdict.", mend=f"Use {', '.join(WORDS)}.")
    for value in (verdict.effect, verdict.p, verdict.cost, verdict.hours):
        if value is not None and not math.isfinite(value):
            raise StoreError(f"A verdict cannot hold {value}.", mend="Leave the figure out.")
    rows: list[tuple[str, str | None]] = [
        ("Verdict", verdict.word),
        ("Effect", _number(verdict.effect, "+.2f", " points")),
        ("Interval", _range(verdict.interval)),
        ("P", _number(verdict.p, ".4g")),
        ("Pairs", _number(verdict.pairs, "d")),
        ("Bank-Slices", ", ".join(map(bank_slice, verdict.bank_slices))),
        ("Episodes", _number(verdict.episodes, "d")),
        ("Tokens", _number(verdict.tokens, "d")),
        ("Cost", _number(verdict.cost, ".4f", " USD")),
        ("Hours", _number(verdict.hours, ".2f")),
        *(("Models", f"{role} = {name}") for role, name in sorted(verdict.models.items())),
        ("Trajectories", ", ".join(verdict.trajectories)),
        ("MLflow-Run", verdict.mlflow_run),
        *(("Note", note) for note in verdict.notes),
    ]
    return [(key, value) for key, value in rows if value]


def read_verdict(trailers: Trailers) -> Verdict | None:
    """The verdict that trailers spell, or None; a figure that cannot be read is left out."""
    single = {key.lower(): value for key, value in trailers}
    word = single.get("verdict", "")
    if word not in WORDS:
        return None
    return Verdict(
        word=word,
        effect=_first_float(single.get("effect")),
        interval=_interval(single.get("interval")),
        p=_first_float(single.get("p")),
        pairs=_int(single.get("pairs")),
        bank_slices=_names(single.get("bank-slices")),
        episodes=_int(single.get("episodes")),
        tokens=_int(single.get("tokens")),
        cost=_first_float(single.get("cost")),
        hours=_first_float(single.get("hours")),
        models=_models(value for key, value in trailers if key.lower() == "models"),
        trajectories=_names(single.get("trajectories")),
        mlflow_run=single.get("mlflow-run"),
        notes=tuple(value for key, value in trailers if key.lower() == "note"),
    )


def with_verdict(trailers: Trailers, verdict: Verdict) -> list[tuple[str, str]]:
    """Trailers with the verdict put in, or put in the place of an earlier one."""
    drop = {key.lower() for key in VERDICT_KEYS}
    origin = [(key, value) for key, value in trailers if key.lower() not in drop]
    return [*verdict_trailers(verdict), *origin]


def _trailer_line(key: str, value: str) -> str:
    return textwrap.fill(
        f"{key}: {_one_line(value)}",
        WIDTH,
        subsequent_indent=" ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _one_line(text: str) -> str:
    return " ".join(_UNPRINTABLE.sub(" ", text).split())


def _wrap(line: str) -> list[str]:
    # Code and tables keep their shape; a list item keeps its indent.
    if len(line) <= WIDTH or line.startswith(("    ", "|", "```")):
        return [line]
    indent = "  " if _LIST_ITEM.match(line) else ""
    return textwrap.wrap(
        line, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def _harmless(line: str) -> str:
    # A line of "#" can be a scissors mark, below which git reads nothing; a key of ours at the
    # start of a line would look like evidence to whoever reads the log.
    return f"  {line}" if line.startswith("#") or _FORGED.match(line) else line


def _number(value: float | None, form: str, unit: str = "") -> str | None:
    return None if value is None else f"{value:{form}}{unit}"


def _range(interval: tuple[float, float] | None) -> str | None:
    return f"{interval[0]:+.2f} to {interval[1]:+.2f} points (95%)" if interval else None


def _first_float(text: str | None) -> float | None:
    try:
        return float((text or "").split()[0])
    except (ValueError, IndexError):
        return None


def _int(text: str | None) -> int | None:
    return int(text) if text and re.fullmatch(r"[0-9]{1,18}", text) else None


def _interval(text: str | None) -> tuple[float, float] | None:
    low, _, high = (text or "").partition(" to ")
    bounds = _first_float(low), _first_float(high)
    return None if bounds[0] is None or bounds[1] is None else (bounds[0], bounds[1])


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(filter(None, (part.strip() for part in (text or "").split(","))))


def _models(lines: Iterable[str]) -> Mapping[str, str]:
    pairs = (line.partition(" = ") for line in lines)
    return {role: name for role, sep, name in pairs if sep}
