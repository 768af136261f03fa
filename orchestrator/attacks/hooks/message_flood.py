"""Asks, and asks, and asks."""

from lib import tell


def before_act(context, action):
    while True:
        tell(type="memory", operation="FILES", arguments=[])
