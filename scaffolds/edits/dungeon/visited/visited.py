"""The places in which the agent has been, by level."""

import where

_MOST = 400


def on_observation(context):
    here = where.place(context.observation)
    if here is None:
        return
    x, y, level = here
    visited = context.state.setdefault("visited", {}).setdefault(level, {})
    visited.pop((x, y), None)
    visited[x, y] = None
    while len(visited) > _MOST:
        del visited[next(iter(visited))]
    for title in [title for title in context.notes if title.startswith("Visited on level ")]:
        del context.notes[title]
    context.notes[f"Visited on level {level}"] = where.pairs(visited)
