"""The page: well formed, self-contained, true to the facts, and deaf to what a model wrote."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from orchestrator.night_record import NightRecord
from orchestrator.report import write_report
from orchestrator.report.data import Comparison, Pair, ReportData
from orchestrator.report.gather import gather
from orchestrator.report.page import paragraphs, render
from orchestrator.report.words import duration, odds, probability
from orchestrator.workspace import Workspace
from tests.support.hostile_report import PAYLOAD, hostile
from tests.support.html_tree import read_html
from tests.support.sample_night import TRIES, SampleNight, build


def test_the_page_and_its_facts_are_written(
    finished_night: tuple[Workspace, NightRecord], facts: ReportData, page: str
) -> None:
    workspace, record = finished_night
    path = write_report(workspace, record)
    assert path == workspace.artifacts / "nights" / record.id / "report.html"
    assert path.read_text("utf-8") == page
    beside = path.with_name("report.json").read_bytes()
    assert ReportData.model_validate_json(beside) == facts
    assert sorted(one.name for one in path.parent.iterdir()) == ["report.html", "report.json"]


def test_the_page_is_well_formed_and_its_links_lead_somewhere(page: str) -> None:
    tree = read_html(page)
    ids = [one.attributes["id"] for one in tree.all() if "id" in one.attributes]
    assert len(set(ids)) == len(ids)
    targets = [one.attributes["href"] for one in tree.all("a") + tree.all("use")]
    assert {target[0] for target in targets} == {"#"}
    assert {target[1:] for target in targets} <= set(ids)
    clips = re.findall(r"url\(#([^)]*)\)", page)
    assert set(clips) <= set(ids)
    labelled = [x.attributes["aria-labelledby"] for x in tree.all("section")]
    assert set(labelled) <= set(ids)


def test_the_page_needs_nothing_from_outside(page: str) -> None:
    tree = read_html(page)
    assert not tree.all("script")
    assert not tree.all("img")
    assert [one.attributes["href"] for one in tree.all("link")] == ["data:,"]
    policy = next(
        one.attributes["content"]
        for one in tree.all("meta")
        if one.attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; img-src data:")
    (style,) = tree.all("style")
    assert "@import" not in style.text()
    assert "url(" not in style.text()
    loading = ("src", "srcset", "data", "action", "poster", "xlink:href")
    for one in tree.all():
        assert not set(loading) & set(one.attributes)


def test_the_top_says_what_changed_how_sure_and_what_it_cost(page: str) -> None:
    tree = read_html(page)
    (heading,) = tree.all("h1")
    assert heading.text() == "1 of 4 candidates kept: “Show a checklist of achievements”."
    cards = {
        card.all("dt")[0].text(): " ".join(dd.text() for dd in card.all("dd"))
        for card in next(
            one for one in tree.all("dl") if one.attributes.get("class") == "facts"
        ).all("div")
    }
    assert cards["What changed"].startswith("crafter/v0 → to crafter/v1")
    assert cards["How sure"].startswith("crafter/v1: +10.5 points (+")
    assert "p = 1.5×10⁻⁵, on 20 games nobody had used before" in cards["How sure"]
    assert cards["What got worse"] == (
        "2 of 20 sealed games Actions that changed nothing: 12.5% → to 15.0% "
        "Model calls per step: 3.00 → to 6.00"
    )
    assert cards["Cost"] == "$0: no language model was asked"
    assert cards["Time"] == "4 min 12 s from start to end; 130 games played for verdicts"
    assert cards["False acceptances"] == "At most 5% a night; this one charged 2%"
    assert cards["Model"] == "heuristic: no language model"
    assert cards["Editor"] == "rules: a catalogue of known edits, no language model"
    assert cards["Sandbox"].startswith("process")


def test_every_candidate_is_there_with_all_that_is_known(facts: ReportData, page: str) -> None:
    tree = read_html(page)
    for one in facts.candidates:
        block = tree.with_id(f"candidate-{one.number}").text()
        for text in (one.tree, one.commit, one.mlflow_run, one.reason, one.summary, one.expected):
            assert " ".join(text.split()) in block
        assert all(
            " ".join(paragraph.split()) in block for _, paragraph in paragraphs(one.rationale)
        )
        assert all(note in block for note in one.notes)
        assert all(key[:12] in block for key in one.episodes)
        assert all(file.path in block for file in one.files or ())
    assert "checklist.py +10 −0" in tree.with_id("candidate-2").text()
    assert "better on 16, worse on 2, the same on 2" in tree.with_id("candidate-2").text()


def test_only_kept_candidates_are_open_at_first(facts: ReportData, page: str) -> None:
    blocks = [
        one
        for one in read_html(page).all("details")
        if one.attributes.get("class", "").startswith("candidate")
    ]
    assert ["open" in one.attributes for one in blocks] == [
        one.accepted for one in facts.candidates
    ]


def test_the_commands_to_go_on_with(page: str, facts: ReportData) -> None:
    tree = read_html(page)
    commands = [one.text() for one in tree.all("code")]
    bank = facts.report_bank
    assert bank is not None
    assert bank.comparison is not None
    worst = min(bank.comparison.pairs, key=lambda pair: (pair.difference, pair.after))
    for command in (
        "slowwave diff crafter/v0 crafter/v1",
        "slowwave show crafter/v1",
        "slowwave revert crafter/v1",
        "slowwave log crafter --all",
        f"slowwave report {facts.night}",
        "slowwave gate calibrate crafter",
    ):
        assert command in commands
    (play,) = [one for one in commands if one.startswith("slowwave play")]
    assert play.endswith("--steps 600 --scaffold crafter/v1")
    assert worst.difference == pytest.approx(-100 / 22)


# --- numbers --------------------------------------------------------------------------------------

_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for key, one in value.items() for leaf in (key, *_leaves(one))]
    if isinstance(value, list):
        return [len(value), *(leaf for one in value for leaf in _leaves(one))]
    return [value]


def _pairs(found: Comparison | None) -> tuple[Pair, ...]:
    return found.pairs if found is not None else ()


def _shown(value: float) -> set[str]:
    """The ways in which the page may show a number."""
    forms = {f"{abs(value) * scale:,.{digits}f}" for scale in (1, 100, 1e-6) for digits in range(5)}
    forms.update(_NUMBER.findall(duration(abs(value) * 3600)))
    if 0 < value < 1:
        forms.update(_NUMBER.findall(probability(value) + " " + odds(value)))
        forms.update(_NUMBER.findall(f"{100 * value:.4g}"))
    return forms


def test_every_number_on_the_page_comes_from_the_record(facts: ReportData, page: str) -> None:
    allowed = {"95"}  # the level of every interval
    for leaf in _leaves(facts.model_dump(mode="json")):
        if isinstance(leaf, str):
            allowed.update(_NUMBER.findall(leaf))
            allowed.update(_NUMBER.findall(leaf[:12]))
        elif isinstance(leaf, (int, float)):
            allowed |= _shown(leaf)
    for one in facts.candidates:
        for metric in (one.metrics_before, one.metrics_after):
            allowed.update(*(_shown(value) for value in metric.values() if value is not None))
        allowed.update(*(_shown(x.difference or 0) for x in _pairs(one.comparison)))
    assert facts.report_bank is not None
    allowed.update(*(_shown(x.difference or 0) for x in _pairs(facts.report_bank.comparison)))
    allowed.add(str(len(facts.accepted)))
    assert facts.ended_at is not None
    span = (facts.ended_at - facts.started_at).total_seconds()
    allowed.update(_NUMBER.findall(duration(span)))
    allowed.update(_NUMBER.findall(f"{facts.started_at.day} {facts.started_at:%Y %H:%M}"))
    (body,) = read_html(page).all("body")
    # A chart has the marks of its axes, code is code, and the glossary has an example.
    text = body.text(without=("pre", "svg"))
    assert "40% to 45% is +5.0 points" in text
    text = text.replace("40% to 45% is +5.0 points", "")
    assert {n for n in _NUMBER.findall(text) if n not in allowed} == set()


# --- other nights ---------------------------------------------------------------------------------


def test_an_unfinished_night_says_so(lab: Path) -> None:
    night = SampleNight(lab)
    night.attempt(1, TRIES[0])
    path = write_report(night.workspace, night.record)
    tree = read_html(path.read_text("utf-8"))
    (heading,) = tree.all("h1")
    assert heading.text() == "This night is not finished: 1 of at most 6 candidates judged so far."
    text = tree.text()
    assert "The sealed games are played when the night is over." in text
    assert "slowwave night crafter" in text
    assert "Not finished 10 games played for verdicts so far" in text


def test_a_night_that_kept_nothing(lab: Path) -> None:
    page = render(gather(*build(lab, TRIES[:1])))
    tree = read_html(page)
    (heading,) = tree.all("h1")
    assert heading.text() == (
        "Nothing was kept: the one candidate was not proven better than crafter/v0."
    )
    text = tree.text()
    assert "It scores 46.4% on average over 20 sealed games." in text
    assert "Nothing, for nothing changed" in text
    assert "slowwave revert" not in text
    assert "No candidate got as far as a confirmation" in text


def test_a_night_without_a_candidate(lab: Path) -> None:
    night = SampleNight(lab)
    stopped = night.record.stopped("the editor has nothing left to try")
    tree = read_html(render(gather(night.workspace, stopped)))
    assert "There are no scores to show yet." in tree.text()
    assert "Why it stopped: the editor has nothing left to try" in tree.text()


def test_a_night_of_lost_pairs(lab: Path) -> None:
    lossy = TRIES[1].__class__(**{**TRIES[1].__dict__, "lost": 3})
    facts = gather(*build(lab, [lossy]))
    (one,) = facts.candidates
    assert one.decision == "indecisive"
    assert one.comparison is not None
    assert one.comparison.missing == 3
    text = read_html(render(facts)).with_id("candidate-1").text()
    assert text.startswith("Undecided, so not kept: on 17 fresh games")
    assert "17, 3 missing" in text


def test_a_candidate_the_repository_lost(facts: ReportData) -> None:
    lost = facts.candidates[1].model_copy(update={"files": None, "diff": "", "comparison": None})
    text = read_html(render(facts.model_copy(update={"candidates": (lost,)}))).text()
    assert "The repository no longer has this candidate." in text


# --- size and safety ------------------------------------------------------------------------------


def test_a_page_of_six_large_candidates_is_under_two_megabytes(facts: ReportData) -> None:
    line = '+    x["<key>"] = f(a, b) if a < b else [c & d for c in "e"]  # why\n'
    diff = f"diff --git a/a.py b/a.py\n@@ -0,0 +1,4000 @@\n{line * 4000}"
    large = tuple(
        facts.candidates[1].model_copy(update={"number": number, "diff": diff})
        for number in range(1, 7)
    )
    page = render(facts.model_copy(update={"candidates": large}))
    assert len(page.encode()) < 2_000_000
    left = re.search(r"(\d,\d{3}) more lines", read_html(page).text())
    assert left is not None


def test_text_that_looks_like_markup_stays_text(facts: ReportData) -> None:
    page = render(hostile(facts))
    tree = read_html(page)
    # Word for word the same elements and attributes as with the harmless texts.
    plain = facts.model_copy(
        update={
            "candidates": tuple(
                one.model_copy(
                    update={
                        "diff": "diff --git a/x.py b/x.py\n@@ -1 +1 @@\n-a\n+b\n",
                        "metrics_before": {**one.metrics_before, "metric": 1.0},
                        "metrics_after": {**one.metrics_after, "metric": 2.0},
                    }
                )
                for one in facts.candidates
            )
        }
    )
    assert tree.outline(("pre",)) == read_html(render(plain)).outline(("pre",))
    for pre in tree.all("pre"):
        assert {one.tag for one in pre.all()} <= {"ins", "del", "span"}
    assert not [name for one in tree.all() for name in one.attributes if name.startswith("on")]
    # And it is all there to be read, in the diff and in its file's name too.
    shown = tree.text()
    assert shown.count(" ".join(PAYLOAD.split())) > 100
    assert "{{7*7}}" in shown
    assert "⟦U+202E⟧" in re.sub(r"<[^>]*>", "", page)


def test_texts_with_controls_are_shown_by_number(facts: ReportData) -> None:
    odd = facts.candidates[0].model_copy(update={"subject": "a\x00b\u202ec\ud800"})
    page = render(facts.model_copy(update={"candidates": (odd,)}))
    page.encode("utf-8")
    assert "a⟦U+0000⟧b⟦U+202E⟧c⟦U+D800⟧" in page
    assert "\x00" not in page


def test_commands_quote_what_a_shell_would_read(facts: ReportData) -> None:
    page = render(facts.model_copy(update={"first": "a; rm -rf b", "night": "$(x)"}))
    commands = [one.text() for one in read_html(page).all("code")]
    assert "slowwave diff 'a; rm -rf b' crafter/v1" in commands
    assert "slowwave report '$(x)'" in commands


def test_facts_hold_nothing_that_json_cannot(facts: ReportData) -> None:
    assert json.loads(facts.model_dump_json())["schema_version"] == 1


def test_prose_keeps_lists_and_joins_wrapped_lines() -> None:
    text = "One line\nthat was wrapped.\n\n- one\n- two\n\n\n    code"
    assert paragraphs(text) == [
        (False, "One line that was wrapped."),
        (True, "- one\n- two"),
        (True, "    code"),
    ]
    assert paragraphs("") == []
