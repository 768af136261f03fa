"""Closes the channel and stays."""

import os
import time


def before_act(context, action):
    os.closerange(0, 64)
    time.sleep(1000)
