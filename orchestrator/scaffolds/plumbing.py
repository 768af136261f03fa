"""Git with nothing of the user's in it.

Every call goes through GitPython with an environment that shuts out the user's configuration,
hooks, signing, line-ending conversion, attributes and templates, so that the same content gives
the same hash and a commit never waits for a pass phrase. The repository is named outright, so
that a `GIT_DIR` left over from a hook, or a repository around the workspace, cannot redirect it.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.scaffolds.errors import GitMissing, StoreError

if TYPE_CHECKING:
    import git

NAME = "Slowwave"
EMAIL = "slowwave@localhost"

_CONFIG = {
    "user.useConfigOnly": "false",
    "commit.gpgSign": "false",
    "tag.gpgSign": "false",
    "core.hooksPath": os.devnull,
    "core.excludesFile": os.devnull,
    "core.attributesFile": os.devnull,
    "core.autocrlf": "false",
    "core.eol": "lf",
    "core.safecrlf": "false",
    "core.fsmonitor": "false",
    "core.untrackedCache": "false",
    "core.quotePath": "false",
    "core.commentChar": "#",
    "core.fsync": "committed,loose-object,reference",
    "core.filesRefLockTimeout": "5000",
    "core.logAllRefUpdates": "true",
    "core.sharedRepository": "umask",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "i18n.commitEncoding": "UTF-8",
    "i18n.logOutputEncoding": "UTF-8",
    "log.showSignature": "false",
    "color.ui": "false",
    "trailer.separators": ":",
}


_DISK_FULL = ("No space left", "write error", "couldn't write", "unable to write")


class Plumbing:
    """Runs git commands on one repository.

    Args:
        path: The working tree; the repository is its `.git`.
    """

    def __init__(self, path: Path) -> None:
        """Remember the place; nothing is run yet."""
        self.path = path
        self.git_dir = path / ".git"
        self._git = _wrapper(path)

    def run(
        self,
        *args: str,
        data: bytes | None = None,
        env: Mapping[str, str] | None = None,
        ok: Sequence[int] = (0,),
    ) -> bytes:
        """Run `git args` and return what it printed.

        Args:
            *args: Subcommand and arguments.
            data: Standard input.
            env: Variables on top of the clean environment.
            ok: Exit statuses that are not failures.

        Raises:
            StoreError: git failed; its own words are in the message.
        """
        status, out, err = self.call(*args, data=data, env=env)
        if status not in ok:
            raise self.failure(args[0], err)
        return out

    def call(
        self, *args: str, data: bytes | None = None, env: Mapping[str, str] | None = None
    ) -> tuple[int, bytes, str]:
        """Run `git args` and return exit status, output and error text."""
        with tempfile.TemporaryFile() as stdin:
            stdin.write(data or b"")
            stdin.seek(0)
            status, out, err = self._git.execute(
                ["git", *args],
                istream=stdin,
                with_extended_output=True,
                with_exceptions=False,
                stdout_as_string=False,
                strip_newline_in_stdout=False,
                env={**_environment(self.path, self.git_dir), **(env or {})},
            )
        return status, out, err

    def line(
        self, *args: str, data: bytes | None = None, env: Mapping[str, str] | None = None
    ) -> str:
        """Run `git args` and return its one line of output."""
        return self.run(*args, data=data, env=env).decode().strip()

    def commit(
        self,
        tree: str,
        parents: Iterable[str],
        message: str,
        *,
        written: datetime,
        committed: datetime,
    ) -> str:
        """Write a commit object with the store's own identity; no branch moves.

        Args:
            tree: Hash of the tree.
            parents: Hashes of the parent commits.
            message: The whole message.
            written: Author date.
            committed: Committer date.

        Returns:
            Hash of the commit.
        """
        flags = [flag for parent in parents for flag in ("-p", parent)]
        dates = {"GIT_AUTHOR_DATE": _git_date(written), "GIT_COMMITTER_DATE": _git_date(committed)}
        return self.line("commit-tree", tree, *flags, data=message.encode(), env=dates)

    def failure(self, command: str, err: str) -> StoreError:
        """Turn git's complaint into ours."""
        words = " ".join(err.split()) or "it said nothing"
        mend = "Run `git fsck` there; restore the folder from a copy if it finds damage."
        if "Permission denied" in words or "insufficient permission" in words:
            mend = "Give your user write permission there."
        elif any(sign in words for sign in _DISK_FULL):
            mend = "Free space on that disk and run the command again; what was begun is finished."
        elif "File exists" in words and ".lock" in words:
            mend = "If no git command is running there, remove the .lock file it names."
        return StoreError(f"git {command} failed in {self.path}: {words.rstrip('.')}.", mend=mend)


def _wrapper(path: Path) -> git.Git:
    try:
        import git as gitpython
    except ImportError as error:
        # GitPython looks for the executable when it is imported.
        raise GitMissing(
            "git cannot be run on this machine.",
            mend="Install git (2.36 or later) and see that it is on the PATH.",
        ) from error
    return gitpython.Git(path)


def _environment(path: Path, git_dir: Path) -> dict[str, str]:
    env = {
        "GIT_DIR": str(git_dir),
        "GIT_COMMON_DIR": str(git_dir),
        "GIT_WORK_TREE": str(path),
        "GIT_INDEX_FILE": str(git_dir / "index"),
        "GIT_OBJECT_DIRECTORY": str(git_dir / "objects"),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": "",
        "GIT_NAMESPACE": "",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_GRAFT_FILE": str(git_dir / "slowwave" / "no-grafts"),
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_PARAMETERS": "",
        "GIT_CONFIG_COUNT": str(len(_CONFIG)),
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_DIFF_OPTS": "",
        "GIT_EXTERNAL_DIFF": "",
        "GIT_AUTHOR_NAME": NAME,
        "GIT_AUTHOR_EMAIL": EMAIL,
        "GIT_COMMITTER_NAME": NAME,
        "GIT_COMMITTER_EMAIL": EMAIL,
    }
    for number, (key, value) in enumerate(_CONFIG.items()):
        env[f"GIT_CONFIG_KEY_{number}"] = key
        env[f"GIT_CONFIG_VALUE_{number}"] = value
    return env


def _git_date(when: datetime) -> str:
    return f"{int(when.timestamp())} +0000"
