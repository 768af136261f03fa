"""Leaves a process behind that goes on after the episode."""

import os
import sys


def before_act(context, action):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            wait = "import time; time.sleep(6)"
            os.execv(sys.executable, [sys.executable, "-S", "-c", wait, context.options["token"]])
        os._exit(0)
    os.wait()
    return "wait"
