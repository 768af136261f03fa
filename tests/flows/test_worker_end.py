"""Processes that were orphaned before they could ask the kernel to end them with their parent."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# The parent's number changes while the kernel is asked, as it does when the parent has died.
ORPHAN = """
import os
numbers = iter([4711, 1])
os.getppid = lambda: next(numbers)
from agents.runner import die_with_host
die_with_host()
print("lives on")
"""
ORPHANED_WORKER = """
import multiprocessing, os

class Parent:
    pid = 4711

multiprocessing.parent_process = Parent
os.getppid = lambda: 1
from flows.episodes import _die_with_parent
_die_with_parent()
print("lives on")
"""
KEPT = "os.getppid = lambda: 4711"


def run(script: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel is asked on Linux alone")
@pytest.mark.parametrize("script", [ORPHAN, ORPHANED_WORKER], ids=["sandbox", "worker"])
def test_an_orphan_ends_at_once(script: str) -> None:
    assert run(script) == (1, "")
    kept = script.replace("os.getppid = lambda: next(numbers)", KEPT)
    assert run(kept.replace("os.getppid = lambda: 1", KEPT)) == (0, "lives on\n")
