"""What is known of the places of this level."""

import where

_MOST = 80


def after_log(context):
    here = where.place(context.observation)
    level = here[2] if here is not None else ""
    keys = [line.partition(" | ")[0] for line in context.memory.lines("map_notes")]
    known = [key for key in keys if key.endswith(f" on level {level}")]
    if known:
        context.notes["Known places"] = "; ".join(known[-_MOST:])
    else:
        context.notes.pop("Known places", None)
