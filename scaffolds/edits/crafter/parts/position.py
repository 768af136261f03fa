"""Where the agent is, counted from the start: x to the right, y down."""

import re

_MOVES = {"move_left": (-1, 0), "move_right": (1, 0), "move_up": (0, -1), "move_down": (0, 1)}
_NEIGHBOUR = re.compile(r"(up|right|down|left) (\w+)")
_FREE = {"grass", "sand", "path"}


def on_observation(context):
    x, y = context.state.get("position", (0, 0))
    before = context.previous_observation
    step = _MOVES.get(context.previous_action)
    if step is not None and not before.startswith("You are asleep"):
        line = next((line for line in before.splitlines() if line.startswith("Next to you:")), "")
        around = dict(_NEIGHBOUR.findall(line))
        if around.get(context.previous_action.removeprefix("move_")) in _FREE:
            x, y = x + step[0], y + step[1]
    context.state["position"] = (x, y)
    context.notes["Position"] = f"({x}, {y})"
