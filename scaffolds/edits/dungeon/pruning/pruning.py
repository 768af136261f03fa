"""Keeps the diary short: its last lines only."""

_KEEP = 40
_AT = 60


def after_log(context):
    lines = context.memory.lines("actions_log")
    if len(lines) > _AT:
        context.memory.write("actions_log", "\n".join(lines[-_KEEP:]))
