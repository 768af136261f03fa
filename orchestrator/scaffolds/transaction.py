"""Taking turns and finishing what was begun: the lock, the journal, the working tree."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from filelock import FileLock, Timeout

from orchestrator.scaffolds.catalog import Catalog, read_catalog
from orchestrator.scaffolds.errors import LineageMoved, StoreBusy, StoreError
from orchestrator.scaffolds.journal import (
    Intent,
    Journal,
    drop_stale_locks,
    move_refs,
    withdraw_tags,
)
from orchestrator.scaffolds.plumbing import Plumbing
from orchestrator.scaffolds.worktree import WorkingTree


class Transactions:
    """One writer at a time, and no half-done change of refs and files.

    Args:
        git: The repository.
        timeout_s: Seconds to wait for another writer.
    """

    def __init__(self, git: Plumbing, timeout_s: float) -> None:
        """Remember the places; nothing is locked yet."""
        self._git = git
        self._timeout_s = timeout_s
        self._scratch = git.git_dir / "slowwave"
        self._journal = Journal(self._scratch / "pending.json")
        self.worktree = WorkingTree(git, self._scratch)

    @contextmanager
    def locked(self) -> Iterator[Catalog]:
        """Hold the repository; yields what is in it once an interrupted change is finished.

        Raises:
            StoreBusy: Another process holds it for too long.
            StoreError: The disk is full or cannot be written.
        """
        try:
            self._scratch.mkdir(exist_ok=True)
            with FileLock(self._scratch / "store.lock", timeout=self._timeout_s):
                self._finish_interrupted()
                yield read_catalog(self._git)
        except Timeout:
            raise StoreBusy(
                f"Another process has been writing to {self._git.path} "
                f"for {self._timeout_s:g} seconds.",
                mend="Wait for it, or end it if it hangs, and run this again.",
            ) from None
        except OSError as error:
            raise StoreError(
                f"{self._git.path} could not be written: {error.strerror or error}.",
                mend="Free space there or give your user write permission, and run this again; "
                "what was begun is finished then.",
            ) from error

    def carry_out(self, intent: Intent) -> None:
        """Change refs and working tree as intended; the caller holds the lock.

        Raises:
            LineageMoved: Somebody moved one of the refs with git in this very moment.
        """
        self._journal.write(intent)
        if not self._complete(intent):
            raise LineageMoved(
                f"Somebody moved {', '.join(intent.refs)} in {self._git.path} just now.",
                mend="See `git log` there, and run this again.",
            )

    def _finish_interrupted(self) -> None:
        intent = self._journal.read()
        if intent is not None:
            drop_stale_locks(self._git, intent)
            self._complete(intent)

    def _complete(self, intent: Intent) -> bool:
        moved = move_refs(self._git, intent)
        if moved and intent.lineage and intent.new:
            self._adopt_head(intent.lineage)
            if self.worktree.branch() == intent.lineage:
                self.worktree.advance(intent.old, intent.new)
        elif not moved:
            withdraw_tags(self._git, intent)
        self._journal.clear()
        return moved

    def _adopt_head(self, lineage: str) -> None:
        # A new repository has nothing checked out; its first lineage is what a person will see.
        if self._git.call("rev-parse", "--verify", "--quiet", "HEAD")[0]:
            self._git.run("symbolic-ref", "HEAD", f"refs/heads/{lineage}")
