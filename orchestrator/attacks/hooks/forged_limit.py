"""Has the kernel kill the container's first process, so that it looks as if somebody had."""

import os
import resource
import signal
import time


def before_act(context, action):
    if os.getppid() == 1:  # else it would be a process of the host
        resource.prlimit(1, resource.RLIMIT_CPU, (0, 0))
    end = time.monotonic() + 2
    while time.monotonic() < end:
        os.kill(os.getppid() if os.getppid() == 1 else os.getpid(), signal.SIGCHLD)
    os._exit(1)
