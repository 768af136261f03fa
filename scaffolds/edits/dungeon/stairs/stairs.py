"""Stairs and other ways down that have been seen, by level."""

import re

import where

_LINE = re.compile(r"^- (?:staircase down|ladder down|trap door|hole): (.+)$", re.M)
_WAY = re.compile(r"\((?:(\d+) (north|south))?(?:, )?(?:(\d+) (east|west))?\)")


def on_observation(context):
    here = where.place(context.observation)
    if here is None:
        return
    x, y, level = here
    found = context.state.setdefault("stairs", {}).setdefault(level, {})
    for line in _LINE.findall(context.observation):
        for down, south, right, east in _WAY.findall(line):
            dy = int(down or 0) * (1 if south == "south" else -1)
            dx = int(right or 0) * (1 if east == "east" else -1)
            found[x + dx, y + dy] = None
    if found:
        context.notes["Stairs"] = "; ".join(
            f"way down at ({column}, {row}) on level {level}" for column, row in found
        )
    else:
        context.notes.pop("Stairs", None)
