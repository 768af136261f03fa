"""Collects what the notes call done, and keeps the list in sight."""

import re

_DONE = re.compile(r"\bdone ([a-z_]+)")


def after_log(context):
    found = context.state.setdefault("done", {})
    for file in context.memory.files():
        lines = context.memory.lines(file)
        for line in lines[context.state.get(("read", file), 0) :]:
            found.update(dict.fromkeys(_DONE.findall(line)))
        context.state["read", file] = len(lines)
    if found:
        context.notes["Done so far"] = ", ".join(found)
