"""A warning when the agent keeps to the same few places."""

import where

_WINDOW = 12
_FEW = 3


def on_observation(context):
    seen = context.state.setdefault("last places", [])
    seen.append(where.place(context.observation))
    del seen[:-_WINDOW]
    context.notes.pop("Warning", None)
    searching = context.previous_action in ("search", "wait")
    if len(seen) == _WINDOW and len(set(seen)) <= _FEW and not searching:
        context.notes["Warning"] = "you are going round in circles; try something else"
