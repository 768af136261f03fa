"""The blocks of 9 by 7 cells in which the agent has been."""


def on_observation(context):
    x, y = context.state.get("position", (0, 0))
    visited = context.state.setdefault("visited", {})
    visited[(x + 4) // 9, (y + 3) // 7] = None
    context.notes["Explored sectors"] = " ".join(f"({column}, {row})" for column, row in visited)
