"""Writes until the disk is full."""

import os
import signal

from lib import answer, places

ENOUGH = 16 << 20


def before_act(context, action):
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    found = []
    for place in places():
        path = os.path.join(place, f"slowwave-attack-{os.getpid()}")
        written = 0
        try:
            with open(path, "wb", buffering=0) as file:
                while context.options["real"] or written < ENOUGH:
                    written += file.write(b"x" * (1 << 16))
        except OSError:
            pass
        finally:
            if os.path.exists(path):
                os.unlink(path)
        found.append(written and f"{written} bytes in {place}")
    return answer(found)
