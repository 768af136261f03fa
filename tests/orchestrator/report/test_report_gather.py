"""The facts of a night, against values worked out by hand from the sample's scores."""

from __future__ import annotations

from decimal import Decimal
from math import comb
from pathlib import Path

import pytest

from orchestrator.episodes.store import EpisodeStore
from orchestrator.gate.account import Confirmation
from orchestrator.gate.budget import ErrorBudget
from orchestrator.models.ledger import SpendLedger
from orchestrator.night_record import NightRecord
from orchestrator.report.data import Pair, ReportData
from orchestrator.report.gather import compare, gather, proposal_parts
from orchestrator.scaffolds.message import proposal_message, prose
from orchestrator.workspace import Workspace, find_workspace
from tests.support.sample_night import STARTED, SampleNight, build, proposal

POINT = 100 / 22  # one achievement of 22


def test_a_confirmed_candidate(facts: ReportData) -> None:
    one = facts.candidates[1]
    assert (one.number, one.name, one.champion, one.decision) == (
        2,
        "crafter/v1",
        "crafter/v0",
        "accept",
    )
    assert (one.editor, one.kind) == ("rules", "memory")
    assert one.verdict is not None
    assert one.verdict.effect == pytest.approx(46 / 20 * POINT)
    # Sixteen differences of 3 and two of 1: flipping takes twice what is flipped from a sum of 50,
    # and 46 is reached by flipping none, one or both of the ones.
    assert one.verdict.p == pytest.approx(4 / 2**18)
    assert (one.verdict.pairs, one.verdict.slices) == (20, ("screen", "confirm[0]"))
    # 10 screening pairs and 20 confirming ones, both sides played.
    assert one.verdict.episodes == 60
    assert one.verdict.tokens == 60 * 100_000
    assert one.verdict.hours == pytest.approx(60 * 9 / 3600)
    assert one.verdict.alpha == 0.01


def test_the_scores_behind_a_confirmation(facts: ReportData) -> None:
    found = facts.candidates[1].comparison
    assert found is not None
    assert found.slice == "confirm[0]"
    assert found.before.mean == pytest.approx(204 / 20 * POINT)
    assert found.after.mean == pytest.approx(250 / 20 * POINT)
    assert found.effect.mean == pytest.approx(46 / 20 * POINT)
    assert (found.better, found.worse, found.same, found.missing) == (16, 2, 2, 0)
    assert found.effect.low is not None
    assert found.effect.high is not None
    assert found.effect.low < found.effect.mean < found.effect.high


def test_a_candidate_screened_out_early(facts: ReportData) -> None:
    one = facts.candidates[0]
    assert one.decision == "reject"
    assert one.verdict is not None
    assert one.verdict.effect == pytest.approx(-1 / 5 * POINT)
    # Values 1, 1, 2, 1 with signs: 12 of 16 sums reach the observed -1.
    assert one.verdict.p == pytest.approx(12 / 16)
    assert (one.verdict.stage, one.verdict.pairs, one.verdict.episodes) == ("screen", 5, 10)
    found = one.comparison
    assert found is not None
    assert (found.slice, found.better, found.worse, found.same) == ("screen", 2, 2, 1)
    assert found.before.mean == pytest.approx(52 / 5 * POINT)
    assert found.after.mean == pytest.approx(51 / 5 * POINT)


def test_a_candidate_not_confirmed_is_judged_against_the_new_champion(facts: ReportData) -> None:
    one = facts.candidates[2]
    assert (one.champion, one.parent) == ("crafter/v1", facts.candidates[1].tree)
    assert one.verdict is not None
    assert one.verdict.effect == pytest.approx(10 / 20 * POINT)
    reached = sum(
        comb(10, i) * comb(10, j)
        for i in range(11)
        for j in range(11)
        if 2 * (2 * i - 10) + (2 * j - 10) >= 10
    )
    assert one.verdict.p == pytest.approx(reached / 2**20)
    assert one.verdict.slices == ("screen", "confirm[1]")


def test_a_refused_candidate_has_its_reason_and_no_numbers(facts: ReportData) -> None:
    one = facts.candidates[3]
    assert (one.decision, one.verdict, one.comparison) == ("refused", None, None)
    assert one.reason == "hooks.py:1: nothing_of_ours may not be imported."
    assert one.metrics_before == {}


def test_what_was_changed_and_why(facts: ReportData) -> None:
    one = facts.candidates[1]
    assert one.summary == "A part of hooks.py collects what the notes call done and shows it."
    assert one.rationale.startswith("75% of the writes repeat what is there.")
    assert one.rationale.endswith("- it forgets what is done")
    assert one.expected == "No goal is pursued twice."
    assert one.files is not None
    assert {(file.path, file.added) for file in one.files} == {
        ("checklist.py", 10),
        ("memory/strategy.md", 3),
    }
    assert '+DONE = re.compile(r"done ([a-z_]+)")' in one.diff.splitlines()


def test_metrics_and_notes_are_the_records(facts: ReportData) -> None:
    one = facts.candidates[1]
    assert one.metrics_before["model_calls_per_step"] == pytest.approx(3.0)
    assert one.metrics_after["stuck_rate"] == pytest.approx(0.15)
    assert one.metrics_before["empty_search_rate"] is None
    assert one.notes == ("Plays with 2.0 times the model calls a step.",)


def test_the_night_as_a_whole(facts: ReportData) -> None:
    assert (facts.first, facts.last) == ("crafter/v0", "crafter/v1")
    assert facts.started_at.timestamp() == STARTED
    assert facts.ended_at is not None
    assert (facts.ended_at - facts.started_at).total_seconds() == 252
    assert facts.stop_reason == "4 candidates were tried"
    assert (facts.spend.whole_night, facts.spend.episodes) == (False, 130)
    assert facts.spend.tokens == 13_000_000
    assert facts.spend.episode_hours == pytest.approx(130 * 9 / 3600)
    assert (facts.editor, facts.sandbox) == ("rules", "process")
    assert facts.sandbox_cannot == "The process sandbox does not enforce: no network."
    assert [(one.role, one.provider) for one in facts.models] == [("action", "heuristic")]


def test_the_report_bank(facts: ReportData) -> None:
    bank = facts.report_bank
    assert bank is not None
    assert bank.comparison is not None
    assert (bank.first, bank.last) == ("crafter/v0", "crafter/v1")
    assert bank.comparison.effect.mean == pytest.approx(46 / 20 * POINT)
    assert len(bank.comparison.pairs) == 20


def test_the_error_budget(facts: ReportData) -> None:
    rate = facts.error_rate
    assert (rate.rule, rate.allowed, rate.confirm_alpha) == ("two-stage", 0.05, 0.01)
    assert rate.charged == pytest.approx(0.02)
    assert rate.left == pytest.approx(0.03)


def test_the_summary_says_what_changed_and_how_sure_that_is(facts: ReportData) -> None:
    first, second = facts.summary
    assert first == "1 of 4 candidates kept: “Show a checklist of achievements”."
    assert second.startswith(
        "On 20 sealed games, played when all was decided, the mean score went from 46.4% to "
        "56.8%: +10.5 points (95% interval +"
    )


def test_settings_name_what_was_configured_and_no_secret(lab: Path) -> None:
    night = SampleNight(
        lab,
        '[models.action]\nprovider = "openai"\nmodel = "m-7b"\nbase_url = "http://127.0.0.1:9/v1"\n'
        'api_key_env = "NAME_OF_A_KEY"\nprice_input = 0.5\n',
    )
    facts = gather(night.workspace, night.finish())
    settings = {one.name: one.value for one in facts.settings}
    assert settings["root_seed"] == "7"
    assert settings["night.steps.crafter"] == "600"
    assert settings["banks.confirm"] == "20"
    assert settings["models.action.price_input"] == "0.5"
    assert settings["budget.money_usd"] == "not set"
    assert facts.models[0].url == "http://127.0.0.1:9/v1"
    assert "NAME_OF_A_KEY" not in facts.model_dump_json()


def test_an_unfinished_night(lab: Path) -> None:
    night = SampleNight(lab)
    facts = gather(night.workspace, night.record)
    assert not facts.finished
    assert facts.report_bank is None
    assert (facts.first, facts.last) == ("crafter/v0", "crafter/v0")
    assert facts.summary == (
        "This night is not finished: 0 of at most 6 candidates judged so far.",
        "No candidate was judged, so crafter/v0 is as it was.",
    )


def test_a_confirmation_that_is_charged_and_not_finished_counts(lab: Path) -> None:
    night = SampleNight(lab)
    budget = ErrorBudget(night.workspace.ledger, 0.05)
    budget.charge(Confirmation(night.record.id, "crafter-v1", "a" * 40, "b" * 40), 0.01)
    assert gather(night.workspace, night.record).error_rate.charged == pytest.approx(0.01)


def test_the_ledger_knows_what_the_whole_night_cost(lab: Path) -> None:
    night = SampleNight(lab)
    ledger = SpendLedger(night.workspace.ledger)
    ledger.record(night.record.id, "one", Decimal("1.25"), 5000, calls=3)
    ledger.reserve(night.record.id, "two", Decimal("0.5"), 100)
    ledger.close()
    spend = gather(night.workspace, night.record).spend
    assert spend.whole_night
    assert (spend.money_usd, spend.presumed_usd, spend.tokens) == (1.75, 0.5, 5100)


def test_scores_that_no_longer_give_the_verdict_are_not_shown(lab: Path) -> None:
    workspace, record = build(lab)
    accepted = record.rounds[1]
    EpisodeStore(workspace.artifacts).forget(accepted.episodes[-1])
    one = gather(workspace, record).candidates[1]
    # The verdict stands as it was recorded; what was played for it cannot be told any more.
    assert one.comparison is None
    assert one.verdict == accepted.verdict


def test_a_candidate_that_the_repository_lost(
    finished_night: tuple[Workspace, NightRecord],
) -> None:
    workspace, record = finished_night
    lost = record.rounds[0].model_copy(update={"tree": "0" * 40, "number": 9})
    one = gather(workspace, record.model_copy(update={"rounds": (lost,)})).candidates[0]
    assert (one.files, one.diff, one.commit, one.editor) == (None, "", "", "")


def test_gathering_twice_gives_the_same(finished_night: tuple[Workspace, NightRecord]) -> None:
    workspace, record = finished_night
    again = find_workspace(workspace.root)
    assert gather(again, record) == gather(workspace, record)


def test_pairs_that_were_lost_are_counted_and_left_out() -> None:
    pairs = [
        Pair(seed=1, before=10.0, after=30.0),
        Pair(seed=2, before=None, after=90.0),
        Pair(seed=3, before=20.0, after=None),
        Pair(seed=4, before=20.0, after=20.0),
    ]
    found = compare("screen", pairs)
    assert found is not None
    assert (found.before.mean, found.after.mean, found.effect.mean) == (15.0, 25.0, 10.0)
    assert (found.better, found.worse, found.same, found.missing) == (1, 0, 1, 2)
    assert compare("screen", pairs[1:3]) is None


def test_one_pair_has_no_interval() -> None:
    found = compare("screen", [Pair(seed=1, before=10.0, after=30.0)])
    assert found is not None
    assert (found.effect.low, found.effect.high) == (None, None)


@pytest.mark.parametrize(
    ("summary", "rationale", "expected"),
    [
        ("A.", "B.", "C."),
        ("A.\n\nMore of A.", "B.\n\n- one\n- two", "C.\n\nMore of C."),
        ("A.", "", "C."),
        ("A.", "B.", ""),
        ("", "B.", "C."),
    ],
)
def test_the_parts_of_a_commit_message_come_back(
    summary: str, rationale: str, expected: str
) -> None:
    made = proposal("S", summary=summary, rationale=rationale, expected_effect=expected)
    message = proposal_message(made, lineage="crafter", night="n", number=1)
    body = "\n\n".join(message.split("\n\n")[1:-1])
    assert proposal_parts(body) == {
        "summary": prose(summary),
        "rationale": rationale,
        "expected": expected,
    }
