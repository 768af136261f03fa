"""Writing files so that a crash or a full disk leaves the old one or the new one, never half."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from pathlib import Path

from orchestrator.errors import InfrastructureError

READABLE = 0o644


class DiskFull(InfrastructureError):
    """There is no room left to write."""


def write_atomically(path: Path, data: bytes | str) -> None:
    """Replace a file by `data`, durably.

    Raises:
        DiskFull: No room; what was there before is untouched.
    """
    content = data.encode("utf-8") if isinstance(data, str) else data
    temporary = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, READABLE)  # what mkstemp makes is for its owner alone
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise_if_full(error, path)
        raise


def raise_if_full(error: OSError, path: Path) -> None:
    """Turn a failed write into its sentence where a full disk is the reason.

    Raises:
        DiskFull: The disk is full, or this user's share of it.
    """
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        raise DiskFull(
            f"The disk is full: {path} could not be written, and what was there is unchanged.",
            mend="Free some space and run the same command again; it goes on where it stopped.",
        ) from error
