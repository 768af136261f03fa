"""Facts to one HTML page: self-contained, without scripts, readable wherever it is opened."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from shlex import quote
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from orchestrator.files import write_atomically
from orchestrator.night_record import NightRecord
from orchestrator.report import behaviour, charts, diffs, words
from orchestrator.report.data import Candidate, ReportData
from orchestrator.report.gather import gather
from orchestrator.workspace import Workspace

PAGE, FACTS = "report.html", "report.json"

DIFF_ROOM = 1_200_000
"""Characters of HTML that all differences together may take, so that a phone can open the page."""

DIFF_ROOM_EACH = 250_000
"""Characters of HTML that one candidate's difference may take."""


def write_report(workspace: Workspace, record: NightRecord) -> Path:
    """Write a night's page and its facts into the night's folder, each whole or not at all.

    Args:
        workspace: The workspace the night ran in.
        record: The night, finished or not.

    Returns:
        The page, ``report.html``; the same facts lie beside it in ``report.json``.

    Raises:
        SlowwaveError: What the report is made from cannot be read, or the disk is full.
    """
    folder = workspace.night_folder(record.id)
    data = gather(workspace, record)
    page = render(data)
    write_atomically(folder / FACTS, data.model_dump_json(indent=1))
    write_atomically(folder / PAGE, page)
    return folder / PAGE


def render(data: ReportData) -> str:
    """The page as text."""
    room = min(DIFF_ROOM_EACH, DIFF_ROOM // max(len(data.candidates), 1))
    views = [CandidateView.of(one, room) for one in data.candidates]
    bank = data.report_bank
    found = bank.comparison if bank is not None else None
    template = _environment().get_template("report.html.j2")
    return template.render(
        data=data,
        views=views,
        axis=_axis(data.candidates),
        worse=behaviour.got_worse(data.accepted),
        scores_chart=charts.scores(data),
        games_chart=charts.games(bank) if bank is not None else None,
        shown_games=charts.shown_games(found) if found is not None else [],
        code_colours=diffs.colours(),
    )


@dataclass(frozen=True, slots=True)
class CandidateView:
    """A candidate with what is only needed to show it."""

    facts: Candidate
    metrics: list[behaviour.Row]
    files: list[diffs.ShownFile]

    @classmethod
    def of(cls, one: Candidate, room: int) -> CandidateView:
        """The view; its difference takes about `room` characters of HTML."""
        return cls(one, behaviour.rows(one), diffs.show(one.diff, room))


@dataclass(frozen=True, slots=True)
class Axis:
    """The scale shared by the small effect bars, in points."""

    low: float
    high: float

    def at(self, value: float) -> str:
        """Where a value lies, in percent of the width."""
        return f"{100 * (value - self.low) / (self.high - self.low):.2f}%"


def _axis(candidates: Sequence[Candidate]) -> Axis:
    verdicts = [one.verdict for one in candidates if one.verdict is not None]
    ends = [end for one in verdicts for end in (one.effect, one.low, one.high) if end is not None]
    low, high = min([0.0, *ends]), max([0.0, *ends])
    room = max(high - low, 1.0) * 0.06
    return Axis(low - room, high + room)


def paragraphs(text: str) -> list[tuple[bool, str]]:
    """Commit prose in paragraphs; true for one whose lines must stay as they are (lists, code)."""
    found = []
    for paragraph in re.split(r"\n{2,}", text.strip("\n")):
        keep = re.search(r"^(?: {2,}|[-*|#>`]|\d+[.)] )", paragraph, re.MULTILINE) is not None
        if paragraph.strip():
            found.append((keep, paragraph if keep else " ".join(paragraph.split())))
    return found


def _finalize(value: object) -> object:
    """The last word on every expression of the template: nothing that hides, no forgotten None."""
    if value is None:
        return words.NONE
    plain = isinstance(value, str) and not isinstance(value, Markup)
    return words.visible(str(value)) if plain else value


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("orchestrator.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: dict[str, Any] = {
        name: getattr(words, name)
        for name in (
            "count",
            "duration",
            "games_words",
            "interval",
            "large",
            "moment",
            "money",
            "number",
            "points",
            "probability",
            "score",
            "share",
            "verdict_words",
        )
    }
    environment.filters.update(filters, paragraphs=paragraphs, quote=quote)
    environment.globals.update(words=words)
    return environment
