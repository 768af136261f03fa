"""Reading and writing a scaffold's files in the repository, beside working tree and index."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from orchestrator.scaffolds.errors import RefusedFile, StoreError, UnknownRevision
from orchestrator.scaffolds.names import MAX_FILES, MAX_TOTAL_BYTES, check_files, file_path
from orchestrator.scaffolds.plumbing import Plumbing
from orchestrator.scaffolds.trees import hash_blob, tree_objects

_NOT_FILES = {
    "120000": "is a symbolic link",
    "160000": "is a submodule",
    "100755": "is executable",
}


@dataclass(frozen=True, slots=True)
class Entry:
    """One path of a tree as git holds it; `size` is None for a submodule."""

    path: str
    mode: str
    blob: str
    size: int | None

    @property
    def fault(self) -> str | None:
        """Why this cannot be part of a scaffold ("is a symbolic link"), or None."""
        return None if self.mode == "100644" else _NOT_FILES.get(self.mode, "is not a file")


def entries(git: Plumbing, tree: str) -> list[Entry]:
    """Every path of a tree, in git's order.

    Raises:
        UnknownRevision: No such tree here.
    """
    status, out, _ = git.call("ls-tree", "-r", "-l", "-z", "--full-tree", tree)
    if status:
        raise UnknownRevision(
            f"There is no tree {tree} in {git.path}.", mend="See `slowwave log --all`."
        )
    found = []
    for record in out.split(b"\0")[:-1]:
        meta, _, path = record.partition(b"\t")
        mode, _, blob, size = meta.decode().split()
        length = int(size) if size.isdecimal() else None
        found.append(Entry(path.decode(errors="backslashreplace"), mode, blob, length))
    return found


def read_files(git: Plumbing, tree: str) -> dict[str, bytes]:
    """Content of every file of a tree by path.

    Raises:
        UnknownRevision: No such tree here.
        RefusedFile: It holds a link, a submodule, an executable, or too much.
        BadName: A path in it is not plain.
    """
    found = entries(git, tree)
    where = f"Revision {tree[:12]}"
    if len(found) > MAX_FILES or sum(entry.size or 0 for entry in found) > MAX_TOTAL_BYTES:
        raise RefusedFile(
            f"{where} holds {len(found)} files, too many or too large to be a scaffold.",
            mend=f"Keep it to {MAX_FILES} files and {MAX_TOTAL_BYTES:,} bytes in all.",
        )
    for entry in found:
        if entry.fault:
            raise RefusedFile(
                f"{entry.path} of revision {tree[:12]} {entry.fault}.",
                mend="Commit an ordinary file in its place.",
            )
    files = dict(zip((e.path for e in found), _blobs(git, [e.blob for e in found]), strict=True))
    check_files(files, where)
    return files


def read_plain_blobs(git: Plumbing, found: Iterable[Entry]) -> dict[str, bytes]:
    """Content of those entries that are ordinary files, by path."""
    plain = [entry for entry in found if entry.fault is None]
    return dict(zip((e.path for e in plain), _blobs(git, [e.blob for e in plain]), strict=True))


def write_files(git: Plumbing, files: Mapping[str, bytes]) -> str:
    """Put a whole scaffold into the object database.

    Returns:
        The tree's hash.

    Raises:
        BadName, RefusedFile: The store does not take these files.
    """
    return write_tree(git, {}, files)


def write_tree(
    git: Plumbing, base: Mapping[str, bytes], changes: Mapping[str, bytes | None]
) -> str:
    """Put a changed scaffold into the object database; no branch, index or file moves.

    Args:
        git: The repository.
        base: The scaffold's files before, already in the repository.
        changes: New content by path; None removes the file.

    Returns:
        The new tree's hash.

    Raises:
        BadName, RefusedFile: The store does not take these files.
        StoreError: A file to remove is not there, or nothing is left.
    """
    files = dict(base)
    for path, data in changes.items():
        file_path(path)
        if data is not None:
            files[path] = data
        elif files.pop(path, None) is None:
            raise StoreError(
                f"{path} cannot be removed: the scaffold has no such file.",
                mend=f"It has {', '.join(sorted(base)) or 'no files'}.",
            )
    if not files:
        raise StoreError(
            "The change would leave a scaffold without files.", mend="Keep at least scaffold.toml."
        )
    check_files(files, "The scaffold")
    _write_blobs(git, (data for path, data in files.items() if base.get(path) != data))
    return _write_trees(git, {path: hash_blob(data) for path, data in files.items()})


def _write_blobs(git: Plumbing, contents: Iterable[bytes]) -> None:
    for data in dict.fromkeys(contents):
        blob = git.line("hash-object", "-w", "-t", "blob", "--no-filters", "--stdin", data=data)
        if blob != hash_blob(data):
            raise _other_hash(git, blob)


def _write_trees(git: Plumbing, blobs: Mapping[str, str]) -> str:
    trees = list(tree_objects(blobs))
    batch = b"\0".join(b"".join(map(_mktree_row, rows)) for _, rows in trees)
    written = git.run("mktree", "-z", "--batch", data=batch).decode().split()
    if written != [tree for tree, _ in trees]:
        raise _other_hash(git, " ".join(written))
    return trees[-1][0]


def _mktree_row(row: tuple[str, str, str]) -> bytes:
    mode, sha, name = row
    kind = "tree" if mode == "40000" else "blob"
    return f"{mode} {kind} {sha}\t{name}".encode() + b"\0"


def _other_hash(git: Plumbing, found: str) -> StoreError:
    return StoreError(
        f"git in {git.path} wrote {found or 'nothing'}, another hash than the content has.",
        mend="The repository must use SHA-1; make a new one with `slowwave init`.",
    )


def _blobs(git: Plumbing, hashes: list[str]) -> list[bytes]:
    if not hashes:
        return []
    out = git.run("cat-file", "--batch", data="".join(f"{h}\n" for h in hashes).encode())
    contents, at = [], 0
    for blob in hashes:
        end = out.index(b"\n", at)
        head = out[at:end].split()
        if len(head) != 3 or head[1] != b"blob":
            raise git.failure("cat-file", f"object {blob} is missing or damaged")
        size = int(head[2])
        contents.append(out[end + 1 : end + 1 + size])
        at = end + size + 2
    return contents
