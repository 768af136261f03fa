"""A warning when the agent sees the same few things again and again."""

_WINDOW = 12
_FEW = 3


def on_observation(context):
    seen = context.state.setdefault("seen", [])
    seen.append(context.observation)
    del seen[:-_WINDOW]
    context.notes.pop("Warning", None)
    if len(seen) == _WINDOW and len(set(seen)) <= _FEW:
        context.notes["Warning"] = "you are going round in circles; try something else"
