"""The inverse of a change, applied to files that may have changed since."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from orchestrator.scaffolds.plumbing import Plumbing

Files = Mapping[str, bytes]


def inverse_change(
    git: Plumbing, *, head: Files, after: Files, before: Files
) -> tuple[dict[str, bytes | None], list[str]]:
    """Undo, in `head`, what led from `before` to `after`.

    Files that were not touched since go back as a whole; in the others, the lines are merged.

    Args:
        git: Runs `git merge-file`.
        head: The files now.
        after: The files with the change that is to be undone.
        before: The files without it.

    Returns:
        New content by path (None removes), and the paths in conflict.
    """
    changes: dict[str, bytes | None] = {}
    conflicts = []
    for path in sorted({*before, *after}):
        now, new, old = head.get(path), after.get(path), before.get(path)
        if new == old or now == old:
            continue
        if now == new:
            changes[path] = old
            continue
        merged = (
            None if None in (now, new, old) else _merge(git, now or b"", new or b"", old or b"")
        )
        if merged is None:
            conflicts.append(path)
        else:
            changes[path] = merged
    return changes, conflicts


def _merge(git: Plumbing, ours: bytes, base: bytes, theirs: bytes) -> bytes | None:
    with tempfile.TemporaryDirectory() as folder:
        names = []
        for name, data in (("ours", ours), ("base", base), ("theirs", theirs)):
            file = Path(folder, name)
            file.write_bytes(data)
            names.append(str(file))
        status, out, _ = git.call("merge-file", "-p", *names)
    return None if status else out
