"""Answers one byte at a time, so that something always comes and nothing ever arrives."""

import time

from lib import say


def before_act(context, action):
    while True:
        say(b" ")
        time.sleep(0.01)
