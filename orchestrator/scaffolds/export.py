"""Read-only copies of scaffolds, named by what is in them.

A sandbox mounts or reads such a copy. Its folder's name is its tree hash, so a copy can be
shared by every episode of a revision and checked at any time: one extra or altered byte, or a
cache file that Python would prefer to the source, and it is written anew.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from filelock import FileLock, Timeout

from orchestrator.scaffolds.errors import BadName, RefusedFile, StoreBusy
from orchestrator.scaffolds.names import check_files
from orchestrator.scaffolds.trees import hash_tree, walk

_LOCK_TIMEOUT_S = 60.0


def export_files(files: Mapping[str, bytes], root: Path) -> Path:
    """Write a scaffold to `<root>/<tree>/`, or verify the copy that is there.

    Args:
        files: Content by relative path.
        root: Folder that holds the copies; made if it is missing.

    Returns:
        The copy's folder. Files and folders in it are read-only.

    Raises:
        BadName, RefusedFile: The files cannot be a scaffold.
        StoreBusy: Another process has been writing there for a minute.
    """
    check_files(files, "The scaffold")
    tree = hash_tree(files)
    target = root / tree
    if is_intact(target, tree):
        return target
    root.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(root / ".lock", timeout=_LOCK_TIMEOUT_S):
            if not is_intact(target, tree):
                _write(files, root, target)
    except Timeout:
        raise StoreBusy(
            f"Another process has been writing scaffold copies in {root} for a minute.",
            mend="Wait for it, or end it if it hangs, and run this again.",
        ) from None
    return target


def is_intact(folder: Path, tree: str) -> bool:
    """Whether a folder holds exactly the scaffold with this tree hash, and nothing else."""
    if folder.is_symlink() or not folder.is_dir():
        return False
    files = {}
    try:
        for path, entry in walk(folder):
            if not entry.is_file(follow_symlinks=False):
                return False
            files[path] = Path(entry.path).read_bytes()
        check_files(files, str(folder))
    except (OSError, BadName, RefusedFile):
        return False
    return hash_tree(files) == tree


def _write(files: Mapping[str, bytes], root: Path, target: Path) -> None:
    for stale in root.glob(".part-*"):  # under the lock nobody else is writing
        _remove(stale)
    part = Path(tempfile.mkdtemp(prefix=".part-", dir=root))
    for path, data in files.items():
        file = part / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        file.chmod(0o444)
    for folder, _, _ in os.walk(part, topdown=False):
        os.chmod(folder, 0o555)
    if target.is_symlink() or target.exists():
        # Moved aside rather than emptied, as an episode may be reading from it; within the same
        # folder, as a read-only folder cannot change parents.
        os.rename(target, root / f"{part.name}-old")
    os.rename(part, target)
    for stale in root.glob(".part-*"):
        _remove(stale)


def _remove(path: Path) -> None:
    if path.is_symlink() or not path.is_dir():
        path.unlink()
        return
    for folder, _, _ in os.walk(path):
        os.chmod(folder, 0o755)
    shutil.rmtree(path)
