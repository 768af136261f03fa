"""The first process of a container: runs the runner, and ends the container with its host.

Usage: ``python -c "from agents.warden import main; main()" FOLDER LIMITS SECONDS``; the first two
are the runner's. The kernel ends all processes of a container when the first one ends, so this
one keeps watch where the code of a scaffold cannot reach: it ends when the host has gone (standard
input is at its end), when SECONDS are over, and when the runner ends. It hands standard input on
through a pipe of its own, because whoever has a pipe open can keep it from ever ending.

Exit status: 0 or 1 like the runner's own, 2 if that was ended by a signal, 3 at the end of the
time, 4 if the host has gone.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
from collections.abc import Callable
from types import FrameType

from agents import runner

PR_SET_DUMPABLE = 4
BY_SIGNAL = 2
OUT_OF_TIME = 3
HOST_GONE = 4
_CHUNK = 1 << 16


def main() -> None:
    """Start the runner, then watch."""
    seconds = int(sys.argv.pop())
    # Not to be traced or read by the code inside, which is of the same user; before there is any.
    control = ctypes.CDLL(None).prctl
    control(PR_SET_DUMPABLE, 0, 0, 0, 0)
    inner, outer = os.pipe()
    child = os.fork()
    if child == 0:
        control(PR_SET_DUMPABLE, 1, 0, 0, 0)
        os.dup2(inner, sys.stdin.fileno())
        os.closerange(inner, outer + 1)
        runner.main()
        return
    os.close(inner)
    watch(child, seconds, sys.stdin.fileno(), outer, os._exit)


def watch(child: int, seconds: int, channel: int, outer: int, leave: Callable[[int], None]) -> None:
    """Hand the channel on; leave when it or the child ends, or when the time is over.

    Args:
        child: The runner's process.
        seconds: Wall time that is allowed.
        channel: The file that the host writes to.
        outer: The pipe that the runner reads from.
        leave: Ends this process with a status.
    """

    def reap(signum: int = 0, frame: FrameType | None = None) -> None:
        while True:
            try:
                ended, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if ended == 0:
                return
            if ended == child:
                leave(_status(status))

    signal.signal(signal.SIGALRM, lambda *_: leave(OUT_OF_TIME))
    signal.alarm(seconds)
    signal.signal(signal.SIGCHLD, reap)
    reap()  # it may have ended before anybody listened
    _hand_on(channel, outer)
    leave(HOST_GONE)


def _hand_on(channel: int, outer: int) -> None:
    """Copy from one to the other until the first has ended, whether or not the second is read."""
    os.set_blocking(outer, False)
    source, sink = select.poll(), select.poll()
    source.register(channel, select.POLLIN)
    sink.register(channel, 0)  # only that it is hung up
    sink.register(outer, select.POLLOUT)
    while True:
        source.poll()
        data = os.read(channel, _CHUNK)
        if not data:
            return
        while data:
            for ready, _ in sink.poll():
                if ready == channel:
                    return
            try:
                data = data[os.write(outer, data) :]
            except BlockingIOError:
                continue
            except BrokenPipeError:  # the runner reads no more; that is its own matter
                break


def _status(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        return min(code, 1)
    os.write(2, f"ended by signal {-code}\n".encode())
    return BY_SIGNAL
