"""A process killed anywhere is finished by the next one.

A child process carries out the operation and kills itself (SIGKILL, so that nothing of ours can
tidy up) just before or just after its n-th git command that writes, for every n.
"""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from orchestrator.scaffolds.plumbing import Plumbing
from orchestrator.scaffolds.store import ScaffoldStore
from tests.support.scaffold_samples import (
    ACCEPT,
    PROPOSAL,
    SEED,
    TickingClock,
    git,
    read_working_tree,
    write_folder,
)

CHANGED = {"README.md": b"new\n", "lib.py": b"x = 1\n"}
WRITING = frozenset({"hash-object", "mktree", "commit-tree", "update-ref", "update-index"})
Operation = Callable[[ScaffoldStore], object]


class DyingPlumbing(Plumbing):
    """Kills its process at the n-th command that writes."""

    def __init__(self, path: Path, at: int, *, after: bool) -> None:
        super().__init__(path)
        self.at, self.after, self.count = at, after, 0

    def call(
        self, *args: str, data: bytes | None = None, env: Mapping[str, str] | None = None
    ) -> tuple[int, bytes, str]:
        self.count += args[0] in WRITING
        due = args[0] in WRITING and self.count == self.at
        if due and not self.after:
            os.kill(os.getpid(), signal.SIGKILL)
        result = super().call(*args, data=data, env=env)
        if due:
            os.kill(os.getpid(), signal.SIGKILL)
        return result


class DyingStore(ScaffoldStore):
    """A store on such plumbing."""

    def __init__(self, path: Path, *, at: int, after: bool) -> None:
        self._dying = at, after
        super().__init__(path, now=TickingClock())

    def _plumbing(self) -> Plumbing:
        at, after = self._dying
        return DyingPlumbing(self.path, at, after=after)


def killed(path: Path, operation: Operation, at: int, *, after: bool) -> bool:
    """Whether the operation in a child process was killed; False if it ended first."""
    child = os.fork()
    if child == 0:
        try:
            operation(DyingStore(path, at=at, after=after))
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


def _propose(store: ScaffoldStore):
    champion = store.revision("crafter/v0")
    tree = store.write_tree(champion, CHANGED)
    return store.propose(
        "crafter", night="n1", number=1, tree=tree, parent=champion, proposal=PROPOSAL
    )


def _record(store: ScaffoldStore):
    return store.record(_propose(store), ACCEPT)


def _accept(store: ScaffoldStore):
    return store.accept(_record(store))


def _revert(store: ScaffoldStore):
    return store.revert("crafter", store.revision("crafter/v1"))


def _nothing(store: ScaffoldStore) -> None:
    pass


def _import(store: ScaffoldStore):
    return store.import_lineage("crafter", store.path.parent / "seed")


SCENES = {
    "import": (_nothing, _import, SEED, 0),
    "propose": (_import, _propose, SEED, 0),
    "record": (lambda s: (_import(s), _propose(s)), _record, SEED, 0),
    "accept": (lambda s: (_import(s), _record(s)), _accept, {**SEED, **CHANGED}, 1),
    "revert": (lambda s: (_import(s), _accept(s)), _revert, SEED, 2),
}


def check(store: ScaffoldStore, files: Mapping[str, bytes], versions: int) -> None:
    """The repository is as if nobody had been killed."""
    store.ensure_clean()
    assert read_working_tree(store.path) == files
    assert git(store.path, "status", "--porcelain", "--branch") == "## crafter\n"
    tags = git(store.path, "tag", "--list").split()
    assert tags == [f"crafter/v{k}" for k in range(versions + 1)]
    assert store.champion("crafter").tags == (f"crafter/v{versions}",)
    assert len(store.history("crafter")) == versions + 1
    git(store.path, "fsck", "--strict")
    left = sorted(p.name for p in (store.path / ".git" / "slowwave").iterdir())
    assert [name for name in left if name != "store.lock"] == []
    assert not list((store.path / ".git").rglob("*.lock.lock"))


@pytest.mark.slow
@pytest.mark.parametrize("scene", SCENES)
def test_killed_at_every_command_that_writes(tmp_path: Path, scene: str) -> None:
    prepare, operation, files, versions = SCENES[scene]
    before = tmp_path / "before"
    write_folder(before / "seed", SEED)
    prepare(ScaffoldStore.init(before / "scaffolds", now=TickingClock()))
    for after in (False, True):
        at, died = 0, True
        while died:
            at += 1
            folder = tmp_path / f"{after}-{at}"
            shutil.copytree(before, folder, symlinks=True)
            git(folder / "scaffolds", "status")  # a copy has other inodes; let git see them
            died = killed(folder / "scaffolds", operation, at, after=after)
            done = operation(ScaffoldStore.open(folder / "scaffolds"))
            assert operation(ScaffoldStore.open(folder / "scaffolds")) == done
            check(ScaffoldStore.open(folder / "scaffolds"), files, versions)
        assert at >= 4


@pytest.fixture
def interrupted(store: ScaffoldStore) -> ScaffoldStore:
    """Killed once the refs had moved and the files had not."""
    _record(store)
    # _accept first repeats _propose, which writes two files and a tree, then moves the refs.
    writes = ["hash-object", "hash-object", "mktree", "update-ref"]
    assert killed(store.path, _accept, len(writes), after=True)
    assert git(store.path, "tag", "--list").split() == ["crafter/v0", "crafter/v1"]
    assert read_working_tree(store.path) == SEED
    return store


def test_the_next_writer_finishes_what_another_began(interrupted: ScaffoldStore) -> None:
    interrupted.ensure_clean()
    check(interrupted, {**SEED, **CHANGED}, 1)


def test_what_a_person_wrote_after_the_crash_is_kept(interrupted: ScaffoldStore) -> None:
    write_folder(interrupted.path, {"README.md": b"by hand\n", "memory/notes.md": b"by hand\n"})
    git(interrupted.path, "add", "memory/notes.md")
    with pytest.raises(Exception, match=r"not committed: README\.md, memory/notes\.md\."):
        interrupted.ensure_clean()
    assert read_working_tree(interrupted.path) == {
        **SEED,
        **CHANGED,
        "README.md": b"by hand\n",
        "memory/notes.md": b"by hand\n",
    }
    status = git(interrupted.path, "status", "--porcelain")
    assert sorted(status.splitlines()) == [" M README.md", "M  memory/notes.md"]


def test_files_that_were_half_written(interrupted: ScaffoldStore) -> None:
    write_folder(interrupted.path, {"README.md": b"new\n"})
    write_folder(interrupted.path / ".git" / "slowwave", {"file.part": b"x ="})
    interrupted.ensure_clean()
    check(interrupted, {**SEED, **CHANGED}, 1)


def test_locks_of_a_killed_git_are_cleared(interrupted: ScaffoldStore) -> None:
    for ref in ("HEAD", "refs/heads/crafter", "refs/tags/crafter/v1"):
        (interrupted.path / ".git" / f"{ref}.lock").touch()
    interrupted.ensure_clean()
    assert not list((interrupted.path / ".git" / "refs").rglob("*.lock"))
    git(interrupted.path, "commit", "--allow-empty", "-m", "By hand")


def test_a_lineage_moved_by_hand_meanwhile_is_respected(store: ScaffoldStore) -> None:
    judged = _record(store)
    at = 1
    while not (store.path / ".git" / "slowwave" / "pending.json").exists():
        assert killed(store.path, _accept, at, after=False)
        at += 1
    write_folder(store.path, {"README.md": b"by hand\n"})
    git(store.path, "commit", "-am", "By hand")
    store.ensure_clean()
    assert store.champion("crafter").subject == "By hand"
    assert git(store.path, "tag", "--list").split() == ["crafter/v0"]
    with pytest.raises(Exception, match="was judged against an older head"):
        store.accept(judged)
    assert read_working_tree(store.path) == {**SEED, "README.md": b"by hand\n"}


def test_an_index_swap_cut_short_is_completed(store: ScaffoldStore) -> None:
    judged = _record(store)
    scratch = store.path / ".git" / "slowwave"
    index = store.path / ".git" / "index"
    (scratch / "index.next").write_bytes(index.read_bytes())
    os.link(scratch / "index.next", store.path / ".git" / "index.lock")
    store.accept(judged)
    check(store, {**SEED, **CHANGED}, 1)
