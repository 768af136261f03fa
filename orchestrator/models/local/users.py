"""Which processes use a server: one empty file each, so that a killed one needs no goodbye."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import psutil

CLOCK_S = 2.0
"""Two processes may disagree so much on when a third one started: the clock is set meanwhile."""


class Users:
    """The users of one server.

    Args:
        folder: Holds a file for each, named by process id and start.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def add(self, pid: int | None = None) -> None:
        """Count a process among them; default: this one."""
        pid = os.getpid() if pid is None else pid
        self._folder.mkdir(parents=True, exist_ok=True)
        started = _started(pid)
        if started is not None:
            (self._folder / f"{pid}-{started:.2f}").touch()

    def alive(self) -> list[int]:
        """The ids of those that live; the others are forgotten."""
        found = []
        for one in self._folder.glob("*-*"):
            number, _, started = one.name.partition("-")
            now = _started(int(number))
            if now is not None and abs(now - float(started)) < CLOCK_S:
                found.append(int(number))
            else:
                with suppress(OSError):
                    one.unlink()
        return sorted(found)


def _started(pid: int) -> float | None:
    """When a process started, which tells it from a later one with its number."""
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        return float(process.create_time())
    except psutil.Error:
        return None
