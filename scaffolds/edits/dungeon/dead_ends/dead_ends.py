"""Collects what the notes call a dead end, and keeps those of this level in sight."""

import re

import where

_NOTE = re.compile(r"\bdead end at \((\d+), (\d+)\) on level ([^;|]+)")


def after_log(context):
    found = context.state.setdefault("dead ends", {})
    for file in context.memory.files():
        lines = context.memory.lines(file)
        for line in lines[-3:]:
            for x, y, level in _NOTE.findall(line):
                found.setdefault(level.strip(), {})[int(x), int(y)] = None
    for title in [title for title in context.notes if title.startswith("Dead ends on level ")]:
        del context.notes[title]
    here = where.place(context.observation)
    if here is not None and here[2] in found:
        context.notes[f"Dead ends on level {here[2]}"] = where.pairs(found[here[2]])
