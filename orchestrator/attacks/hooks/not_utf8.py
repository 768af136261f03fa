"""Sends bytes that are no text."""

from lib import say


def before_act(context, action):
    say(b'{"type":"act","action":"\xff\xfe\xed\xa0\x80"}\n')
