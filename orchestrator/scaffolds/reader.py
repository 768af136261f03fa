"""Reading the scaffold repository; needs no lock and changes nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import gettempdir

from orchestrator.scaffolds import objects
from orchestrator.scaffolds.catalog import Catalog, read_catalog
from orchestrator.scaffolds.errors import GitMissing, UnknownRevision
from orchestrator.scaffolds.export import export_files
from orchestrator.scaffolds.plumbing import Plumbing
from orchestrator.scaffolds.revision import Revision
from orchestrator.scaffolds.trees import tree_of_folder

OLDEST_GIT = (2, 32)
SEE_LOG = "See `slowwave log --all`."


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file in the difference of two revisions; line counts are None for binary content."""

    path: str
    old_path: str | None
    added: int | None
    removed: int | None


class ScaffoldReader:
    """What can be asked of a scaffold repository.

    Args:
        path: The working tree.
    """

    def __init__(self, path: Path) -> None:
        """Bind to a repository; nothing is read yet."""
        self.path = path.absolute()
        self._git = self._plumbing()

    def lineages(self) -> list[str]:
        """Names of the lineages."""
        return sorted(self._catalog().lineages)

    def champion(self, lineage: str) -> Revision:
        """The lineage's head; raises UnknownLineage."""
        return self._catalog().head(lineage)

    def revision(self, name: str) -> Revision:
        """The revision that a name means: lineage, tag, `<night>/<number>`, tree or commit hash.

        Raises:
            UnknownRevision: None, or more than one.
        """
        return self._catalog().find(name)

    def judged(self, lineage: str, tree: str) -> list[Revision]:
        """Revisions of the lineage with this tree that are part of it or have a verdict."""
        found = self._catalog().with_tree(lineage, tree)
        return [one for one in found if one.accepted or one.verdict]

    def history(self, lineage: str, *, include_candidates: bool = False) -> list[Revision]:
        """Revisions of a lineage, newest first; raises UnknownLineage.

        Args:
            lineage: Its name.
            include_candidates: Also what was not accepted, each above what it started from.
        """
        return self._catalog().history(lineage, include_candidates=include_candidates)

    def author(self, tree: str) -> str:
        """The editor that wrote code in a tree which nobody is known to have read.

        Empty for what people wrote or read: seeds, their own commits, the shipped edits. A tree
        that anyone reached without such an editor counts as read.
        """
        return self._catalog().author(tree)

    def read_files(self, tree: str | Revision) -> dict[str, bytes]:
        """Content of a revision's files by path; raises as `objects.read_files`."""
        return objects.read_files(self._git, self._tree(tree))

    def entries(self, tree: str | Revision) -> list[objects.Entry]:
        """Every path of a revision as git holds it, also what cannot be part of a scaffold."""
        return objects.entries(self._git, self._tree(tree))

    def read_plain(self, entries: list[objects.Entry]) -> dict[str, bytes]:
        """Content of those entries that are ordinary files, by path."""
        return objects.read_plain_blobs(self._git, entries)

    def tree_of_folder(self, folder: Path) -> str:
        """The identity a folder on disk has as a scaffold; see `trees.read_folder`."""
        return tree_of_folder(folder)

    def diff(self, a: str | Revision, b: str | Revision) -> str:
        """Unified difference of two revisions, renames detected."""
        out = self._git.run(
            "diff-tree",
            "-r",
            "-p",
            "-M",
            "-U3",
            "--no-color",
            "--no-ext-diff",
            "--no-textconv",
            "--diff-algorithm=histogram",
            "--src-prefix=a/",
            "--dst-prefix=b/",
            self._tree(a),
            self._tree(b),
        )
        return out.decode(errors="replace")

    def stat(self, a: str | Revision, b: str | Revision) -> list[FileChange]:
        """Lines added and removed by file, renames detected."""
        out = self._git.run(
            "diff-tree", "-r", "-M", "-z", "--numstat", self._tree(a), self._tree(b)
        )
        return list(_numstat(out.decode(errors="replace")))

    def export(self, tree: str | Revision, root: Path) -> Path:
        """A verified read-only copy at `<root>/<tree>/`; see `export.export_files`."""
        return export_files(self.read_files(tree), root)

    def _plumbing(self) -> Plumbing:
        return Plumbing(self.path)

    def _catalog(self) -> Catalog:
        return read_catalog(self._git)

    def _tree(self, what: str | Revision) -> str:
        if isinstance(what, Revision):
            return what.tree
        if not re.fullmatch(r"[0-9a-f]{40}", what):
            return self.revision(what).tree
        status, out, _ = self._git.call("rev-parse", "--verify", "--quiet", f"{what}^{{tree}}")
        if status:
            raise UnknownRevision(f"There is no revision {what} in {self.path}.", mend=SEE_LOG)
        return out.decode().strip()


@cache
def require_git() -> None:
    """Raise GitMissing if the installed git is too old to be shut off from the user's settings."""
    words = Plumbing(Path(gettempdir())).line("version")
    match = re.search(r"(\d+)\.(\d+)", words)
    if match and (int(match[1]), int(match[2])) < OLDEST_GIT:
        raise GitMissing(
            f"{words} is too old.",
            mend=f"Install git {OLDEST_GIT[0]}.{OLDEST_GIT[1]} or later.",
        )


def _numstat(out: str) -> Iterator[FileChange]:
    cells = iter(out.split("\0")[:-1])
    for cell in cells:
        added, removed, path = cell.split("\t", 2)
        old = None
        if not path:  # a rename: the two names follow in cells of their own
            old, path = next(cells), next(cells)
        yield FileChange(path, old, _count(added), _count(removed))


def _count(text: str) -> int | None:
    return int(text) if text.isdecimal() else None
