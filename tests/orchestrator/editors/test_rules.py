"""The catalogue of known edits and the editor that picks from it."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import pytest

from orchestrator.editors.base import Brief, Changes, Draft, Trial
from orchestrator.editors.rules.catalogue import Edit, EditNotApplicable, read_catalogue
from orchestrator.editors.rules.editor import RulesEditor, urgency
from orchestrator.episodes.metrics import NAMES
from orchestrator.episodes.planner import manifest_faults
from orchestrator.episodes.spec import EpisodeResult
from orchestrator.scaffolds.check import check_scaffold
from orchestrator.scaffolds.revision import EditorView
from orchestrator.scaffolds.trees import read_folder
from orchestrator.workspace import seed_scaffolds

CATALOGUE = read_catalogue(seed_scaffolds() / "edits", "crafter")
BY_NAME = {edit.name: edit for edit in CATALOGUE}
SEED = read_folder(seed_scaffolds() / "crafter")


PLAYED = EpisodeResult(
    key="k",
    environment="crafter-v1",
    seed=1,
    replicate=0,
    tree="t",
    steps=10,
    progression=0.5,
    outcome="died",
    digest="d",
    metrics=dict.fromkeys(NAMES, 0.9),
    details={},
    usage={},
    seconds=1.0,
    trajectory="x",
)


def apply(files: Mapping[str, bytes], edit: Edit) -> dict[str, bytes]:
    return {**files, **edit.apply(files)}


def brief(files: Mapping[str, bytes], *, history: list[EditorView], lineage: list[str]) -> Brief:
    return Brief(
        night="crafter-20260101-000000",
        number=1,
        environment="crafter",
        files=files,
        episodes=[PLAYED],
        history=history,
        lineage=lineage,
        others={},
        champion="its tree",
    )


class NoBench:
    """Known edits are not tried by their editor."""

    def try_it(self, changes: Changes) -> Trial:
        raise AssertionError("an edit was tried")

    def diff(self, name: str) -> str:
        raise AssertionError("a difference was asked for")


def view(
    edit: Edit, word: str, night: str = "crafter-20250101-000000", parent: str = "its tree"
) -> EditorView:
    return EditorView(
        name=f"{night}/1",
        tree="",
        parent=parent,
        subject=edit.text.subject,
        body="",
        kind="memory",
        verdict=word,
        refusal=(),
    )


def test_there_are_at_least_eight_edits_with_subjects_of_their_own() -> None:
    assert len(CATALOGUE) >= 8
    assert len({edit.text.subject for edit in CATALOGUE}) == len(CATALOGUE)


@pytest.mark.parametrize("edit", CATALOGUE, ids=lambda edit: edit.name)
def test_every_edit_names_things_that_exist(edit: Edit) -> None:
    assert edit.text.symptom.metric in NAMES
    assert set(edit.text.requires) | set(edit.text.pointless_after) <= set(BY_NAME)
    edit.text.rationale.format_map(dict.fromkeys(NAMES, 0.5))


@pytest.mark.parametrize("edit", CATALOGUE, ids=lambda edit: edit.name)
def test_every_edit_makes_a_valid_scaffold(edit: Edit) -> None:
    files = dict(SEED)
    for name in edit.text.requires:
        files = apply(files, BY_NAME[name])
    changed = apply(files, edit)
    assert changed != files
    assert check_scaffold(changed, validate_manifest=manifest_faults) == []


def test_any_two_edits_in_any_order_change_something_or_say_that_they_do_not_fit() -> None:
    for first, second in itertools.permutations(CATALOGUE, 2):
        try:
            once = apply(SEED, first)
            twice = apply(once, second)
        except EditNotApplicable:
            continue
        assert twice != once, (first.name, second.name)
        assert check_scaffold(twice, validate_manifest=manifest_faults) == []


def test_a_symptom_that_shows_makes_an_edit_more_urgent() -> None:
    edit = BY_NAME["only_new"]
    absent = urgency(edit, {"redundant_write_rate": 0.3})
    present = urgency(edit, {"redundant_write_rate": 0.31})
    assert (absent, present) == (pytest.approx(0.225), pytest.approx(0.9))


class TestChoice:
    def propose(self, brief: Brief) -> Draft | None:
        return RulesEditor(seed_scaffolds() / "edits").propose(brief, NoBench())

    def test_what_was_judged_is_not_proposed_again(self) -> None:
        seen = [view(edit, "reject") for edit in CATALOGUE]
        assert self.propose(brief(SEED, history=seen, lineage=[])) is None
        draft = self.propose(brief(SEED, history=seen[1:], lineage=[]))
        assert draft is not None
        assert draft.proposal.subject == CATALOGUE[0].text.subject

    def test_the_most_urgent_comes_first_with_the_figure_that_calls_for_it(self) -> None:
        draft = self.propose(brief(SEED, history=[], lineage=[]))
        assert draft is not None
        assert draft.proposal.subject == BY_NAME["only_new"].text.subject
        assert draft.proposal.rationale.startswith("90% of all writes")

    def test_what_stayed_open_may_be_tried_on_another_night_but_not_on_this(self) -> None:
        left = BY_NAME["status_file"]
        others = [view(edit, "reject") for edit in CATALOGUE if edit is not left]
        earlier = [*others, view(left, "indecisive")]
        tonight = [*others, view(left, "indecisive", night="crafter-20260101-000000")]
        draft = self.propose(brief(SEED, history=earlier, lineage=[]))
        assert draft is not None
        assert draft.proposal.subject == left.text.subject
        assert self.propose(brief(SEED, history=tonight, lineage=[])) is None

    def test_what_another_candidate_outran_may_be_tried_on_that_one(self) -> None:
        left = BY_NAME["status_file"]
        others = [view(edit, "reject") for edit in CATALOGUE if edit is not left]
        outrun = view(left, "indecisive", "crafter-20260101-000000", parent="the tree before")
        draft = self.propose(brief(SEED, history=[*others, outrun], lineage=[]))
        assert draft is not None
        assert draft.proposal.subject == left.text.subject

    def test_what_cannot_add_anything_is_left_out(self) -> None:
        checklist = BY_NAME["checklist"]
        files = apply(SEED, checklist)
        proposed = []
        history: list[EditorView] = []
        while draft := self.propose(
            brief(files, history=history, lineage=[checklist.text.subject])
        ):
            edit = next(one for one in CATALOGUE if one.text.subject == draft.proposal.subject)
            proposed.append(edit.name)
            history.append(view(edit, "reject"))
        assert not {"checklist", "search_done", "progress_file", "compaction"} & set(proposed)
        assert {"only_new", "status_file", "circles", "keyed_map", "explored"} <= set(proposed)
