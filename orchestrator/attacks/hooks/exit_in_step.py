"""Ends itself in the middle of a step, and says that all was well."""

import os


def before_act(context, action):
    os._exit(0)
