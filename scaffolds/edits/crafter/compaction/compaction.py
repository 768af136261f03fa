"""Keeps the diary short: what is done in one line, then the latest lines."""

import re

_DONE = re.compile(r"\bdone ([a-z_]+)")
_KEEP = 2


def after_log(context):
    lines = context.memory.lines("actions_log")
    if len(lines) <= _KEEP + 1:
        return
    done = dict.fromkeys(_DONE.findall("\n".join(lines[:-_KEEP])))
    summary = "earlier: " + "; ".join(f"done {name}" for name in done)
    context.memory.write("actions_log", "\n".join([summary, *lines[-_KEEP:]]))
