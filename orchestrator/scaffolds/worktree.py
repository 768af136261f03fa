"""The working tree: it shows a champion, and a person may be editing it.

An update touches only what is exactly as the old revision had it, file by file, so that it can
be repeated after a crash at any point and never overwrites what somebody wrote.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from orchestrator.scaffolds.errors import DirtyRepository, StoreError
from orchestrator.scaffolds.plumbing import Plumbing
from orchestrator.scaffolds.trees import hash_blob

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
_HEADS = "refs/heads/"
_NO_FILE = "0" * 40


@dataclass(frozen=True, slots=True)
class _Change:
    path: str
    old: str | None
    new: str | None


class WorkingTree:
    """The files a person sees in `scaffolds/`, and git's index of them.

    Args:
        git: The repository.
        scratch: A folder inside the repository's `.git` for files that are not complete yet.
    """

    def __init__(self, git: Plumbing, scratch: Path) -> None:
        """Remember the places; nothing is read yet."""
        self._git = git
        self._scratch = scratch

    def branch(self) -> str | None:
        """The branch that is checked out, or None when HEAD is detached."""
        status, out, _ = self._git.call("symbolic-ref", "--quiet", "HEAD")
        ref = out.decode().strip()
        return ref.removeprefix(_HEADS) if status == 0 and ref.startswith(_HEADS) else None

    def changed(self) -> list[str]:
        """Paths that differ from the checked-out commit, untracked ones included."""
        out = self._git.run(
            "status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames"
        )
        return [record[3:] for record in out.decode(errors="replace").split("\0") if record]

    def ensure_clean(self) -> None:
        """Raise DirtyRepository if anything is not committed."""
        changed = self.changed()
        if not changed:
            return
        named = ", ".join(changed[:5])
        if len(changed) > 5:
            named += f" and {len(changed) - 5} more"
        here = self._git.path
        raise DirtyRepository(
            f"The scaffold repository {here} has changes that are not committed: {named}. "
            "They were left as they are.",
            mend=f"Commit them (git -C {here} add -A && git -C {here} commit) or set them aside "
            f"(git -C {here} stash -u), then run the command again.",
        )

    def advance(self, old: str | None, new: str) -> None:
        """Bring files and index from one commit to the next; may be repeated.

        Args:
            old: Commit that was shown before; None if nothing was.
            new: Commit to show.
        """
        changes = list(self._changes(old or EMPTY_TREE, new))
        # Removals first: a folder may take the place of a file, or a file that of a folder.
        changes.sort(key=lambda change: change.new is not None)
        contents = self._contents([change.new for change in changes if change.new])
        for change in changes:
            self._update_file(change, contents)
        self._update_index(changes)

    def _changes(self, old: str, new: str) -> Iterator[_Change]:
        out = self._git.run("diff-tree", "-r", "-z", "--no-renames", "--full-index", old, new)
        cells = out.decode(errors="surrogateescape").split("\0")[:-1]
        for meta, path in zip(cells[::2], cells[1::2], strict=True):
            _, _, before, after, _ = meta.removeprefix(":").split()
            yield _Change(path, *(None if h == _NO_FILE else h for h in (before, after)))

    def _contents(self, blobs: list[str]) -> dict[str, bytes]:
        return {blob: self._git.run("cat-file", "blob", blob) for blob in dict.fromkeys(blobs)}

    def _update_file(self, change: _Change, contents: dict[str, bytes]) -> None:
        target = self._git.path / change.path
        if self._behind_a_link(target) or _blob_at(target) != change.old:
            return
        if change.new is None:
            target.unlink(missing_ok=True)
            self._drop_empty_folders(target.parent)
            return
        # Written outside the working tree, or a crash would leave a stray file in it.
        part = self._scratch / "file.part"
        part.write_bytes(contents[change.new])
        target.parent.mkdir(parents=True, exist_ok=True)
        part.replace(target)

    def _behind_a_link(self, target: Path) -> bool:
        inside = target.relative_to(self._git.path).parents
        return any((self._git.path / folder).is_symlink() for folder in inside)

    def _drop_empty_folders(self, folder: Path) -> None:
        while folder != self._git.path and folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
            folder = folder.parent

    def _update_index(self, changes: list[_Change]) -> None:
        index, lock = self._git.git_dir / "index", self._git.git_dir / "index.lock"
        copy = self._scratch / "index.next"
        if lock.exists() and copy.exists() and lock.samefile(copy):
            lock.unlink()  # ours, from a run that was killed between the two last lines below
        copy.unlink(missing_ok=True)
        copy.with_suffix(".next.lock").unlink(missing_ok=True)
        if index.exists():
            copy.write_bytes(index.read_bytes())
        env = {"GIT_INDEX_FILE": str(copy)}
        staged = self._staged(env)
        rows = [
            f"{'100644' if change.new else '0'} {change.new or _NO_FILE}\t{change.path}"
            for change in changes
            if staged.get(change.path) == change.old
        ]
        data = "".join(f"{row}\0" for row in rows).encode(errors="surrogateescape")
        self._git.run("update-index", "-z", "--index-info", data=data, env=env)
        self._git.run("update-index", "-q", "--refresh", env=env, ok=(0, 1))
        self._swap_index(copy, lock, index)

    def _staged(self, env: dict[str, str]) -> dict[str, str]:
        out = self._git.run("ls-files", "--stage", "-z", env=env)
        found = {}
        for record in out.decode(errors="surrogateescape").split("\0")[:-1]:
            meta, _, path = record.partition("\t")
            found[path] = meta.split()[1]
        return found

    def _swap_index(self, copy: Path, lock: Path, index: Path) -> None:
        # Git's own protocol: whoever creates index.lock may replace the index.
        try:
            _claim(lock, copy)
        except FileExistsError:
            raise StoreError(
                f"Another git command is at work in {self._git.path}.",
                mend=f"Let it finish and run this again; if none is running, remove {lock}.",
            ) from None
        lock.replace(index)
        copy.unlink(missing_ok=True)


def _blob_at(path: Path) -> str | None:
    if path.is_symlink() or path.is_dir():
        return ""  # neither the old file nor its absence
    try:
        return hash_blob(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None


def _claim(lock: Path, copy: Path) -> None:
    try:
        os.link(copy, lock)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        with lock.open("xb") as file:
            file.write(copy.read_bytes())
