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


def move_refs(git: Plumbing, intent: Intent) -> bool:
    """Move every ref of an intent in one transaction; those already moved stay.

    Returns:
        False, with nothing moved, if somebody else has moved one of them meanwhile.
    """
    commands = []
    for ref, (old, new) in intent.refs.items():
        now = _resolve(git, ref)
        if now == old:
            commands.append(f"update {ref} {new} {old or '0' * 40}\n")
        elif now is None or not _contains(git, now, new):
            return False
    if commands:
        data = "".join(commands).encode()
        git.run("update-ref", "--create-reflog", "-m", intent.message, "--stdin", data=data)
    return True


def withdraw_tags(git: Plumbing, intent: Intent) -> None:
    """Take back the tags of an intent that cannot be carried out any more."""
    for ref, (old, new) in intent.refs.items():
        if old is None and ref.startswith("refs/tags/") and _resolve(git, ref) == new:
            git.run("update-ref", "-d", ref, new)


def drop_stale_locks(git: Plumbing, intent: Intent) -> None:
    """Remove the ref locks that a killed git left; the caller holds the store's own lock."""
    for ref in (*intent.refs, "HEAD"):
        (git.git_dir / f"{ref}.lock").unlink(missing_ok=True)


def _resolve(git: Plumbing, ref: str) -> str | None:
    status, out, _ = git.call("rev-parse", "--verify", "--quiet", ref)
    return None if status else out.decode().strip()


def _contains(git: Plumbing, tip: str, commit: str) -> bool:
    return git.call("merge-base", "--is-ancestor", commit, tip)[0] == 0
