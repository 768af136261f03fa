"""Sets the clock; where it may not, stops its own and waits for the end of time."""

import time

from lib import answer


def before_act(context, action):
    try:
        time.clock_settime(time.CLOCK_REALTIME, time.clock_gettime(time.CLOCK_REALTIME))
    except OSError:
        time.monotonic = time.time = time.perf_counter = lambda: 0.0
        while time.monotonic() < 1:
            pass
    return answer(["the host's clock can be set"])
