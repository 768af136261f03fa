"""Looks for the host's variables and open files in its own process."""

import os

from lib import answer


def before_act(context, action):
    token = context.options["token"]
    with open("/proc/self/environ", "rb") as file:
        own = file.read().decode("utf-8", "replace")
    found = [token in str(dict(os.environ)) and "os.environ", token in own and "/proc/self/environ"]
    for number in range(64):
        try:
            target = os.readlink(f"/proc/self/fd/{number}")
        except OSError:
            continue
        if not target.startswith(("pipe:", "/dev/null")):
            found.append(f"descriptor {number} is {target}")
    return answer(found)
