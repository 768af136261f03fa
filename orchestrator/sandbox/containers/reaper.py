"""Containers that killed hosts left behind, found by their labels and taken away.

Every container says in its labels which process of which machine started it and when it may be
taken for dead. `auto_remove` is not relied on: the daemon may be gone when a container ends.
"""

from __future__ import annotations

import hashlib
import logging
import os
import platform
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

import docker.errors
import psutil

from orchestrator.sandbox.base import SandboxFailure
from orchestrator.sandbox.containers.daemon import Daemon, translated

LABEL = "slowwave.sandbox.episode"
LABEL_PLACE = "slowwave.sandbox.place"
LABEL_OWNER = "slowwave.sandbox.owner"
LABEL_DEADLINE = "slowwave.sandbox.deadline"
GRACE_SECONDS = 60


def labels(lifetime_seconds: int) -> dict[str, str]:
    """What a container that is started now is labelled with."""
    return {
        LABEL: "1",
        LABEL_PLACE: _place(),
        LABEL_OWNER: _owner(),
        LABEL_DEADLINE: str(int(time.time()) + lifetime_seconds + GRACE_SECONDS),
    }


_seen: set[str] = set()
_owed: set[tuple[str, str]] = set()
_log = logging.getLogger(__name__)


def sweep(daemon: Daemon) -> None:
    """Before a container is started: reap once in this process, and remove what is still owed.

    A container that cannot be removed does not keep the next one from starting.

    Raises:
        SandboxAway: The daemon does not answer.
    """
    if daemon.address not in _seen:
        _seen.add(daemon.address)
        reap(daemon)
    for address, number in sorted(_owed):
        if address == daemon.address:
            _owed.discard((address, number))
            dispose(daemon, number)


def reap(daemon: Daemon) -> int:
    """Remove the containers whose host is gone or whose time is over; returns how many.

    Raises:
        SandboxAway: The daemon does not answer.
    """
    with translated("looking for containers left behind"):
        found = daemon.client.containers(all=True, filters={"label": LABEL})
    left = [one["Id"] for one in found if is_left_behind(one["Labels"])]
    for number in left:
        dispose(daemon, number)
    return len(left)


def remove(daemon: Daemon, number: str) -> None:
    """Kill and remove a container with its volumes.

    Raises:
        SandboxAway: The daemon does not answer.
    """
    with translated("removing a container"):
        try:
            daemon.client.remove_container(number, force=True, v=True)
        except docker.errors.APIError as error:
            # Somebody else has done it, or is about it.
            if error.status_code not in (404, 409):
                raise


def dispose(daemon: Daemon, number: str) -> None:
    """Remove a container; if that fails now, before the next one is started."""
    try:
        remove(daemon, number)
    except SandboxFailure as failure:
        _log.warning("The container %s is still there: %s", number[:12], failure)
        owe(daemon, number)


def owe(daemon: Daemon, number: str) -> None:
    """Have a container removed before the next one is started."""
    _owed.add((daemon.address, number))


def is_left_behind(found: Mapping[str, str]) -> bool:
    """Whether a container with these labels has no host any more."""
    with suppress(ValueError):
        if time.time() > int(found.get(LABEL_DEADLINE, "")):
            return True
    # Processes of another machine, or of another container, cannot be seen from here.
    if found.get(LABEL_PLACE) != _place():
        return False
    number, _, began = found.get(LABEL_OWNER, "").partition("@")
    try:
        return not began or int(number) < 1 or not _is_running(int(number), began)
    except ValueError:
        return True


@cache
def _place() -> str:
    """What tells this machine's processes from all others: the boot, and the process namespace."""
    parts: list[object] = []
    for path in (Path("/proc/sys/kernel/random/boot_id"), Path("/proc/self/ns/pid")):
        with suppress(OSError):
            parts.append(os.readlink(path) if path.is_symlink() else path.read_text())
    return hashlib.sha256(repr(parts or (platform.node(), uuid.getnode())).encode()).hexdigest()[
        :16
    ]


def _owner() -> str:
    """This process, told from a later one with the same number by when it started."""
    return f"{os.getpid()}@{_start(os.getpid())}"


def _is_running(number: int, began: str) -> bool:
    """Whether a process is the one that began then; in doubt it is."""
    try:
        os.kill(number, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # another user's
        pass
    found = _start(number)
    return found in ("", began)


def _start(number: int) -> str:
    """When a process began, in a form that no setting of the clock changes; empty if unknown."""
    with suppress(OSError, IndexError):
        # Fields after the name, which may hold anything: state is the third of all, the start, in
        # ticks since the boot, the 22nd (proc(5)).
        fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
        return "ended" if fields[0] in "ZX" else fields[19]
    if not Path("/proc/self/stat").exists():
        with suppress(psutil.Error):
            return f"{psutil.Process(number).create_time():.0f}"
    return ""
