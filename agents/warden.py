"""The first process of a container: runs the runner, and ends the container with its host.

Usage: ``python -c "from agents.warden import main; main()" FOLDER LIMITS SECONDS``; the first two
are the runner's. The kernel ends all processes of a container when the first one ends, so this
one keeps watch where the code of a scaffold cannot reach: it ends when the host has gone (standard
input is hung up), when SECONDS are over, and when the runner ends.

Exit status: 0 or 1 like the runner's own, 2 if that was ended by a signal, 3 at the end of the
time. So a status of 137, killed, can only have come from outside the container.
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


def main() -> None:
    """Start the runner, then watch."""
    seconds = int(sys.argv.pop())
    # Not to be traced or read by the code inside, which is of the same user; before there is any.
    control = ctypes.CDLL(None).prctl
    control(PR_SET_DUMPABLE, 0, 0, 0, 0)
    child = os.fork()
    if child == 0:
        control(PR_SET_DUMPABLE, 1, 0, 0, 0)
        runner.main()
        return
    watch(child, seconds, sys.stdin.fileno(), os._exit)


def watch(child: int, seconds: int, channel: int, leave: Callable[[int], None]) -> None:
    """Leave when the child ends, when the time is over, or when the channel is hung up.

    Args:
        child: The runner's process.
        seconds: Wall time that is allowed.
        channel: The file that the host writes to.
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
    poll = select.poll()
    poll.register(channel, 0)  # only that it is hung up: what can be read is the child's
    poll.poll()
    leave(0)


def _status(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        return min(code, 1)
    os.write(2, f"ended by signal {-code}\n".encode())
    return BY_SIGNAL
