"""The warden of a container, as an ordinary process: when it leaves, and with which status."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# What the child does is the test's; when the warden hangs up, a child that waits ends too.
WATCH = """
import os, select, signal, sys
from agents.warden import watch

inner, outer = os.pipe()
{before}
child = os.fork()
if child == 0:
    os.dup2(inner, 0)
    os.closerange(inner, outer + 1)
    {child}
    os._exit(0)
os.close(inner)
{meanwhile}
os.write(1, b"up\\n")
watch(child, {seconds}, 0, outer, os._exit)
"""
WAIT = "poll = select.poll(); poll.register(0, 0); poll.poll()"
ENDED = "os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)"


@contextmanager
def warden(
    child: str, *, seconds: int = 600, before: str = "", meanwhile: str = ""
) -> Iterator[subprocess.Popen[bytes]]:
    """A warden in a process of its own, which is up."""
    script = WATCH.format(child=child, seconds=seconds, before=before, meanwhile=meanwhile)
    with subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        try:
            yield process
        finally:
            process.kill()


def left(process: subprocess.Popen[bytes]) -> tuple[int, bytes]:
    """The exit status and what was written to standard error, without hanging up."""
    assert process.stderr is not None
    said = process.stderr.read()
    return process.wait(), said


@pytest.mark.parametrize("unread", [b"", b"a message that nobody reads\n" * 1000])
def test_it_leaves_when_the_host_has_gone(unread: bytes) -> None:
    with warden(WAIT) as process:
        assert process.stdin is not None
        process.stdin.write(unread)
        process.stdin.flush()
        assert process.poll() is None
        process.stdin.close()
        assert left(process) == (4, b"")


def test_what_the_host_writes_is_handed_on() -> None:
    read = "data = sys.stdin.buffer.read(9); os._exit(7 if data == b'for child' else 0)"
    with warden(read) as process:
        assert process.stdin is not None
        process.stdin.write(b"for child")
        process.stdin.flush()
        assert left(process) == (1, b"")


def test_much_is_handed_on_whole_to_a_child_that_reads_late() -> None:
    read = "data = sys.stdin.buffer.read(3_000_000); os._exit(7 if len(set(data)) == 256 else 0)"
    with warden(read) as process:
        assert process.stdin is not None
        process.stdin.write((bytes(range(256)) * 12_000)[:3_000_000])
        process.stdin.flush()
        assert left(process) == (1, b"")


KEEP_OPEN = "kept = os.open('/proc/self/fd/0', os.O_WRONLY); " + WAIT


def test_code_that_keeps_the_pipe_open_does_not_keep_it() -> None:
    with warden(KEEP_OPEN) as process:
        assert process.stdin is not None
        process.stdin.write(b"x" * 150_000)  # more than the child's pipe holds, and never read
        process.stdin.close()
        assert process.wait() == 4


@pytest.mark.parametrize("meanwhile", ["", ENDED], ids=["later", "before"])
@pytest.mark.parametrize(
    ("child", "status", "said"),
    [
        ("os._exit(0)", 0, b""),
        ("os._exit(1)", 1, b""),
        ("os._exit(7)", 1, b""),
        ("os._exit(137)", 1, b""),
        ("os.kill(os.getpid(), signal.SIGKILL)", 2, b"ended by signal 9\n"),
        ("os.kill(os.getpid(), signal.SIGXCPU)", 2, b"ended by signal 24\n"),
    ],
)
def test_it_leaves_with_its_child(child: str, status: int, said: bytes, meanwhile: str) -> None:
    with warden(child, meanwhile=meanwhile) as process:
        assert left(process) == (status, said)


def test_it_leaves_when_the_time_is_over() -> None:
    with warden(WAIT, seconds=1) as process:
        # Its child still has standard error: only the warden is waited for.
        assert process.wait() == 3


# The child leaves an orphan that ends; a container's first process gets it, as this one does.
ORPHAN = """
    middle = os.fork()
    if middle == 0:
        orphan = os.fork()
        if orphan == 0:
            os.read(gate, 1)
            os._exit(9)
        os.write(tell, b"%d" % orphan)
        os._exit(0)
    os.waitpid(middle, 0)
    orphan = int(os.read(told, 20))
    os.write(door, b"x")
    deadline = time.monotonic() + 20
    while os.path.exists(f"/proc/{orphan}") and time.monotonic() < deadline:
        os.sched_yield()
    os._exit(5 if os.path.exists(f"/proc/{orphan}") else 0)
"""
ADOPT = """
import ctypes, time
PR_SET_CHILD_SUBREAPER = 36
ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
gate, door = os.pipe()
told, tell = os.pipe()
"""


def test_it_buries_orphans_and_stays_for_its_own_child() -> None:
    with warden(ORPHAN.strip(), before=ADOPT) as process:
        assert left(process) == (0, b"")


def test_the_command_starts_the_runner(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "from agents.warden import main; main()"]
    with subprocess.Popen(
        [*command, str(tmp_path), '{"NOFILE": 64}', "600"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == b'{"type":"up"}\n'
        process.stdin.close()
        assert process.wait() == 4
