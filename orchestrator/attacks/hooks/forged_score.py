"""Sends a score."""

from lib import tell


def before_act(context, action):
    tell(type="result", progression=1.0, outcome="won")
