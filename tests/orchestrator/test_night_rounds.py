"""Rounds of several candidates: made from one champion, judged against each other."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from orchestrator.editors.base import Bench, Brief, Draft
from orchestrator.episodes.job import EpisodeJob
from orchestrator.episodes.spec import EpisodeResult, MissingEpisode
from orchestrator.models.errors import BudgetExhausted
from orchestrator.night_record import NightRecord, Round, unfinished
from orchestrator.scaffolds.revision import Proposal
from orchestrator.workspace import Workspace, seed_scaffolds
from tests.support.nights import (
    ListEditor,
    Quiet,
    Runner,
    begin,
    kill_at,
    run,
    untimed,
)
from tests.support.workspaces import add_blind_lineage, small_workspace

TAKES_OVER = b"""\
def before_act(context, action):
    return action if context.step < 50 else "noop"
"""
"""Plays as the model does for long enough to win, then itself."""


def racing_night(folder: Path) -> tuple[Workspace, ListEditor]:
    """An agent that sees nothing, and five proposals from it; the editor has no sixth."""
    workspace = small_workspace(folder / "lab", candidates=6, proposals=6)
    seeing = add_blind_lineage(workspace, folder)
    plan = "prompts/plan.j2"
    mended: dict[str, bytes | None] = {plan: seeing}
    return workspace, ListEditor(
        {**mended, "hooks.py": TAKES_OVER},
        mended,
        {**mended, "README.md": b"It sees."},
        mended,
        {plan: seeing.replace(b"{{ observation }}", b"It is day.")},
    )


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Workspace, NightRecord, Runner]:
    workspace, editor = racing_night(tmp_path_factory.mktemp("whole"))
    runner = Runner()
    record = run(workspace, begin(workspace, "blind"), runner, editor)
    *asked, after = editor.briefs
    assert [brief.place for brief in asked] == [1, 2, 3, 4, 5, 6]
    assert {brief.proposals for brief in asked} == {6}
    assert {brief.champion for brief in asked} == {record.rounds[0].parent}
    assert (after.number, after.place, after.champion) == (6, 1, record.rounds[1].tree)
    return workspace, record, runner


@pytest.mark.slow
def test_of_those_that_are_better_one_is_accepted_and_none_is_blamed(
    whole: tuple[Workspace, NightRecord, Runner],
) -> None:
    workspace, record, runner = whole
    takes_over, best, as_good, twin, worse = record.rounds
    assert [one.decision for one in record.rounds] == [
        "refused", "accept", "indecisive", "refused", "reject",
    ]  # fmt: skip
    assert "overrode the model" in takes_over.reason
    assert best.name == "blind/v1"
    assert "another candidate of its round did better" in as_good.reason
    assert "the same, byte for byte" in twin.reason
    assert best.tree == twin.tree
    assert worse.verdict is not None
    assert worse.verdict.stage == "screen"
    assert {one.parent_name for one in record.rounds} == {"blind/v0"}
    history = workspace.scaffolds.history("blind", include_candidates=True)
    words = {one.trailer("Candidate"): one.verdict for one in history if one.verdict}
    assert [words[str(one.number)].word for one in record.rounds] == [
        one.decision for one in record.rounds
    ]
    # An editor reads the reason of a refusal, and no number of the gate's.
    assert words["1"].notes[0] == takes_over.reason
    assert not any("points" in note for note in words["1"].notes)
    assert [one.name for one in workspace.scaffolds.history("blind")] == ["blind/v1", "blind/v0"]
    assert len(runner.played) == len(set(runner.played))


@pytest.mark.slow
def test_what_a_round_played_is_counted_once(
    whole: tuple[Workspace, NightRecord, Runner],
) -> None:
    _, record, _ = whole
    counted = [one.verdict.episodes for one in record.rounds if one.verdict]
    assert sum(counted) == len(record.judged_episodes)
    # The champion's four games of the screen are the first one's, with its own four.
    assert counted[0] >= 8
    screened = record.rounds[4].verdict
    assert screened is not None
    assert screened.episodes == screened.pairs + screened.missing


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["record", "accept", "track 3 +", "track 5 -"])
def test_a_night_killed_while_a_round_is_written_down_decides_the_same(
    whole: tuple[Workspace, NightRecord, Runner], tmp_path: Path, moment: str
) -> None:
    played, expected, _ = whole
    workspace, editor = racing_night(tmp_path)
    for folder in ("worlds", "episodes"):
        shutil.copytree(played.artifacts / folder, workspace.artifacts / folder)
    record = begin(workspace, "blind").model_copy(update={"id": expected.id})
    kill_at(moment, workspace, record, editor)
    again = Workspace(workspace.root, workspace.config)
    resumed = unfinished(again.artifacts / "nights", "blind")
    assert resumed is not None
    rerun = Runner()
    finished = run(again, resumed, rerun, editor)
    assert rerun.played == []
    assert untimed(finished) == untimed(expected)
    assert len(finished.rounds) == 5, "nobody joined a round that was judged already"
    assert len(again.scaffolds.history("blind", include_candidates=True)) == 6


@pytest.mark.slow
def test_who_won_by_playing_itself_leaves_the_error_budget_to_the_next(tmp_path: Path) -> None:
    workspace = small_workspace(tmp_path / "lab", candidates=2, proposals=2)
    seeing = add_blind_lineage(workspace, tmp_path)
    # Sees less long than the other has the model play, so that it comes second on the screen.
    sighted = b"{% if step < 40 %}" + seeing + b"{% else %}<|ACTION|>{% endif %}"
    editor = ListEditor(
        {"prompts/plan.j2": seeing, "hooks.py": TAKES_OVER}, {"prompts/plan.j2": sighted}
    )
    gate = workspace.config.gate
    once = gate.model_copy(update={"night_alpha": gate.confirm_alpha})
    config = workspace.config.model_copy(update={"gate": once})
    record = begin(workspace, "blind").model_copy(update={"config": config})
    takes_over, honest = run(workspace, record, Runner(), editor).rounds
    assert takes_over.verdict is not None
    assert honest.verdict is not None
    assert (takes_over.verdict.effect or 0.0) > (honest.verdict.effect or 0.0) > 0.0
    assert (takes_over.decision, takes_over.verdict.alpha) == ("refused", 0.0)
    assert (honest.decision, honest.verdict.alpha) == ("accept", once.confirm_alpha)


class Spends(ListEditor):
    """Has nothing left to spend when asked for another than the first."""

    def propose(self, brief: Brief, bench: Bench) -> Draft | None:
        if brief.number > 1:
            raise BudgetExhausted("tokens", value=11, limit=10, where="here")
        return super().propose(brief, bench)


class Poor(Runner):
    """Has nothing left to spend when told to play what has this label."""

    def __init__(self, label: str) -> None:
        super().__init__()
        self._label = label

    def __call__(
        self, jobs: Sequence[EpisodeJob], label: str
    ) -> list[EpisodeResult | MissingEpisode]:
        if label.startswith(self._label):
            raise BudgetExhausted("tokens", value=11, limit=10, where="here")
        return super().__call__(jobs, label)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("label", "decisions"),
    [
        ("smoke", ["indecisive", "indecisive", "indecisive"]),
        ("screen", ["indecisive", "refused", "indecisive"]),
        ("confirm", ["indecisive", "refused", "reject"]),
    ],
)
def test_a_budget_that_ends_within_a_round_loses_no_verdict(
    tmp_path: Path, label: str, decisions: list[str]
) -> None:
    workspace = small_workspace(tmp_path / "lab", candidates=6, proposals=3)
    seeing = add_blind_lineage(workspace, tmp_path)
    editor = ListEditor(
        {"prompts/plan.j2": seeing},
        {"hooks.py": b"x = 1 / 0"},
        {"prompts/plan.j2": seeing.replace(b"{{ observation }}", b"It is day.")},
    )
    record = run(workspace, begin(workspace, "blind"), Poor(label), editor)
    assert [one.decision for one in record.rounds] == decisions
    assert record.stop_reason.startswith("The tokens budget is spent")
    best = record.rounds[0]
    assert record.stop_reason in best.reason
    history = workspace.scaffolds.history("blind", include_candidates=True)
    words = {one.trailer("Candidate"): one.verdict.word for one in history if one.verdict}
    assert [words[str(one.number)] for one in record.rounds] == decisions
    # A confirmation that was begun is paid for.
    alphas = [one.verdict.alpha if one.verdict else 0.0 for one in record.rounds]
    assert alphas == [0.2 if label == "confirm" else 0.0, 0.0, 0.0]


def test_patience_counts_candidates_of_one_champion() -> None:
    def rounds(*words: str) -> list[Round]:
        first = Round(number=1, name="x", subject="x", kind="memory", tree="t", parent="p",
                      parent_name="v0")  # fmt: skip
        return [first.model_copy(update={"parent": w[0], "decision": w[1:]}) for w in words]

    def vain(*words: str) -> int:
        return NightRecord.model_construct(rounds=tuple(rounds(*words))).in_vain

    assert vain() == 0
    # One was accepted: the others of its round are no failures, whatever became of them.
    assert vain("areject", "aaccept", "aindecisive", "areject", "arefused") == 0
    assert vain("areject", "aaccept", "areject", "breject", "brefused") == 2
    assert vain("areject", "aindecisive", "areject") == 3


@pytest.mark.slow
def test_what_was_proposed_before_the_budget_ran_out_is_judged(tmp_path: Path) -> None:
    workspace = small_workspace(tmp_path / "lab", steps=20, candidates=4, proposals=4)
    editor = Spends({"README.md": b"No difference."})
    record = run(workspace, begin(workspace), Runner(), editor)
    assert [one.decision for one in record.rounds] == ["reject"]
    assert record.stop_reason.startswith("The tokens budget is spent")


def test_a_draft_that_changes_nothing_ends_the_night_as_if_none_were_left(tmp_path: Path) -> None:
    workspace = small_workspace(tmp_path / "lab", steps=20, candidates=3)
    same = (seed_scaffolds() / "crafter" / "README.md").read_bytes()
    listener = Quiet()
    record = run(
        workspace, begin(workspace), Runner(), ListEditor({"README.md": same}), listener=listener
    )
    assert record.rounds == ()
    assert record.stop_reason == "the editor has nothing left to try"
    assert "Candidate 1 would change nothing." in listener.lines


class GoesOn(ListEditor):
    """Goes on from what was rejected, whenever it is shown something."""

    continues = True

    def propose(self, brief: Brief, bench: Bench) -> Draft | None:
        self.briefs.append(brief)
        text = f"Draft {brief.number}.".encode()
        return Draft(
            {"README.md": text},
            Proposal(
                subject=f"Write draft {brief.number}",
                summary="Another text.",
                rationale="To see.",
                expected_effect="None.",
                kind="memory",
                editor=self.name,
                continues=brief.failed.view.name if brief.failed else "",
            ),
        )


@pytest.mark.slow
def test_a_rejected_candidate_is_offered_until_it_is_taken_up_once(tmp_path: Path) -> None:
    workspace = small_workspace(tmp_path / "lab", steps=20, candidates=4)
    editor = GoesOn()
    record = run(workspace, begin(workspace), Runner(), editor)
    assert [one.decision for one in record.rounds] == ["reject"] * 4
    offered = [brief.failed for brief in editor.briefs]
    # The second goes on from the first; nothing goes on from the second, so the third is new.
    names = [one and one.view.name for one in offered]
    assert names == [None, f"{record.id}/1", None, f"{record.id}/3"]
    first = offered[1]
    assert first is not None
    assert first.files["README.md"] == b"Draft 1."
    assert [one.seed for one in first.episodes] == [one.seed for one in editor.briefs[1].episodes]
    assert {one.tree for one in first.episodes} == {record.rounds[0].tree}
    assert first.view.verdict == "reject"
    seen = workspace.scaffolds.revision(f"{record.id}/2")
    assert seen.trailer("Continues") == f"{record.id}/1"
