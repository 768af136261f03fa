"""Writing files so that a crash or a full disk leaves the old one or the new one, never half."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from pathlib import Path

from orchestrator.errors import InfrastructureError


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
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise disk_error(error, path) from error


def disk_error(error: OSError, path: Path) -> OSError | DiskFull:
    """The error to raise for a failed write: `DiskFull` where that is the reason."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(
            f"The disk is full: {path} could not be written, and what was there is unchanged.",
            mend="Free some space and run the same command again; it goes on where it stopped.",
        )
    return error
