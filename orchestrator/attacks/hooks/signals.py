"""Signals its parent, a process of the host, and everyone."""

import os
import signal

from lib import answer, attempt


def before_act(context, action):
    options, parent = context.options, os.getppid()
    found = []
    if options["real"]:
        attempt("", os.kill, parent, signal.SIGKILL)
        attempt("", os.kill, 1, signal.SIGKILL)
        attempt("", os.kill, -1, signal.SIGKILL)
    elif parent == options["host"]:
        found.append(attempt("may signal the host's process", os.kill, parent, 0))
    attempt("", os.kill, options["victim"], signal.SIGKILL)  # the host looks whether it lives
    return answer(found)
