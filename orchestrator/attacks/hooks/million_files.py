"""Makes a million files, empty so that no limit on their size counts."""

import os

from lib import answer, places

ENOUGH = 1_000


def before_act(context, action):
    most = 1_000_000 if context.options["real"] else ENOUGH
    return answer([_fill(place, most) for place in places()])


def _fill(place, most):
    stem = os.path.join(place, f"slowwave-attack-{os.getpid()}-")
    made = 0
    try:
        while made < most:
            os.close(os.open(f"{stem}{made}", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            made += 1
    except OSError:
        pass
    for number in range(made):
        os.unlink(f"{stem}{number}")
    return f"{made} files in {place}" if made >= ENOUGH else None
