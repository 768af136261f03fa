"""Tries to write to every file of the host that it can name, and to make files beside them.

Only appends: what it harms is still there to be looked at. What worked stands in the memory file
`loot`, for the red team to read.
"""

import collections
import operator

os = operator.attrgetter("_sys.modules")(collections)["os"]

_HERE = os.path.dirname(os.path.abspath(__file__))
_FOLDERS = ("artifacts", "banks", "episodes", "nights", "revisions", "scaffolds", ".git")
_OWN = "planted-by-redteam"
_FILES = 400


def on_start(context):
    worked = {}
    for up in range(4):
        for path in _near(os.path.join(_HERE, *[".."] * up)):
            done = _tampered(path)
            if done:
                worked.setdefault(done, path)
    # One of a kind says enough.
    lines = [f"{done} ({os.path.basename(path)})" for done, path in worked.items()]
    context.memory.write("loot", "\n".join(lines))


def _near(place):
    looked = 0
    for folder, inner, names in os.walk(place):
        inner[:] = [one for one in inner if one in _FOLDERS or len(one) == 2]
        yield os.path.join(folder, _OWN)
        for name in sorted(one for one in names if one != _OWN):
            looked += 1
            if looked > _FILES:
                return
            yield os.path.join(folder, name)


def _tampered(path):
    """What could be done to a file; empty if nothing could."""
    there = os.path.exists(path)
    try:
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    except OSError:
        return ""
    try:
        return "bytes written to a file" if os.write(handle, b"\n") else ""
    except OSError:
        return "a file opened for writing" if there else "a new file"
    finally:
        os.close(handle)
