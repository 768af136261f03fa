"""Namespaces for a child process, through bubblewrap (https://github.com/containers/bubblewrap).

The child sees the system's programs, the interpreter, the agent code and the scaffold, all
read-only, and nothing else: no network device but a loopback of its own, no other process, no
privilege. Only what can be had without a daemon: memory and processes are not counted together.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from orchestrator.sandbox.base import Guarantee

CODE = Path("/code")
SCAFFOLD = Path("/scaffold")
"""Where the child finds the agent code and the scaffold."""

GUARANTEES = frozenset(
    {
        Guarantee.FILE_COUNT,
        Guarantee.NO_NETWORK,
        Guarantee.NO_HOST_FILES,
        Guarantee.NO_HOST_PROCESSES,
        Guarantee.NO_PRIVILEGES,
        Guarantee.ENDS_WHOLE,
    }
)

_NOBODY = "65534"
_PROBE_SECONDS = 10.0


@cache
def usable() -> Path | None:
    """The installed bubblewrap, if it can start this Python here; else ``None``.

    Some systems forbid namespaces to ordinary users, and most containers do.
    """
    found = shutil.which("bwrap")
    if sys.platform != "linux" or found is None:
        return None
    probe = [*_walls(Path(found)), _interpreter(), "-S", "-c", "import json, ctypes"]
    try:
        done = subprocess.run(
            probe,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=_PROBE_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return Path(found) if done.returncode == 0 else None


def command(wrapper: Path, code: Path, scaffold: Path) -> list[str]:
    """The command up to and with the interpreter, to which its arguments are added.

    Args:
        wrapper: Bubblewrap.
        code: Folder with the agent code; the child finds it at `CODE`.
        scaffold: The scaffold's folder; the child finds it at `SCAFFOLD`.
    """
    shown = ["--ro-bind", str(code.resolve()), str(CODE)]
    shown += ["--ro-bind", str(scaffold), str(SCAFFOLD)]
    return [*_walls(wrapper, shown), _interpreter()]


def _walls(wrapper: Path, shown: list[str] | None = None) -> list[str]:
    words = [str(wrapper), "--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net"]
    words += ["--unshare-uts", "--unshare-cgroup-try", "--hostname", "sandbox"]
    words += ["--uid", _NOBODY, "--gid", _NOBODY, "--cap-drop", "ALL", "--die-with-parent"]
    words += ["--ro-bind", "/usr", "/usr"]
    for name in ("bin", "lib", "lib32", "lib64", "libx32"):
        path = Path("/", name)
        if path.is_symlink():
            words += ["--symlink", os.readlink(path), str(path)]
        elif path.is_dir():
            words += ["--ro-bind", str(path), str(path)]
    words += ["--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"]
    if not Path(sys.base_prefix).is_relative_to("/usr"):
        words += ["--ro-bind", sys.base_prefix, sys.base_prefix]
    # Read-only as well: to the kernel, root's child is root, and its settings stand in /proc/sys.
    words += ["--proc", "/proc", "--remount-ro", "/proc"]
    words += ["--dev", "/dev", "--remount-ro", "/dev", *(shown or [])]
    # Last, because what is shown above needs places to be mounted on.
    return [*words, "--remount-ro", "/", "--chdir", "/"]


def _interpreter() -> str:
    """The interpreter that a virtual environment's one stands for."""
    return os.path.realpath(sys.executable)
