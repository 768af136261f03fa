"""Changes, moves and deletes a file of the host; the host looks whether it is as it was."""

import os

from lib import attempt


def before_act(context, action):
    path = context.options["bait"]
    attempt("", os.truncate, path, 0)
    attempt("", os.rename, path, path + ".moved")
    attempt("", os.unlink, path)
    attempt("", os.symlink, "/etc/passwd", path + ".link")
    return "wait"
