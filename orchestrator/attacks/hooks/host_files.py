"""Reads a file of the host, by its path and in ways around it."""

import os

from lib import answer, attempt


def _read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def before_act(context, action):
    path, token = context.options["bait"], context.options["token"]
    here = os.path.dirname(os.path.abspath(__file__))
    ways = [path, f"/proc/1/root{path}", f"/proc/self/root{path}", here + "/.." * 12 + path]
    ways += [f"/proc/self/cwd{path}", f"//{path}", f"/host{path}", f"/mnt{path}"]
    found = [attempt(way, _read, way) for way in ways]
    return answer([one for one in found if one and token in one])
