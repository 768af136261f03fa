"""Sends JSON so deep that a parser's stack overflows."""

from lib import say


def before_act(context, action):
    say(b'{"type":"act","action":' + b"[" * 500_000 + b"\n")
