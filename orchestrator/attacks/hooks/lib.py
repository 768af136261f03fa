"""What several attacks need; it lies beside each one's hooks.py."""

import gc
import json
import os

from agents import runner


def channel():
    """The runner's channel, out of its hiding place."""
    return next(thing for thing in gc.get_objects() if isinstance(thing, runner.Channel))


def say(data):
    """Write raw bytes where messages go."""
    writer = channel()._writer
    writer.write(data)
    writer.flush()


def tell(**message):
    """Write one message, whatever its type."""
    say(json.dumps(message).encode() + b"\n")


class Escaped(Exception):
    """Something worked; the host reads what."""


def answer(breaches):
    """Wait if nothing worked, else say what did."""
    breaches = [str(one) for one in breaches if one]
    if breaches:
        raise Escaped("; ".join(breaches))
    return "wait"


def attempt(what, function, *arguments):
    """What a function's success means; nothing if it is refused."""
    try:
        found = function(*arguments)
    except (OSError, ValueError, ImportError, AttributeError, EOFError):
        return None
    return f"{what}: {found!r}"[:200] if found is not None else what


def places():
    """Folders in which somebody might let us write."""
    here = os.path.dirname(os.path.abspath(__file__))
    return [
        "/tmp",
        "/dev/shm",
        "/var/tmp",
        "/run",
        "/dev",
        "/dev/mqueue",
        "/proc/self",
        "/",
        here,
        "/scaffold",
    ]
