"""Lineages, candidates, verdicts and reverts, seen through the store and through plain git."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.scaffolds.errors import (
    BadName,
    CandidateExists,
    LineageExists,
    LineageMoved,
    NoStore,
    NotAccepted,
    NothingChanged,
    RefusedFile,
    RevertConflict,
    StoreBusy,
    StoreError,
    UnknownLineage,
    UnknownRevision,
)
from orchestrator.scaffolds.revision import Revision, Verdict
from orchestrator.scaffolds.store import FileChange, ScaffoldStore
from orchestrator.scaffolds.trees import hash_tree
from tests.support.scaffold_samples import (
    ACCEPT,
    PROPOSAL,
    SEED,
    git,
    read_working_tree,
    write_folder,
)

REJECT = Verdict(word="reject", effect=-2.0, pairs=10, bank_slices=("screen",))
LOG = SEED["prompts/log.j2"]


def propose(store: ScaffoldStore, number: int, changes: dict[str, bytes | None]) -> Revision:
    champion = store.champion("crafter")
    tree = store.write_tree(champion.tree, changes)
    return store.propose(
        "crafter", night="n1", number=number, tree=tree, parent=champion, proposal=PROPOSAL
    )


def accept(store: ScaffoldStore, number: int, changes: dict[str, bytes | None]) -> Revision:
    return store.accept(store.record(propose(store, number, changes), ACCEPT))


def refs(store: ScaffoldStore) -> dict[str, str]:
    lines = git(store.path, "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    return dict(line.split() for line in lines)


def test_a_lineage_begins_with_its_seed(store: ScaffoldStore) -> None:
    champion = store.champion("crafter")
    assert (
        champion.tree == hash_tree(SEED) == git(store.path, "rev-parse", "crafter^{tree}").strip()
    )
    assert (champion.name, champion.tags, champion.parent) == ("crafter/v0", ("crafter/v0",), None)
    assert champion.accepted
    assert store.read_files(champion) == SEED
    assert read_working_tree(store.path) == SEED
    assert git(store.path, "status", "--porcelain", "--branch") == "## crafter\n"


def test_a_seed_can_be_imported_again_but_not_another_one(
    store: ScaffoldStore, tmp_path: Path
) -> None:
    before = refs(store)
    assert store.import_lineage("crafter", tmp_path / "seed") == store.champion("crafter")
    write_folder(tmp_path / "seed", {"README.md": b"other"})
    with pytest.raises(LineageExists, match="crafter is already there, with another seed"):
        store.import_lineage("crafter", tmp_path / "seed")
    assert refs(store) == before


def test_a_seed_can_be_imported_again_after_revisions(store: ScaffoldStore, tmp_path: Path) -> None:
    accept(store, 1, {"README.md": b"new"})
    assert store.import_lineage("crafter", tmp_path / "seed").name == "crafter/v0"


def test_a_candidate_is_kept_out_of_branches(store: ScaffoldStore) -> None:
    candidate = propose(store, 1, {"README.md": b"# Other\n"})
    assert candidate.name == candidate.candidate == "n1/1"
    assert (candidate.kind, candidate.editor, candidate.night) == ("memory", "rules", "n1")
    assert candidate.verdict is None
    assert not candidate.accepted
    assert candidate.parent == hash_tree(SEED)
    assert candidate.body == (
        "Notes are keyed by kind and place.\n\n"
        "Why: Searches for water returned forty lines.\n\n"
        "Expected: Fewer empty searches."
    )
    assert git(store.path, "branch", "--format=%(refname:short)") == "crafter\n"
    assert refs(store)["refs/candidates/n1/1"] == candidate.commit
    assert store.history("crafter") == [store.champion("crafter")]
    assert read_working_tree(store.path) == SEED


def test_proposing_again_changes_nothing(store: ScaffoldStore) -> None:
    first = propose(store, 1, {"README.md": b"a"})
    judged = store.record(first, REJECT)
    assert propose(store, 1, {"README.md": b"a"}) == judged
    with pytest.raises(CandidateExists, match="n1/1 is already there: Keep one line"):
        propose(store, 1, {"README.md": b"b"})


def test_an_unchanged_tree_is_refused(store: ScaffoldStore) -> None:
    with pytest.raises(NothingChanged, match="n1/1 is identical to crafter/v0"):
        propose(store, 1, {"README.md": SEED["README.md"]})


def test_a_verdict_is_recorded_on_the_same_tree_and_parent(store: ScaffoldStore) -> None:
    candidate = propose(store, 1, {"README.md": b"a"})
    judged = store.record(candidate, ACCEPT)
    assert judged.verdict == ACCEPT
    assert (judged.tree, judged.parent_commit) == (candidate.tree, candidate.parent_commit)
    assert (judged.subject, judged.body) == (candidate.subject, candidate.body)
    assert refs(store)["refs/candidates/n1/1"] == judged.commit
    assert store.record(candidate, ACCEPT) == judged
    assert store.record(judged, ACCEPT) == judged
    shown = git(store.path, "show", "--no-patch", "--format=%(trailers:key=Effect)", judged.commit)
    assert shown.strip() == "Effect: +6.25 points"


def test_an_indecisive_verdict_can_be_replaced(store: ScaffoldStore) -> None:
    candidate = store.record(propose(store, 1, {"README.md": b"a"}), Verdict(word="indecisive"))
    judged = store.record(candidate, REJECT)
    assert judged.verdict == REJECT
    assert [key for key, _ in judged.trailers].count("Verdict") == 1


def test_an_accepted_candidate_becomes_the_head_as_it_is(store: ScaffoldStore) -> None:
    judged = store.record(propose(store, 1, {"README.md": b"a", "new.py": b"x = 1\n"}), ACCEPT)
    accepted = store.accept(judged)
    assert accepted.commit == judged.commit
    assert (accepted.name, accepted.tags, accepted.accepted) == (
        "crafter/v1",
        ("crafter/v1",),
        True,
    )
    assert store.champion("crafter") == accepted == store.accept(judged)
    assert store.accept(replace(judged, commit="0" * 40)) == accepted  # named by its number
    assert read_working_tree(store.path) == {**SEED, "README.md": b"a", "new.py": b"x = 1\n"}
    assert git(store.path, "status", "--porcelain") == ""
    assert git(store.path, "tag", "--points-at", "crafter") == "crafter/v1\n"
    with pytest.raises(CandidateExists, match="its verdict stands"):
        store.record(accepted, REJECT)


@pytest.mark.parametrize("verdict", [None, REJECT, Verdict(word="indecisive")])
def test_only_an_accept_is_accepted(store: ScaffoldStore, verdict: Verdict | None) -> None:
    candidate = propose(store, 1, {"README.md": b"a"})
    if verdict:
        candidate = store.record(candidate, verdict)
    before = refs(store)
    with pytest.raises(NotAccepted, match="n1/1 cannot be accepted: its verdict is"):
        store.accept(candidate)
    assert refs(store) == before


def test_a_candidate_of_an_older_head_is_not_accepted(store: ScaffoldStore) -> None:
    late = store.record(propose(store, 1, {"README.md": b"a"}), ACCEPT)
    accept(store, 2, {"README.md": b"b"})
    with pytest.raises(LineageMoved, match="n1/1 was judged against an older head of crafter"):
        store.accept(late)
    assert store.champion("crafter").name == "crafter/v1"


def test_history_puts_candidates_above_what_they_started_from(store: ScaffoldStore) -> None:
    store.record(propose(store, 1, {"README.md": b"a"}), REJECT)
    propose(store, 2, {"README.md": b"b"})
    accept(store, 3, {"README.md": b"c"})
    store.record(propose(store, 10, {"README.md": b"d"}), REJECT)
    store.record(propose(store, 9, {"README.md": b"e"}), REJECT)
    names = [r.name for r in store.history("crafter", include_candidates=True)]
    assert names == ["n1/10", "n1/9", "crafter/v1", "n1/2", "n1/1", "crafter/v0"]
    assert [r.name for r in store.history("crafter")] == ["crafter/v1", "crafter/v0"]


def test_lineages_keep_apart(store: ScaffoldStore, tmp_path: Path) -> None:
    other = write_folder(tmp_path / "other", {"scaffold.toml": b"a = 2\n"})
    store.import_lineage("crafter-simplemem", other)
    accept(store, 1, {"README.md": b"a"})
    assert store.lineages() == ["crafter", "crafter-simplemem"]
    names = [r.name for r in store.history("crafter-simplemem", include_candidates=True)]
    assert names == ["crafter-simplemem/v0"]
    assert store.champion("crafter").name == "crafter/v1"
    assert git(store.path, "branch", "--show-current") == "crafter\n"


@pytest.mark.parametrize("form", ["tag", "lineage", "candidate", "ref", "tree", "commit", "short"])
def test_a_revision_is_found_by_any_of_its_names(store: ScaffoldStore, form: str) -> None:
    accepted = accept(store, 1, {"README.md": b"a"})
    name = {
        "tag": "crafter/v1",
        "lineage": "crafter",
        "candidate": "n1/1",
        "ref": "refs/candidates/n1/1",
        "tree": accepted.tree,
        "commit": accepted.commit,
        "short": accepted.tree[:8],
    }[form]
    assert store.revision(name) == accepted


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("crafter/v7", r"no revision 'crafter/v7'\. Did you mean crafter/v0\?"),
        ("--upload-pack=x", "no revision"),
        ("zzz", r"See `slowwave log --all`"),
        ("0" * 40, "no revision"),
    ],
)
def test_an_unknown_revision_gets_a_sentence(
    store: ScaffoldStore, name: str, sentence: str
) -> None:
    with pytest.raises(UnknownRevision, match=sentence):
        store.revision(name)


def test_unknown_trees_and_lineages_get_a_sentence(store: ScaffoldStore) -> None:
    with pytest.raises(UnknownLineage, match=r"no lineage 'crafted'\. Did you mean crafter\?"):
        store.champion("crafted")
    with pytest.raises(UnknownRevision):
        store.read_files("0" * 40)
    with pytest.raises(UnknownRevision):
        store.propose(
            "crafter",
            night="n",
            number=1,
            tree="0" * 40,
            parent=store.champion("crafter"),
            proposal=PROPOSAL,
        )


def test_a_tree_that_was_judged_is_known(store: ScaffoldStore) -> None:
    candidate = propose(store, 1, {"README.md": b"a"})
    assert store.judged("crafter", candidate.tree) == []
    judged = store.record(candidate, REJECT)
    assert store.judged("crafter", candidate.tree) == [judged]
    assert store.judged("crafter", hash_tree(SEED)) == [store.champion("crafter")]


def test_write_tree_touches_neither_files_nor_index(store: ScaffoldStore) -> None:
    write_folder(store.path, {"README.md": b"a person is writing here"})
    index = (store.path / ".git" / "index").read_bytes()
    changes = {"README.md": None, "memory/notes.md": b"x", "lib.py": b""}
    tree = store.write_tree(hash_tree(SEED), changes)
    expected = {k: v for k, v in SEED.items() if k != "README.md"}
    expected |= {"memory/notes.md": b"x", "lib.py": b""}
    assert tree == hash_tree(expected)
    assert store.read_files(tree) == expected
    assert (store.path / "README.md").read_bytes() == b"a person is writing here"
    assert (store.path / ".git" / "index").read_bytes() == index


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"../evil.py": b""}, BadName),
        ({"/etc/passwd": b""}, BadName),
        ({".git/hooks/post-commit": b""}, BadName),
        ({"a//b": b""}, BadName),
        ({"README.md/x": b""}, BadName),
        ({"readme.md": b""}, BadName),
        ({"a\nb": b""}, BadName),
        ({"gone.md": None}, StoreError),
        (dict.fromkeys(SEED), StoreError),
        ({"big.md": b"x" * 300_000}, RefusedFile),
    ],
)
def test_write_tree_refuses(store: ScaffoldStore, changes, error: type[Exception]) -> None:
    with pytest.raises(error):
        store.write_tree(hash_tree(SEED), changes)


def test_difference_of_two_revisions(store: ScaffoldStore) -> None:
    moved = {"prompts/log.j2": None, "prompts/first.j2": LOG.replace(b"nine", b"ten")}
    after = accept(store, 1, {**moved, "README.md": b"# A seed\nmore\n"})
    text = store.diff("crafter/v0", after)
    assert "rename from prompts/log.j2\nrename to prompts/first.j2\n" in text
    assert "--- a/README.md\n+++ b/README.md\n@@ -1 +1,2 @@\n # A seed\n+more\n" in text
    assert store.stat("crafter/v0", after) == [
        FileChange("README.md", None, 1, 0),
        FileChange("prompts/first.j2", "prompts/log.j2", 1, 1),
    ]
    assert store.diff(after, after) == ""


def test_a_revert_is_the_next_version(store: ScaffoldStore) -> None:
    first = accept(store, 1, {"README.md": b"a\n", "new.py": b"x = 1\n"})
    accept(store, 2, {"memory/notes.md": b"kept\n"})
    undone = store.revert("crafter", first)
    assert undone.name == "crafter/v3"
    assert store.read_files(undone) == {**SEED, "memory/notes.md": b"kept\n"}
    assert undone.trailer("Reverts") == first.commit
    assert undone.subject == 'Revert "Keep one line per landmark"'
    assert store.revert("crafter", first) == undone
    assert read_working_tree(store.path) == {**SEED, "memory/notes.md": b"kept\n"}
    again = store.revert("crafter", undone)
    assert store.read_files(again)["new.py"] == b"x = 1\n"


def test_a_revert_merges_lines_of_a_file_that_has_changed_since(store: ScaffoldStore) -> None:
    first = accept(store, 1, {"prompts/log.j2": LOG.replace(b"two", b"TWO")})
    accept(store, 2, {"prompts/log.j2": LOG.replace(b"two", b"TWO").replace(b"eight", b"EIGHT")})
    undone = store.revert("crafter", first)
    assert store.read_files(undone)["prompts/log.j2"] == LOG.replace(b"eight", b"EIGHT")


def test_a_revert_in_conflict_changes_nothing(store: ScaffoldStore) -> None:
    first = accept(store, 1, {"README.md": b"a\n"})
    accept(store, 2, {"README.md": b"b\n"})
    before = refs(store)
    with pytest.raises(RevertConflict, match=r"changed the same lines of README\.md"):
        store.revert("crafter", first)
    assert refs(store) == before
    assert git(store.path, "status", "--porcelain") == ""


def test_what_cannot_be_reverted_gets_a_sentence(store: ScaffoldStore) -> None:
    rejected = store.record(propose(store, 1, {"README.md": b"z\n"}), REJECT)
    with pytest.raises(NotAccepted, match="n1/1 is not part of crafter"):
        store.revert("crafter", rejected)
    with pytest.raises(NotAccepted, match="crafter/v0 is the seed"):
        store.revert("crafter", store.champion("crafter"))
    first = accept(store, 2, {"README.md": b"a\n"})
    accept(store, 3, SEED)
    with pytest.raises(NothingChanged, match="Nothing of crafter/v1 is left in crafter/v2"):
        store.revert("crafter", first)


def test_an_editor_sees_the_word_and_no_figure(store: ScaffoldStore) -> None:
    accepted = accept(store, 1, {"README.md": b"a"})
    view = accepted.editor_view()
    assert view.verdict == "accept"
    text = view.text()
    assert "Keep one line per landmark" in text
    assert "Why: Searches for water" in text
    for hidden in ("6.25", "11.0", "0.0039", "confirm", "1.25", "ffeeddccbbaa", "2.1 times"):
        assert hidden not in text
        assert hidden not in repr(view)
    refused = Verdict(word="refused", notes=("hooks.py:3: imports os.",))
    view = store.record(propose(store, 2, {"README.md": b"b"}), refused).editor_view()
    assert "Refused: hooks.py:3: imports os." in view.text()


def test_plain_values_for_json(store: ScaffoldStore) -> None:
    plain = accept(store, 1, {"README.md": b"a"}).as_dict()
    assert plain["name"] == "crafter/v1"
    assert plain["parent"] == hash_tree(SEED)
    assert plain["verdict"]["word"] == "accept"
    assert plain["verdict"]["interval"] == [1.5, 11.0]
    assert plain["date"].startswith("2026-11-30T22:")


def test_a_persons_commit_is_a_champion_too(store: ScaffoldStore) -> None:
    write_folder(store.path, {"README.md": b"by hand\n"})
    git(store.path, "commit", "-am", "Say it better\n\nBecause it was unclear.")
    champion = store.champion("crafter")
    assert (champion.subject, champion.body) == ("Say it better", "Because it was unclear.")
    assert (champion.tags, champion.verdict, champion.kind) == ((), None, None)
    assert champion.name == champion.tree[:12]
    assert accept(store, 1, {"README.md": b"c"}).name == "crafter/v1"


def test_a_paragraph_that_ends_in_a_sign_off_stays_prose(store: ScaffoldStore) -> None:
    write_folder(store.path, {"README.md": b"by hand\n"})
    git(store.path, "commit", "-am", "Say it\n\nA reason.\nSigned-off-by: P <p@x>")
    champion = store.champion("crafter")
    assert champion.body == "A reason."
    assert champion.trailers == (("Signed-off-by", "P <p@x>"),)


def test_a_link_in_a_persons_commit_is_refused(store: ScaffoldStore) -> None:
    (store.path / "memory" / "secret.md").symlink_to("/etc/hostname")
    git(store.path, "add", "-A")
    git(store.path, "commit", "-m", "Link")
    with pytest.raises(RefusedFile, match=r"memory/secret\.md of revision .* is a symbolic link"):
        store.read_files(store.champion("crafter"))


@pytest.mark.parametrize("name", ["Crafter", "a/b", "../x", "-x", "x--y", "a.b", "", "x" * 41])
def test_lineage_names(store: ScaffoldStore, seed_folder: Path, name: str) -> None:
    with pytest.raises(BadName, match="cannot name a lineage"):
        store.import_lineage(name, seed_folder)


@pytest.mark.parametrize("night", ["", "a/b", "..", "a..b", ".a", "a.lock", "-n", "a b", "x" * 65])
def test_night_names(store: ScaffoldStore, night: str) -> None:
    with pytest.raises(BadName, match="cannot name a night"):
        store.propose(
            "crafter",
            night=night,
            number=1,
            tree=hash_tree(SEED),
            parent=store.champion("crafter"),
            proposal=PROPOSAL,
        )


def test_there_is_no_store_where_nobody_made_one(tmp_path: Path) -> None:
    with pytest.raises(NoStore, match=r"no scaffold repository at .*nowhere\..*slowwave init"):
        ScaffoldStore.open(tmp_path / "nowhere")
    git(tmp_path, "init", "--quiet")  # a repository around it is not it
    (tmp_path / "scaffolds").mkdir()
    with pytest.raises(NoStore):
        ScaffoldStore.open(tmp_path / "scaffolds")


def test_init_spares_what_is_there(store: ScaffoldStore, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "full", {"thesis.tex": b"years of work"})
    with pytest.raises(NoStore, match="has files in it but is not a scaffold repository"):
        ScaffoldStore.init(folder)
    assert read_working_tree(folder) == {"thesis.tex": b"years of work"}
    before = refs(store)
    assert refs(ScaffoldStore.init(store.path)) == before


def test_writers_take_turns(store: ScaffoldStore) -> None:
    other = ScaffoldStore.open(store.path, lock_timeout_s=0.01)
    with (
        store._locked(),
        pytest.raises(StoreBusy, match=r"Another process has been writing to .* 0\.01 seconds"),
    ):
        other.ensure_clean()
    other.ensure_clean()


@pytest.mark.parametrize(
    ("words", "mend"),
    [
        ("fatal: sha1 file 'x' write error. Out of diskspace", "Free space on that disk"),
        ("error: unable to write file x: No space left on device", "Free space on that disk"),
        ("fatal: Unable to create '/s/.git/refs/x.lock': File exists.", "remove the .lock file"),
        ("error: insufficient permission for adding an object", "write permission"),
        ("fatal: loose object 1234 is corrupt", "git fsck"),
    ],
)
def test_what_git_says_becomes_a_sentence_with_a_mend(
    store: ScaffoldStore, words: str, mend: str
) -> None:
    error = store._git.failure("commit-tree", words)
    assert str(error).startswith(f"git commit-tree failed in {store.path}: {words.rstrip('.')}. ")
    assert mend in str(error)


def test_a_repository_that_lost_an_object_gets_a_sentence(store: ScaffoldStore) -> None:
    blob = git(store.path, "rev-parse", "crafter:README.md").strip()
    (store.path / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(StoreError, match=r"git .* failed in .*git fsck"):
        store.read_files("crafter")
