"""How often the agent has searched at each place, by level."""

import where


def on_observation(context):
    here = where.place(context.observation)
    if here is None:
        return
    x, y, level = here
    counts = context.state.setdefault("searched", {}).setdefault(level, {})
    if context.previous_action == "search":
        counts[x, y] = counts.get((x, y), 0) + 1
    for title in [title for title in context.notes if title.startswith("Searched on level ")]:
        del context.notes[title]
    if counts:
        listed = " ".join(f"({x}, {y}) {times} times" for (x, y), times in counts.items())
        context.notes[f"Searched on level {level}"] = listed
