"""What the store was about to do, so that a killed process can be finished by the next one.

Git moves each ref safely, but not a branch, a tag, the index and the files as one. The intention
is written here first; whoever takes the lock next and finds it carries it out to the end.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from orchestrator.scaffolds.plumbing import Plumbing


@dataclass(frozen=True, slots=True)
class Intent:
    """A change of refs and, with it, of the working tree.

    Args:
        refs: For each ref, the commit it holds before (None if it is new) and after.
        lineage: The lineage whose head moves, if one does.
        old: Its head before; None if it is new.
        new: Its head after.
        message: For the reflog.
    """

    refs: Mapping[str, tuple[str | None, str]]
    message: str
    lineage: str | None = None
    old: str | None = None
    new: str | None = None
    version: int = field(default=1)


class Journal:
    """Holds at most one intent.

    Args:
        path: The file; it exists only while something is being done.
    """

    def __init__(self, path: Path) -> None:
        """Remember the place."""
        self._path = path

    def write(self, intent: Intent) -> None:
        """Put the intent on disk before anything is done."""
        part = self._path.with_suffix(".part")
        part.write_text(json.dumps(asdict(intent)), encoding="utf-8")
        part.replace(self._path)

    def read(self) -> Intent | None:
        """The intent of a process that did not finish, or None."""
        try:
            plain = json.loads(self._path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        plain["refs"] = {ref: (old, new) for ref, (old, new) in plain["refs"].items()}
        return Intent(**plain)

    def clear(self) -> None:
        """Everything was done."""
        self._path.unlink(missing_ok=True)


def move_refs(git: Plumbing, intent: Intent) -> None:
    """Move every ref of an intent in one transaction; those already moved stay.

    A ref that somebody else has moved meanwhile is left where it is, and the whole fails.
    """
    commands = []
    for ref, (old, new) in intent.refs.items():
        status, out, _ = git.call("rev-parse", "--verify", "--quiet", ref)
        if status or out.decode().strip() != new:
            commands.append(f"update {ref} {new} {old or '0' * 40}\n")
    if commands:
        git.run("update-ref", "-m", intent.message, "--stdin", data="".join(commands).encode())


def drop_stale_locks(git: Plumbing, intent: Intent) -> None:
    """Remove the ref locks that a killed git left; the caller holds the store's own lock."""
    for ref in (*intent.refs, "HEAD"):
        (git.git_dir / f"{ref}.lock").unlink(missing_ok=True)
