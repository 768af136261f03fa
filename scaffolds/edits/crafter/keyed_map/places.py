"""The known places nearest to the agent, two of each kind."""

import re

_PLACE = re.compile(r"^([a-z_]+) at \((-?\d+), (-?\d+)\)")


def after_log(context):
    here = context.state.get("position", (0, 0))
    found = {}
    for line in context.memory.lines("map_notes"):
        place = _PLACE.match(line)
        if place:
            x, y = int(place[2]), int(place[3])
            distance = abs(x - here[0]) + abs(y - here[1])
            found.setdefault(place[1], []).append((distance, x, y))
    nearest = [
        f"{kind} at ({x}, {y})" for kind, all_ in found.items() for _, x, y in sorted(all_)[:2]
    ]
    if nearest:
        context.notes["Known places"] = "; ".join(nearest)
