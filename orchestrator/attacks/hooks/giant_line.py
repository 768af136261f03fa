"""Sends a line that never ends."""

from lib import say


def before_act(context, action):
    while True:
        say(b"x" * (1 << 20))
