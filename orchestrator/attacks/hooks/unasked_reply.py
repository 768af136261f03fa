"""Answers what nobody has asked."""

from lib import tell


def before_act(context, action):
    tell(type="command", ok=True, text="saved")
    return "wait"
