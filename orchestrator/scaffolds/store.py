"""The scaffold repository: lineages, candidates, verdicts, reverts.

One ordinary git repository, `scaffolds/` in a workspace, that a person can read and edit with
git. A lineage is a branch whose root is the scaffold's folder; its head is the champion. What a
night proposes lives under `refs/candidates/<night>/<number>`, out of `git branch`, and moves
onto the lineage as it is, commit and all, when it is accepted. Tags `<lineage>/v<k>` number the
seed (v0) and every revision after it.

Objects are written with plumbing, so that nothing here depends on what is checked out. Every
change of refs is written to a journal first (`journal`); a process that is killed anywhere is
finished by the next one that takes the lock. The working tree follows its lineage only if it is
clean.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from orchestrator.scaffolds import objects
from orchestrator.scaffolds.catalog import CANDIDATES, HEADS, TAGS, Catalog
from orchestrator.scaffolds.errors import (
    CandidateExists,
    LineageExists,
    LineageMoved,
    NoStore,
    NotAccepted,
    NothingChanged,
    RevertConflict,
    UnknownRevision,
)
from orchestrator.scaffolds.journal import Intent
from orchestrator.scaffolds.merge import inverse_change
from orchestrator.scaffolds.message import compose, proposal_message, with_verdict
from orchestrator.scaffolds.names import lineage_name, night_id
from orchestrator.scaffolds.reader import SEE_LOG, FileChange, ScaffoldReader, require_git
from orchestrator.scaffolds.revision import Proposal, Revision, Verdict
from orchestrator.scaffolds.transaction import Transactions
from orchestrator.scaffolds.trees import read_folder

__all__ = ["FileChange", "Proposal", "Revision", "ScaffoldStore", "Verdict"]

Clock = Callable[[], datetime]

_EXCLUDE = "__pycache__/\n*.pyc\n.DS_Store\n"


def _now() -> datetime:
    return datetime.now(UTC)


class ScaffoldStore(ScaffoldReader):
    """A scaffold repository that can be written; make one with `init` or `open`.

    Reading takes no lock. Writing takes a file lock, so that processes take turns.

    Args:
        path: The working tree.
        lock_timeout_s: Seconds to wait for another writer.
        now: Clock for commit dates.
    """

    def __init__(self, path: Path, *, lock_timeout_s: float = 30.0, now: Clock = _now) -> None:
        """Bind to a repository that is there; use `open`, which checks it."""
        super().__init__(path)
        self._transactions = Transactions(self._git, lock_timeout_s)
        self._locked = self._transactions.locked
        self._now = now

    @classmethod
    def init(cls, path: Path, *, lock_timeout_s: float = 30.0, now: Clock = _now) -> Self:
        """Make an empty repository, or complete one that is already there.

        Raises:
            NoStore: The folder holds other things.
            GitMissing: git is missing or too old.
        """
        path = path.absolute()
        if path.exists() and not (path / ".git").is_dir() and any(path.iterdir()):
            raise NoStore(
                f"{path} has files in it but is not a scaffold repository.",
                mend="Move them away, or choose another folder.",
            )
        path.mkdir(parents=True, exist_ok=True)
        store = cls(path, lock_timeout_s=lock_timeout_s, now=now)
        require_git()
        # An empty template: the user's could bring hooks and attributes.
        store._git.run(
            "init", "--quiet", "--template=", "--object-format=sha1", "--initial-branch=main"
        )
        # For the person's own git, which would not have our settings.
        store._git.run("config", "core.autocrlf", "false")
        info = store._git.git_dir / "info"
        info.mkdir(exist_ok=True)
        (info / "exclude").write_text(_EXCLUDE, encoding="utf-8")
        return store

    @classmethod
    def open(cls, path: Path, *, lock_timeout_s: float = 30.0, now: Clock = _now) -> Self:
        """Open the repository at `path`.

        Raises:
            NoStore: There is none.
            GitMissing: git is missing or too old.
        """
        if not (path / ".git" / "HEAD").is_file():
            raise NoStore(
                f"There is no scaffold repository at {path}.",
                mend="Make the workspace with `slowwave init`, or give the folder of one.",
            )
        store = cls(path, lock_timeout_s=lock_timeout_s, now=now)
        require_git()
        return store

    def write_tree(
        self, base_tree: str | Revision | None, changes: Mapping[str, bytes | None]
    ) -> str:
        """Hash of a changed scaffold, put into the repository; nothing visible moves.

        Args:
            base_tree: What the changes apply to; None for an empty folder.
            changes: New content by path; None removes the file.
        """
        base = self.read_files(base_tree) if base_tree is not None else {}
        return objects.write_tree(self._git, base, changes)

    def import_lineage(self, name: str, folder: Path) -> Revision:
        """Begin a lineage with a seed scaffold, tagged `<name>/v0`; repeating it does nothing.

        Raises:
            LineageExists: It began with another seed.
            BadName, RefusedFile: The name or the folder's content cannot be taken.
        """
        files = read_folder(folder)
        with self._locked() as catalog:
            tree = objects.write_files(self._git, files)
            if lineage_name(name) in catalog.lineages:
                seed = catalog.commits.get(catalog.tags.get(f"{name}/v0", ""))
                if seed is None or seed.tree != tree:
                    raise LineageExists(
                        f"The lineage {name} is already there, with another seed than {folder}.",
                        mend="Import it under another name, or propose the change as a revision.",
                    )
                return catalog.seen_from(seed.commit, name)
            message = compose(f"Seed the {name} lineage", "", [("Lineage", name)])
            commit = self._commit(tree, None, message)
            return self._advance(catalog, name, None, commit)

    def propose(
        self,
        lineage: str,
        *,
        night: str,
        number: int,
        tree: str,
        parent: Revision,
        proposal: Proposal,
    ) -> Revision:
        """Commit a candidate at `refs/candidates/<night>/<number>`; repeating it does nothing.

        Raises:
            NothingChanged: The tree is the parent's.
            CandidateExists: The number is taken by another candidate.
            UnknownLineage, UnknownRevision, RefusedFile: What it refers to is not there or
                cannot be a scaffold.
        """
        name = f"{night_id(night)}/{number:d}"
        message = proposal_message(proposal, lineage=lineage, night=night, number=number)
        with self._locked() as catalog:
            if parent.commit not in catalog.commits:
                raise UnknownRevision(f"{parent.name} is not in {self.path}.", mend=SEE_LOG)
            catalog.known(lineage)
            objects.read_files(self._git, tree)
            if tree == parent.tree:
                raise NothingChanged(
                    f"Candidate {name} is identical to {parent.name}.", mend="Change something."
                )
            taken = catalog.commits.get(catalog.candidates.get(name, ""))
            if taken is not None and (taken.tree, taken.parent_commit) == (tree, parent.commit):
                return taken
            if taken is not None:
                raise CandidateExists(
                    f"Candidate {name} is already there: {taken.subject}.",
                    mend="Use the next free number.",
                )
            commit = self._commit(tree, parent.commit, message)
            return self._set_candidate(name, None, commit, f"propose {name}")

    def record(self, revision: Revision, verdict: Verdict) -> Revision:
        """Write a verdict under a candidate; a later verdict takes the place of an earlier one.

        Returns:
            The candidate with its trailers: same tree, same parent, a new commit.

        Raises:
            CandidateExists: The number now belongs to another tree, or is already accepted.
            UnknownRevision: The revision is no candidate.
        """
        with self._locked() as catalog:
            current = _current(catalog, revision)
            trailers = with_verdict(current.trailers, verdict)
            message = compose(current.subject, current.body, trailers)
            if message == compose(current.subject, current.body, current.trailers):
                return current
            if current.accepted:
                raise CandidateExists(
                    f"{current.name} is part of {current.lineage}; its verdict stands.",
                    mend=f"Undo it with `slowwave revert {current.name}`.",
                )
            commit = self._commit(
                current.tree, current.parent_commit, message, written=current.date
            )
            name = current.candidate or ""
            return self._set_candidate(name, current.commit, commit, f"{verdict.word} {name}")

    def accept(self, revision: Revision) -> Revision:
        """Advance the lineage to a candidate that was judged `accept`; repeating it does nothing.

        Raises:
            NotAccepted: Its verdict is another, or it has none.
            LineageMoved: The lineage has a newer head than the candidate started from.
            DirtyRepository: The lineage is checked out with changes that are not committed.
        """
        with self._locked() as catalog:
            current = _current(catalog, revision)
            lineage = current.lineage
            if current.accepted:
                return self._tagged(catalog, current)
            if current.verdict is None or current.verdict.word != "accept":
                word = current.verdict.word if current.verdict else "none yet"
                raise NotAccepted(
                    f"{current.name} cannot be accepted: its verdict is {word}.",
                    mend="Record the gate's verdict first.",
                )
            head = catalog.head(lineage)
            if current.parent_commit != head.commit:
                raise LineageMoved(
                    f"{current.name} was judged against an older head of {lineage}, "
                    f"which is now at {head.name}.",
                    mend="Propose it again from the new head, and let the gate judge that.",
                )
            return self._advance(catalog, lineage, head.commit, current.commit)

    def revert(self, lineage: str, revision: Revision) -> Revision:
        """Undo one accepted revision on top of the lineage, as its next version.

        Raises:
            NotAccepted: It is not part of the lineage, or is its seed.
            RevertConflict: Later revisions touched the same lines; nothing was changed.
            NothingChanged: Nothing of it is left.
            DirtyRepository: The lineage is checked out with changes that are not committed.
        """
        with self._locked() as catalog:
            head = catalog.head(lineage)
            if head.trailer("Reverts") == revision.commit:
                return head
            tree = self._undone(catalog, head, revision)
            message = compose(
                f'Revert "{revision.subject}"',
                f"Takes back {revision.name} (tree {revision.tree[:12]}).",
                [("Lineage", lineage), ("Reverts", revision.commit)],
            )
            commit = self._commit(tree, head.commit, message)
            return self._advance(catalog, lineage, head.commit, commit)

    def ensure_clean(self) -> None:
        """Raise DirtyRepository, naming the files, if the working tree has uncommitted changes."""
        with self._locked():
            self._transactions.worktree.ensure_clean()

    # Inside

    def _commit(
        self, tree: str, parent: str | None, message: str, *, written: datetime | None = None
    ) -> str:
        now = self._now()
        parents = [parent] if parent else []
        return self._git.commit(tree, parents, message, written=written or now, committed=now)

    def _set_candidate(self, name: str, old: str | None, new: str, message: str) -> Revision:
        self._transactions.carry_out(
            Intent(refs={f"{CANDIDATES}{name}": (old, new)}, message=f"slowwave: {message}")
        )
        return self._catalog().commits[new]

    def _advance(self, catalog: Catalog, lineage: str, old: str | None, new: str) -> Revision:
        """Move a lineage to a commit, tag it as the next version, show it if it is checked out."""
        worktree = self._transactions.worktree
        if old is not None and worktree.branch() == lineage:
            worktree.ensure_clean()
        tag = f"{lineage}/v{catalog.next_version(lineage)}"
        refs = {f"{HEADS}{lineage}": (old, new), f"{TAGS}{tag}": (None, new)}
        self._transactions.carry_out(
            Intent(refs=refs, message=f"slowwave: {tag}", lineage=lineage, old=old, new=new)
        )
        return self._catalog().seen_from(new, lineage)

    def _tagged(self, catalog: Catalog, revision: Revision) -> Revision:
        """An accepted revision, with its tag put back if somebody lost it."""
        if any(tag.startswith(f"{revision.lineage}/v") for tag in revision.tags):
            return revision
        tag = f"{revision.lineage}/v{catalog.next_version(revision.lineage)}"
        self._transactions.carry_out(
            Intent(refs={f"{TAGS}{tag}": (None, revision.commit)}, message=f"slowwave: {tag}")
        )
        return self._catalog().seen_from(revision.commit, revision.lineage)

    def _undone(self, catalog: Catalog, head: Revision, revision: Revision) -> str:
        """Tree of the head without what a revision changed."""
        if revision.commit not in catalog.chains[head.lineage]:
            raise NotAccepted(
                f"{revision.name} is not part of {head.lineage}.",
                mend="Only an accepted revision can be reverted; see `slowwave log`.",
            )
        if revision.parent is None:
            raise NotAccepted(
                f"{revision.name} is the seed of {head.lineage} and cannot be reverted.",
                mend="Revert the revisions after it.",
            )
        files = self.read_files(head)
        changes, conflicts = inverse_change(
            self._git,
            head=files,
            after=self.read_files(revision),
            before=self.read_files(revision.parent),
        )
        if conflicts:
            raise RevertConflict(
                f"{revision.name} cannot be reverted: later revisions of {head.lineage} changed "
                f"the same lines of {', '.join(conflicts)}. Nothing was changed.",
                mend="Revert the later revisions first, or undo it by hand and commit that.",
            )
        if not changes:
            raise NothingChanged(
                f"Nothing of {revision.name} is left in {head.name}.",
                mend="There is nothing to revert.",
            )
        return objects.write_tree(self._git, files, changes)


def _current(catalog: Catalog, revision: Revision) -> Revision:
    """The candidate as it stands now; the caller's may be from before its verdict."""
    name = revision.candidate or ""
    current = catalog.commits.get(catalog.candidates.get(name, ""))
    if current is None:
        raise UnknownRevision(f"{revision.name} is not a candidate here.", mend=SEE_LOG)
    if current.tree != revision.tree:
        raise CandidateExists(
            f"Candidate {name} now has tree {current.tree[:12]}, not {revision.tree[:12]}.",
            mend=SEE_LOG,
        )
    return current
