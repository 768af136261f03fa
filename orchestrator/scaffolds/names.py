"""Which names, sizes and files the store takes; one place for the limits."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath

from orchestrator.scaffolds.errors import BadName, RefusedFile

MAX_FILES = 200
MAX_FILE_BYTES = 256 * 1024
MAX_TOTAL_BYTES = 2 * 1024 * 1024
MAX_DEPTH = 4

_LINEAGE = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_NIGHT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*")
_SEGMENT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_BANK_SLICE = re.compile(r"(?:propose|screen|confirm|report)(?:\[[0-9]{1,5}\])?")


def lineage_name(name: str) -> str:
    """Return `name` if it can be a lineage.

    Raises:
        BadName: It cannot.
    """
    if len(name) <= 40 and _LINEAGE.fullmatch(name):
        return name
    raise BadName(
        f"{name!r} cannot name a lineage.",
        mend="Use lower-case letters, digits and single hyphens, at most 40 characters, "
        "beginning with a letter: crafter-simplemem.",
    )


def night_id(night: str) -> str:
    """Return `night` if it can be part of a candidate's ref.

    Raises:
        BadName: It cannot.
    """
    if len(night) <= 64 and _NIGHT.fullmatch(night) and not night.endswith(".lock"):
        return night
    raise BadName(
        f"{night!r} cannot name a night.",
        mend="Use letters, digits, hyphens, underscores and single dots, at most 64 characters.",
    )


def bank_slice(name: str) -> str:
    """Return `name` if it names a slice of a bank, such as `confirm[3]`; a list of seeds does not.

    Raises:
        BadName: It does not.
    """
    if _BANK_SLICE.fullmatch(name):
        return name
    raise BadName(
        f"{name!r} is not a bank slice.",
        mend="Write a bank's name, or confirm[3] for one of its slices; "
        "seeds never go into a commit.",
    )


def file_path(path: str) -> str:
    """Return `path` if it is a plain relative path inside a scaffold.

    Raises:
        BadName: It is absolute, climbs, hides, or uses characters that some file system changes.
    """
    parts = path.split("/")
    plain = all(_SEGMENT.fullmatch(p) and not p.endswith(".") and len(p) <= 100 for p in parts)
    if plain and len(parts) <= MAX_DEPTH:
        return path
    raise BadName(
        f"{path!r} is not a file path that a scaffold can hold.",
        mend="Use relative paths of letters, digits, '_', '-' and '.', "
        f"not beginning with a dot, at most {MAX_DEPTH} levels deep.",
    )


def check_files(files: Mapping[str, bytes], where: str) -> None:
    """Refuse a set of files whose names or sizes the store does not take.

    Args:
        files: Content by path relative to the scaffold's folder.
        where: What the files are, for the message.

    Raises:
        BadName: A path is not plain, or two paths cannot live in one folder.
        RefusedFile: Too many files, or too large.
    """
    for path in files:
        file_path(path)
    _check_collisions(files, where)
    if len(files) > MAX_FILES:
        raise RefusedFile(
            f"{where} has {len(files)} files.", mend=f"A scaffold holds at most {MAX_FILES}."
        )
    for path, data in files.items():
        if len(data) > MAX_FILE_BYTES:
            raise RefusedFile(
                f"{path} of {where} is {len(data):,} bytes long.",
                mend=f"Keep each file under {MAX_FILE_BYTES:,} bytes.",
            )
    total = sum(map(len, files.values()))
    if total > MAX_TOTAL_BYTES:
        raise RefusedFile(
            f"{where} is {total:,} bytes in all.", mend=f"Keep it under {MAX_TOTAL_BYTES:,} bytes."
        )


def _check_collisions(files: Mapping[str, bytes], where: str) -> None:
    seen: dict[str, str] = {}
    for path in sorted(files):
        # On a file system that ignores case one of the two would overwrite the other.
        other = seen.setdefault(path.casefold(), path)
        if other != path:
            raise BadName(
                f"{where} has both {other} and {path}.",
                mend="Rename one: they differ only in letter case.",
            )
    for path in files:
        for parent in PurePosixPath(path).parents:
            if str(parent).casefold() in seen:
                raise BadName(
                    f"{where} has {parent} as a file and as a folder.", mend="Rename one of them."
                )
