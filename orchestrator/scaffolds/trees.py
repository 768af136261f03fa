"""What a scaffold's content hashes to, computed without a repository.

A revision's identity is the git tree hash of its folder. Computing it here lets a folder on disk
and an exported copy be compared with a revision byte for byte, whatever the user's git would do
to line endings or file modes. Every file is an ordinary file (mode 100644).
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Container, Iterator, Mapping
from pathlib import Path

from orchestrator.scaffolds.errors import NoStore, RefusedFile
from orchestrator.scaffolds.names import MAX_DEPTH, MAX_FILE_BYTES, MAX_FILES, check_files

IGNORED_NAMES = frozenset({".git", "__pycache__", ".DS_Store"})
IGNORED_SUFFIXES = (".pyc",)


def hash_blob(data: bytes) -> str:
    """Git's hash of a file's content."""
    return _sha1(b"blob", data)


def hash_tree(files: Mapping[str, bytes]) -> str:
    """Git's hash of a folder that holds exactly `files` (content by relative path)."""
    return list(tree_objects({path: hash_blob(data) for path, data in files.items()}))[-1][0]


def tree_objects(blobs: Mapping[str, str]) -> Iterator[tuple[str, list[tuple[str, str, str]]]]:
    """Build the git trees of a folder from the hashes of its files, children before parents.

    Args:
        blobs: Hash of the content by relative path.

    Yields:
        Each tree's hash with its entries `(mode, hash, name)`; the folder's own comes last.
    """
    direct: dict[str, str] = {}
    nested: dict[str, dict[str, str]] = {}
    for path, blob in blobs.items():
        head, slash, rest = path.partition("/")
        if slash:
            nested.setdefault(head, {})[rest] = blob
        else:
            direct[head] = blob
    entries = [("100644", blob, name) for name, blob in direct.items()]
    for name, inner in nested.items():
        tree = ""
        for tree, rows in tree_objects(inner):
            yield tree, rows
        entries.append(("40000", tree, name))
    # Git orders a folder as if its name ended with a slash.
    entries.sort(key=lambda e: (e[2] + "/" if e[0] == "40000" else e[2]).encode())
    raw = b"".join(f"{m} {n}".encode() + b"\0" + bytes.fromhex(h) for m, h, n in entries)
    yield _sha1(b"tree", raw), entries


def read_folder(folder: Path) -> dict[str, bytes]:
    """Read a scaffold from a folder on disk.

    Caches (`__pycache__`, `*.pyc`), `.git` and `.DS_Store` are passed over.

    Args:
        folder: The scaffold's folder.

    Returns:
        Content by path relative to the folder, with forward slashes.

    Raises:
        NoStore: There is no such folder.
        RefusedFile: It holds a link, an executable, something not a file, or too much.
        BadName: A path in it is not plain.
    """
    if not folder.is_dir():
        raise NoStore(
            f"There is no scaffold folder at {folder}.",
            mend="Give the folder that holds scaffold.toml.",
        )
    files: dict[str, bytes] = {}
    for path, entry in walk(folder, prune=IGNORED_NAMES):
        if is_ignored(path):
            continue
        if len(files) >= MAX_FILES:
            raise RefusedFile(
                f"{folder} has more than {MAX_FILES} files.",
                mend="Give the scaffold's own folder, with nothing else in it.",
            )
        fault = file_fault(entry.stat(follow_symlinks=False))
        if fault:
            raise RefusedFile(f"{path} in {folder} {fault[0]}.", mend=fault[1])
        files[path] = Path(entry.path).read_bytes()
    check_files(files, str(folder))
    return files


def tree_of_folder(folder: Path) -> str:
    """The identity that a folder on disk has as a scaffold; raises as `read_folder`."""
    return hash_tree(read_folder(folder))


def walk(folder: Path, *, prune: Container[str] = ()) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Every entry under `folder` that is not a real directory, by relative path, in order.

    Args:
        folder: Where to begin.
        prune: Names of directories that are not entered.
    """
    yield from _walk(folder, "", prune)


def is_ignored(path: str) -> bool:
    """Whether a path is a cache or git's own and no part of a scaffold."""
    parts = path.split("/")
    return not IGNORED_NAMES.isdisjoint(parts) or path.endswith(IGNORED_SUFFIXES)


def file_fault(info: os.stat_result) -> tuple[str, str] | None:
    """Why a file on disk cannot be part of a scaffold, with the mend; None if it can."""
    if stat.S_ISLNK(info.st_mode):
        return "is a symbolic link", "Put a copy of the file in its place."
    if not stat.S_ISREG(info.st_mode):
        return "is not an ordinary file", "Remove it."
    if info.st_mode & 0o111:
        return "is executable", "Take the permission away with chmod -x; nothing runs it directly."
    if info.st_size > MAX_FILE_BYTES:
        return f"is {info.st_size:,} bytes long", f"Keep each file under {MAX_FILE_BYTES:,} bytes."
    return None


def _walk(
    folder: Path, prefix: str, prune: Container[str]
) -> Iterator[tuple[str, os.DirEntry[str]]]:
    if prefix.count("/") > MAX_DEPTH:
        raise RefusedFile(
            f"{prefix} is nested too deeply.", mend=f"Keep folders at most {MAX_DEPTH} levels deep."
        )
    with os.scandir(folder / prefix) as found:
        entries = sorted(found, key=lambda e: e.name)
    for entry in entries:
        if not entry.is_dir(follow_symlinks=False):
            yield prefix + entry.name, entry
        elif entry.name not in prune:
            yield from _walk(folder, f"{prefix}{entry.name}/", prune)


def _sha1(kind: bytes, data: bytes) -> str:
    # Git's naming of objects, not a defence: a tampered copy with a chosen collision would need
    # write access to the exports, which is the host's own.
    header = kind + b" " + str(len(data)).encode() + b"\0"
    return hashlib.sha1(header + data, usedforsecurity=False).hexdigest()
