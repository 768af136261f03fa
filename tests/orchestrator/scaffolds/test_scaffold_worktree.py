"""The working tree follows its lineage and never at the cost of what a person wrote."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.scaffolds.errors import DirtyRepository, StoreError
from orchestrator.scaffolds.revision import Revision
from orchestrator.scaffolds.store import ScaffoldStore
from tests.support.scaffold_samples import (
    ACCEPT,
    PROPOSAL,
    SEED,
    git,
    read_working_tree,
    write_folder,
)


def judged(store: ScaffoldStore, changes: dict[str, bytes | None]) -> Revision:
    champion = store.champion("crafter")
    tree = store.write_tree(champion.tree, changes)
    candidate = store.propose(
        "crafter", night="n1", number=1, tree=tree, parent=champion, proposal=PROPOSAL
    )
    return store.record(candidate, ACCEPT)


def _edit(path: Path) -> None:
    write_folder(path, {"README.md": b"unsaved thoughts"})


def _stage(path: Path) -> None:
    _edit(path)
    git(path, "add", "-A")


def _add(path: Path) -> None:
    write_folder(path, {"prompts/new.j2": b"unsaved thoughts"})


def _delete(path: Path) -> None:
    (path / "README.md").unlink()


@pytest.mark.parametrize(
    ("spoil", "file"),
    [
        (_edit, "README.md"),
        (_stage, "README.md"),
        (_add, "prompts/new.j2"),
        (_delete, "README.md"),
    ],
)
def test_a_dirty_repository_is_left_as_it_is(store: ScaffoldStore, spoil, file: str) -> None:
    candidate = judged(store, {"README.md": b"from the night"})
    spoil(store.path)
    files = read_working_tree(store.path)
    index = git(store.path, "ls-files", "--stage")
    for attempt in (store.ensure_clean, lambda: store.accept(candidate)):
        with pytest.raises(DirtyRepository) as caught:
            attempt()
        assert f"changes that are not committed: {file}." in str(caught.value)
        assert f"git -C {store.path} stash" in str(caught.value)
    assert read_working_tree(store.path) == files
    assert git(store.path, "ls-files", "--stage") == index
    assert store.champion("crafter").name == "crafter/v0"


def test_after_a_stash_the_night_goes_on(store: ScaffoldStore) -> None:
    candidate = judged(store, {"memory/notes.md": b"from the night"})
    _edit(store.path)
    git(store.path, "stash", "-u")
    assert store.accept(candidate).name == "crafter/v1"
    git(store.path, "stash", "pop")
    assert read_working_tree(store.path) == {
        **SEED,
        "memory/notes.md": b"from the night",
        "README.md": b"unsaved thoughts",
    }


def test_caches_are_not_dirt(store: ScaffoldStore) -> None:
    write_folder(store.path, {"__pycache__/hooks.cpython-311.pyc": b"x", "memory/.DS_Store": b""})
    store.ensure_clean()


def test_many_changes_are_counted(store: ScaffoldStore) -> None:
    write_folder(store.path, {f"memory/m{n}.md": b"" for n in range(7)})
    with pytest.raises(DirtyRepository, match=r"memory/m4\.md and 2 more\."):
        store.ensure_clean()


def test_another_lineage_checked_out_stays_as_it_is(store: ScaffoldStore, tmp_path: Path) -> None:
    store.import_lineage("nethack", write_folder(tmp_path / "other", {"scaffold.toml": b"b = 1\n"}))
    git(store.path, "switch", "--quiet", "nethack")
    write_folder(store.path, {"scaffold.toml": b"unsaved"})
    assert store.accept(judged(store, {"README.md": b"new"})).name == "crafter/v1"
    assert read_working_tree(store.path) == {"scaffold.toml": b"unsaved"}
    assert git(store.path, "status", "--porcelain") == " M scaffold.toml\n"


def test_a_detached_head_stays_as_it_is(store: ScaffoldStore) -> None:
    git(store.path, "switch", "--quiet", "--detach", "crafter/v0")
    store.accept(judged(store, {"README.md": b"new"}))
    assert read_working_tree(store.path) == SEED
    assert git(store.path, "status", "--porcelain") == ""


def test_folders_and_files_can_change_places(store: ScaffoldStore) -> None:
    changes = {"memory/notes.md": None, "memory": b"now a file", "README.md": None}
    store.accept(judged(store, {**changes, "readme/README.md": b"now in a folder"}))
    assert git(store.path, "status", "--porcelain") == ""
    shown = read_working_tree(store.path)
    assert shown == store.read_files("crafter")
    store.revert("crafter", store.champion("crafter"))
    assert read_working_tree(store.path) == SEED
    assert git(store.path, "status", "--porcelain") == ""


def test_a_git_command_at_work_is_waited_for_by_the_person(store: ScaffoldStore) -> None:
    candidate = judged(store, {"README.md": b"new"})
    lock = store.path / ".git" / "index.lock"
    lock.write_bytes(b"")
    with pytest.raises(StoreError, match=r"Another git command is at work.*remove .*index\.lock"):
        store.accept(candidate)
    lock.unlink()
    assert store.accept(candidate).name == "crafter/v1"
    assert read_working_tree(store.path) == {**SEED, "README.md": b"new"}
    assert git(store.path, "status", "--porcelain") == ""
