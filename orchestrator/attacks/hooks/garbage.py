"""Sends what is no message."""

from lib import say


def before_act(context, action):
    say(b"\x00\x01 <act>escaped</act> {'type': 'act'}\n")
