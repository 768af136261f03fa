"""Any sequence of operations leaves the store as a plain list of file sets says."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from orchestrator.scaffolds.errors import DirtyRepository, NothingChanged
from orchestrator.scaffolds.revision import Revision, Verdict
from orchestrator.scaffolds.store import ScaffoldStore
from orchestrator.scaffolds.trees import hash_tree
from tests.support.scaffold_samples import (
    ACCEPT,
    PROPOSAL,
    SEED,
    TickingClock,
    git,
    read_working_tree,
    write_folder,
)

# Each revision writes files of its own, so that every revert applies without conflict.
CONTENT = st.binary(max_size=12)


class StoreMachine(RuleBasedStateMachine):
    """The store beside `self.chain`, the file sets of the lineage, oldest first."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.store = ScaffoldStore.init(self.folder / "scaffolds", now=TickingClock())
        self.store.import_lineage("crafter", write_folder(self.folder / "seed", SEED))
        self.chain = [dict(SEED)]
        self.tags = 1
        self.candidates: dict[str, str] = {}
        self.dirty: dict[str, bytes] | None = None
        self.count = 0

    def teardown(self) -> None:
        git(self.store.path, "fsck", "--strict")
        shutil.rmtree(self.folder)

    def _new(self, content: bytes) -> tuple[dict[str, bytes], Revision]:
        self.count += 1
        change = {f"memory/m{self.count}.md": content}
        champion = self.store.champion("crafter")
        candidate = self.store.propose(
            "crafter",
            night="n1",
            number=self.count,
            tree=self.store.write_tree(champion, change),
            parent=champion,
            proposal=PROPOSAL,
        )
        return {**self.chain[-1], **change}, candidate

    @rule(content=CONTENT)
    def reject(self, content: bytes) -> None:
        files, candidate = self._new(content)
        self.store.record(candidate, Verdict(word="reject", pairs=10))
        self.candidates[f"n1/{self.count}"] = hash_tree(files)

    @rule(content=CONTENT)
    def accept(self, content: bytes) -> None:
        files, candidate = self._new(content)
        judged = self.store.record(candidate, ACCEPT)
        if self.dirty is not None:
            with pytest.raises(DirtyRepository):
                self.store.accept(judged)
            self.candidates[f"n1/{self.count}"] = hash_tree(files)
            return
        self.store.accept(judged)
        self.chain.append(files)
        self.tags += 1

    @precondition(lambda self: len(self.chain) > 1 and self.dirty is None)
    @rule(data=st.data())
    def revert(self, data: st.DataObject) -> None:
        history = self.store.history("crafter")
        at = data.draw(st.integers(1, len(self.chain) - 1))
        after, before, head = self.chain[at], self.chain[at - 1], self.chain[-1]
        files = dict(head)
        for path in {*after, *before}:
            if after.get(path) != before.get(path) and head.get(path) == after.get(path):
                files.pop(path, None)
                if path in before:
                    files[path] = before[path]
        target = history[len(history) - 1 - at]
        if history[0].trailer("Reverts") == target.commit:
            assert self.store.revert("crafter", target) == history[0]
        elif files == head:
            with pytest.raises(NothingChanged):
                self.store.revert("crafter", target)
        else:
            self.store.revert("crafter", target)
            self.chain.append(files)
            self.tags += 1

    @precondition(lambda self: self.dirty is None)
    @rule(content=CONTENT)
    def edit(self, content: bytes) -> None:
        self.dirty = {f"memory/d{self.count}-{len(self.chain)}.md": content}
        write_folder(self.store.path, self.dirty)

    @precondition(lambda self: self.dirty is not None)
    @rule(keep=st.booleans())
    def settle(self, keep: bool) -> None:
        assert self.dirty is not None
        if keep:
            git(self.store.path, "add", "-A")
            git(self.store.path, "commit", "-m", "By hand")
            self.chain.append({**self.chain[-1], **self.dirty})
        else:
            git(self.store.path, "clean", "-qfd")
        self.dirty = None

    @invariant()
    def everything_agrees(self) -> None:
        history = self.store.history("crafter", include_candidates=True)
        accepted = [r.tree for r in history if r.accepted]
        assert accepted[::-1] == [hash_tree(files) for files in self.chain]
        rest = {r.candidate: r.tree for r in history if not r.accepted}
        assert rest == self.candidates
        assert self.store.read_files("crafter") == self.chain[-1]
        assert read_working_tree(self.store.path) == {**self.chain[-1], **(self.dirty or {})}
        tags = git(self.store.path, "tag", "--list").split()
        assert set(tags) == {f"crafter/v{k}" for k in range(self.tags)}


TestStoreMachine = pytest.mark.slow(StoreMachine.TestCase)
TestStoreMachine.settings = settings(max_examples=6, stateful_step_count=10, deadline=None)
