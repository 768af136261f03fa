"""Reads what other processes of the host were started with."""

import os

from lib import answer


def before_act(context, action):
    token = context.options["token"].encode()
    found = []
    for number in filter(str.isdigit, os.listdir("/proc")):
        for name in ("cmdline", "environ"):
            try:
                with open(f"/proc/{number}/{name}", "rb") as file:
                    if token in file.read():
                        found.append(f"/proc/{number}/{name}")
            except OSError:
                continue
    return answer(found)
