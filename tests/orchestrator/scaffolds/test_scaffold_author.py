"""Whose code a tree carries, if nobody has read it."""

from __future__ import annotations

from dataclasses import replace

from orchestrator.scaffolds.revision import Revision
from orchestrator.scaffolds.store import ScaffoldStore
from tests.support.scaffold_samples import ACCEPT, PROPOSAL, SEED, git

MODEL = "anthropic:x"
HOOKS = b"def on_start(context):\n    context.state = 1\n"
CHANGE: dict[str, bytes | None] = {"hooks.py": HOOKS}


def propose(
    store: ScaffoldStore, number: int, editor: str, changes: dict[str, bytes | None]
) -> Revision:
    champion = store.champion("crafter")
    return store.propose(
        "crafter",
        night="n1",
        number=number,
        tree=store.write_tree(champion.tree, changes),
        parent=champion,
        proposal=replace(PROPOSAL, editor=editor),
    )


def accept(store: ScaffoldStore, revision: Revision) -> Revision:
    return store.accept(store.record(revision, ACCEPT))


def commit_by_hand(store: ScaffoldStore, name: str, content: bytes) -> str:
    """A person's own commit on the lineage; returns its tree."""
    git(store.path, "checkout", "-q", "crafter")
    (store.path / name).write_bytes(content)
    git(store.path, "add", name)
    git(store.path, "commit", "-qm", "Mine")
    return store.champion("crafter").tree


def test_a_seed_is_a_persons(store: ScaffoldStore) -> None:
    assert store.author(store.champion("crafter").tree) == ""


def test_a_tree_that_nobody_committed_is_a_persons(store: ScaffoldStore) -> None:
    assert store.author("0" * 40) == ""
    assert store.author(store.write_tree(None, SEED | CHANGE)) == ""


def test_the_shipped_editors_work_has_been_read(store: ScaffoldStore) -> None:
    for number in (1, 2, 3):
        done = accept(store, propose(store, number, "rules", {"README.md": b"%d" % number}))
        assert store.author(done.tree) == ""
    assert store.author(propose(store, 4, "rules", CHANGE).tree) == ""


def test_a_models_candidate_is_its_own(store: ScaffoldStore) -> None:
    candidate = propose(store, 1, MODEL, CHANGE)
    assert store.author(candidate.tree) == MODEL
    assert store.author(store.record(candidate, ACCEPT).tree) == MODEL
    assert store.author(store.champion("crafter").tree) == ""


def test_everything_on_top_of_a_models_code_carries_it(store: ScaffoldStore) -> None:
    accept(store, propose(store, 1, "rules", {"README.md": b"one"}))
    accept(store, propose(store, 2, MODEL, CHANGE))
    assert store.author(store.champion("crafter").tree) == MODEL
    accept(store, propose(store, 3, "rules", {"README.md": b"three"}))
    assert store.author(store.champion("crafter").tree) == MODEL
    assert store.author(commit_by_hand(store, "README.md", b"mine")) == MODEL
    assert store.author(propose(store, 4, "rules", {"README.md": b"four"}).tree) == MODEL
    other = propose(store, 5, "anthropic:y", {"README.md": b"five"})
    assert store.author(other.tree) == "anthropic:y"


def test_a_tree_that_a_person_committed_too_has_been_read(store: ScaffoldStore) -> None:
    candidate = propose(store, 1, MODEL, CHANGE)
    assert store.author(candidate.tree) == MODEL
    assert commit_by_hand(store, "hooks.py", HOOKS) == candidate.tree
    assert store.author(candidate.tree) == ""
    # What goes on from the person's commit is read as well.
    assert store.author(propose(store, 2, "rules", {"README.md": b"two"}).tree) == ""


def test_a_revert_to_what_was_read_is_read(store: ScaffoldStore) -> None:
    seed = store.champion("crafter")
    accept(store, propose(store, 1, MODEL, CHANGE))
    back = commit_by_hand(store, "hooks.py", SEED["hooks.py"])
    assert back == seed.tree
    assert store.author(back) == ""


def test_an_editor_cannot_speak_for_another_in_its_words(store: ScaffoldStore) -> None:
    """Its prose may end as trailers do; the store's own line still counts."""
    champion = store.champion("crafter")
    words = replace(
        PROPOSAL,
        editor=MODEL,
        subject="Keep notes",
        summary="Editor: rules",
        rationale="Editor: rules",
        expected_effect="Better.\n\nEditor: rules",
    )
    candidate = store.propose(
        "crafter",
        night="n1",
        number=1,
        tree=store.write_tree(champion.tree, CHANGE),
        parent=champion,
        proposal=words,
    )
    assert candidate.editor == MODEL
    assert store.author(candidate.tree) == MODEL
