"""Numbers and verdicts in words."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.gate.verdict import Verdict
from orchestrator.report import words
from orchestrator.report.behaviour import METRICS, Row, got_worse, rows
from orchestrator.report.data import Candidate, ErrorRate, Model, ReportData, Spend


@pytest.mark.parametrize(
    ("value", "shown"),
    [(-3.64, "−3.6"), (2.25, "2.2"), (-0.04, "0.0"), (1234.5, "1,234.5"), (None, "–")],
)
def test_numbers(value: float | None, shown: str) -> None:
    assert words.number(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(1.0, "+1.0 point"), (-1.04, "−1.0 point"), (0.0, "0.0 points"), (10.45, "+10.4 points")],
)
def test_points(value: float, shown: str) -> None:
    assert words.points(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(1.0, "1"), (0.28125, "0.28"), (0.00078, "0.00078"), (4 / 2**18, "1.5×10⁻⁵"), (None, "–")],
)
def test_probabilities(value: float | None, shown: str) -> None:
    assert words.probability(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"), [(4 / 2**18, "1 in 66,000"), (0.0039, "1 in 260"), (0.05, "1 in 20")]
)
def test_odds(value: float, shown: str) -> None:
    assert words.odds(value) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0, "0 s"), (59.6, "1 min 0 s"), (252, "4 min 12 s"), (26_000, "7 h 13 min")],
)
def test_durations(seconds: float, shown: str) -> None:
    assert words.duration(seconds) == shown


@pytest.mark.parametrize(
    ("usd", "shown"), [(0, "$0.00"), (0.0042, "$0.0042"), (12.345, "$12.35"), (1e4, "$10,000.00")]
)
def test_money(usd: float, shown: str) -> None:
    assert words.money(usd) == shown


def test_small_things() -> None:
    assert words.share(0.05) == "5%"
    assert words.share(0.005) == "0.5%"
    assert words.large(44_680_366) == "44.7 million"
    assert words.large(999_999) == "999,999"
    assert words.count(1, "game") == "1 game"
    assert words.count(1200, "game") == "1,200 games"
    assert words.listed(["a"]) == "a"
    assert words.listed(["a", "b", "c"]) == "a, b and c"


def test_a_moment_names_its_zone() -> None:
    when = datetime(2026, 11, 30, 23, 7, tzinfo=UTC)
    assert words.moment(when) == "30 November 2026, 23:07 (UTC)"
    east = when.astimezone(timezone(timedelta(hours=5, minutes=30)))
    assert words.moment(east) == "1 December 2026, 04:37 (UTC+05:30)"


@given(st.text())
def test_nothing_hides_in_visible_text(text: str) -> None:
    shown = words.visible(text)
    assert not words._UNSEEN.search(shown)
    assert words.visible(shown) == shown
    # And nothing is lost: the numbers say what stood there.
    assert re.sub(r"⟦U\+([0-9A-F]{4})⟧", lambda found: chr(int(found[1], 16)), shown) == text


def test_marks_that_reorder_text_are_shown_by_number() -> None:
    assert words.visible("a\u202eb\u200bc\x1b[0m") == "a⟦U+202E⟧b⟦U+200B⟧c⟦U+001B⟧[0m"


def test_verdicts_in_words(facts: ReportData) -> None:
    screened, kept, unconfirmed, refused = map(words.verdict_words, facts.candidates)
    assert screened == (
        "Not kept: on 5 screening games it scored 0.9 points less than crafter/v0 on average; "
        "that is too little to go on with."
    )
    assert kept == (
        "Kept: on 20 fresh games it scored 10.5 points more than crafter/v0 on average. If the "
        "change made no difference, luck alone would give a result at least this good with "
        "probability 1.5×10⁻⁵ (1 in 66,000)."
    )
    assert unconfirmed.startswith(
        "Not kept: it passed the screen, but on 20 fresh games it scored 2.3 points more than "
        "crafter/v1 on average."
    )
    assert refused == "Refused before it was judged: it played no game that counts."
    untried = facts.candidates[-1].model_copy(update={"decision": "indecisive"})
    said = words.verdict_words(untried)
    assert said == "Not judged: it was not tried out, which says nothing about it."


def test_an_undecided_verdict_with_nothing_to_compare(facts: ReportData) -> None:
    verdict = Verdict(decision="indecisive", reason="", rule="two-stage", stage="screen")
    one = facts.candidates[0].model_copy(update={"verdict": verdict, "decision": "indecisive"})
    assert words.verdict_words(one) == (
        "Undecided, so not kept: on 0 screening games it scored nothing that can be compared."
    )


def test_a_rule_without_an_error_rate_says_so() -> None:
    rate = ErrorRate(rule="strict-mean", allowed=None, charged=0, left=0, confirm_alpha=None)
    assert "keeps no error rate" in words.error_words(rate)


def _model(role: str, name: str) -> Model:
    return Model(role=role, provider="openai", name=name, url="http://localhost/v1")


def test_models_are_named_once_if_they_are_one() -> None:
    heuristic = Model(role="action", provider="heuristic", name="", url="")
    assert words.model_words([heuristic]) == "heuristic: no language model"
    same = [_model("action", "m"), _model("memory", "m")]
    assert words.model_words(same) == "m (openai, http://localhost/v1)"
    assert words.model_words([_model("action", "m"), _model("memory", "k")]) == (
        "action: m (openai, http://localhost/v1); memory: k (openai, http://localhost/v1)"
    )


def test_costs_in_words() -> None:
    spend = Spend(
        whole_night=True,
        money_usd=12.3456,
        presumed_usd=0.25,
        tokens=44_680_366,
        episodes=1,
        episode_hours=1,
    )
    paid = [_model("action", "m")]
    assert words.cost_words(spend, paid) == (
        "$12.35, 44.7 million tokens; $0.25 of it for calls whose bill is not known"
    )
    free = [Model(role="action", provider="heuristic", name="", url="")]
    assert words.cost_words(spend, free) == "$0: no language model was asked"


def _with(
    facts: ReportData, before: dict[str, float | None], after: dict[str, float | None]
) -> Candidate:
    return facts.candidates[1].model_copy(update={"metrics_before": before, "metrics_after": after})


def test_which_way_is_better_depends_on_the_metric(facts: ReportData) -> None:
    one = _with(
        facts,
        {"progression": 40.0, "stuck_rate": 0.1, "memory_growth": 5.0, "override_rate": 0.0001},
        {"progression": 50.0, "stuck_rate": 0.2, "memory_growth": 9.0, "override_rate": 0.0002},
    )
    assert rows(one) == [
        Row("progression", "Score (progression)", "40.0%", "50.0%", "better", True),
        Row("stuck_rate", "Actions that changed nothing", "10.0%", "20.0%", "worse", True),
        Row("memory_growth", "Characters of memory added per step", "5.00", "9.00", "more", True),
        # Too close to be told apart as shown.
        Row("override_rate", METRICS["override_rate"].label, "0.0%", "0.0%", "same", True),
    ]
    assert [row.name for _, row in got_worse([one])] == ["stuck_rate"]


def test_metrics_that_are_not_defined(facts: ReportData) -> None:
    one = _with(facts, {"a": None, "stuck_rate": None}, {"a": None, "stuck_rate": 0.5})
    assert rows(one) == [
        Row("stuck_rate", "Actions that changed nothing", "–", "50.0%", "unknown", False)
    ]
