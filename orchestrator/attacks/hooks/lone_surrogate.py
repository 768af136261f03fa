"""Sends half a character, in an escape that JSON allows."""

from lib import say


def before_act(context, action):
    say(b'{"type":"act","action":"\\ud800"}\n')
