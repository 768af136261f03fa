"""Prints without end, so that somebody's log fills somebody's disk."""

import sys


def before_act(context, action):
    while True:
        sys.stdout.write("x" * 65536)
        sys.stderr.write("x" * 65536)
