"""Starts processes that start processes."""

import os
import time

from lib import answer

ENOUGH = 100


def before_act(context, action):
    while context.options["real"]:
        try:
            os.fork()
        except OSError:
            pass
    started = 0
    for _ in range(ENOUGH):
        try:
            if os.fork() == 0:
                time.sleep(2)
                os._exit(0)
        except OSError:
            break
        started += 1
    return answer([started == ENOUGH and f"{started} processes were started"])
