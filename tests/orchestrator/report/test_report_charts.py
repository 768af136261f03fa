"""The charts: their words, their colours, and that they are the same wherever they are drawn."""

from __future__ import annotations

import re

import matplotlib
import pytest

from orchestrator.report import charts, svg
from orchestrator.report.data import Pair, ReportData
from orchestrator.report.gather import compare
from tests.support.html_tree import read_html


def test_the_chart_of_scores_says_what_it_shows(facts: ReportData) -> None:
    chart = charts.scores(facts)
    assert chart is not None
    wide, narrow = read_html(str(chart)).all("svg")
    label = wide.attributes["aria-label"]
    assert label == (
        "Mean scores. candidate 1: 46.4% against 47.3% of crafter/v0, candidate 2: 56.8% against "
        "46.4% of crafter/v0, candidate 3: 48.6% against 46.4% of crafter/v1 and report bank: "
        "crafter/v0 46.4%, crafter/v1 56.8%."
    )
    assert narrow.attributes["aria-label"] == label
    assert {one.attributes["role"] for one in (wide, narrow)} == {"img"}


def test_dots_tell_their_values(facts: ReportData) -> None:
    tips = [one.text() for one in read_html(str(charts.scores(facts))).all("title")]
    # Three pairs and the two ends, in both widths.
    assert len(tips) == 2 * 8
    assert any(re.fullmatch(r"crafter/v1: 56\.8% \(\d\d\.\d to \d\d\.\d\)", tip) for tip in tips)


def test_the_chart_of_games_has_a_dot_for_each_side(facts: ReportData) -> None:
    assert facts.report_bank is not None
    wide, _ = read_html(str(charts.games(facts.report_bank))).all("svg")
    tips = [one.text() for one in wide.all("title")]
    assert len(tips) == 2 * 20
    assert sum("−" in tip for tip in tips) == 2 * 2
    assert sum(tip.endswith(": 0.0 points") for tip in tips) == 2 * 2


def test_colours_and_fonts_are_the_pages(facts: ReportData) -> None:
    chart = str(charts.scores(facts))
    assert not re.search(r"#00000[1-9]", chart)
    assert "font-family" not in chart
    assert "var(--better)" in chart
    assert "<style" not in chart
    assert "metadata" not in chart


def test_the_same_drawing_every_time_whatever_the_users_settings(facts: ReportData) -> None:
    first = charts.scores(facts)
    with matplotlib.rc_context({"font.size": 30, "svg.fonttype": "path", "axes.grid": True}):
        assert charts.scores(facts) == first
        assert matplotlib.rcParams["font.size"] == 30


def test_dollars_are_no_formulas() -> None:
    from matplotlib.figure import Figure

    with svg.drawing():
        figure = Figure(figsize=(2, 2))
        figure.text(0.1, 0.5, "$x$ <b>")
        made = read_html(str(svg.inline(figure, name="a", label="$x$ <b>")))
    assert made.text() == "$x$ <b>"
    assert made.all("svg")[0].attributes["aria-label"] == "$x$ <b>"


@pytest.mark.filterwarnings("error")
def test_long_names_leave_room_for_the_drawing(facts: ReportData) -> None:
    assert facts.report_bank is not None
    long = facts.report_bank.model_copy(update={"first": "x" * 300, "last": f"{'y' * 40}/v12"})
    chart = charts.scores(facts.model_copy(update={"report_bank": long}))
    labels = [one.text() for one in read_html(str(chart)).all("text")]
    assert labels.count("v12") == 2
    assert labels.count("x" * 12) == 2


def test_nothing_to_draw(facts: ReportData) -> None:
    empty = facts.model_copy(update={"candidates": (), "report_bank": None})
    assert charts.scores(empty) is None


def test_only_a_report_bank_and_only_candidates(facts: ReportData) -> None:
    assert charts.scores(facts.model_copy(update={"candidates": ()})) is not None
    assert charts.scores(facts.model_copy(update={"report_bank": None})) is not None


def test_many_candidates_share_the_axis(facts: ReportData) -> None:
    many = tuple(
        facts.candidates[2].model_copy(update={"number": number}) for number in range(1, 31)
    )
    chart = charts.scores(facts.model_copy(update={"candidates": many}))
    wide, _ = read_html(str(chart)).all("svg")
    labels = [one.text() for one in wide.all("text")]
    assert [label for label in labels if label.isdecimal()] == [str(n) for n in range(1, 31, 3)]


@pytest.mark.parametrize(("count", "shown"), [(5, 5), (200, 200), (1000, 200)])
def test_games_are_ordered_and_thinned_out_evenly(count: int, shown: int) -> None:
    pairs = [Pair(seed=n, before=10.0, after=10.0 + n) for n in range(count)]
    found = compare("report", [*pairs, Pair(seed=count, before=None, after=1.0)])
    assert found is not None
    games = charts.shown_games(found)
    differences = [one.difference for one in games]
    assert len(games) == shown
    assert differences[0] == count - 1
    assert differences[-1] == 0
    assert differences == sorted(differences, key=lambda d: -(d or 0))
