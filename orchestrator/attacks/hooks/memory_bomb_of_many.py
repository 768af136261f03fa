"""Takes memory in several processes, each below its own limit."""

import os
import time

from lib import answer

EACH = 160 << 20
MANY = 6


def before_act(context, action):
    children = []
    for _ in range(MANY):
        child = os.fork()
        if child == 0:
            kept = b"x" * EACH
            time.sleep(0.3)
            os._exit(0 if kept else 1)
        children.append(child)
    survived = [os.waitpid(child, 0)[1] == 0 for child in children]
    found = all(survived) and f"{MANY} processes held {MANY * EACH >> 20} MiB at once"
    return answer([found])
