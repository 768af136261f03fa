"""Sends half a message, and goes on as if nothing were."""

from lib import say


def before_act(context, action):
    say(b'{"type":"act","acti')
    return "wait"
