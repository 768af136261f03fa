"""Takes memory until there is none."""

from lib import answer

ENOUGH = 320
"""MiB that are more than an attack may take."""


def before_act(context, action):
    kept = []
    while context.options["real"] or len(kept) < ENOUGH:
        kept.append(b"x" * (1 << 20))
    return answer([f"took {ENOUGH} MiB"])
