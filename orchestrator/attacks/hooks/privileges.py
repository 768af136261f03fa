"""Asks what it may, and for more."""

import ctypes
import os

from lib import answer, attempt

SETTINGS = ("/proc/sys/kernel/core_pattern", "/proc/sys/net/ipv4/ip_forward", "/proc/sysrq-trigger")


def _capabilities():
    with open("/proc/self/status", encoding="ascii") as file:
        fields = dict(line.split(":", 1) for line in file)
    kinds = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")
    return [kind for kind in kinds if int(fields[kind], 16)] or None


def _open(path):
    os.close(os.open(path, os.O_WRONLY))  # nothing is written: to be able to is enough
    return path


def before_act(context, action):
    libc = ctypes.CDLL(None)
    held = attempt("capabilities", _capabilities)
    return answer(
        [
            held if held != "capabilities" else None,
            os.getuid() == 0 and "is root",
            os.getuid() != 0 and attempt("became root", os.setuid, 0),
            attempt("left the root folder", os.chroot, "/tmp"),
            *(attempt(path, _open, path) for path in SETTINGS),
            libc.mount(b"none", b"/tmp", b"tmpfs", 0, None) == 0 and "mounted",
        ],
    )
