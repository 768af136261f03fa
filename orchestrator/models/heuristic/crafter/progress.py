"""What two observations in a row prove.

The player acts before anything else moves, and everything it can touch is in view. So whether a
step was taken, and most of what was achieved, can be told exactly from the two texts.
"""

from __future__ import annotations

from orchestrator.models.heuristic.crafter.navigate import AROUND
from orchestrator.models.heuristic.crafter.view import DIRECTIONS, NEXT, WALKABLE, View

_MAX = 9


def awake(before: View) -> bool:
    """Whether an action is carried out: asleep it is only when energy is full."""
    return not before.asleep or before.energy >= _MAX


def moved(before: View, action: str, after: View) -> bool:
    """Whether the action changed the player's position.

    Args:
        before: What was seen before.
        action: What was done.
        after: What was seen then; not needed, as the first two decide it.
    """
    if not action.startswith("move_") or not awake(before):
        return False
    return before.grid[NEXT[DIRECTIONS.index(action[5:])]] in WALKABLE


def detect(before: View, action: str, after: View) -> frozenset[str]:
    """Achievements that the action visibly brought, whether for the first time or not."""
    found: set[str] = set()
    if before.asleep and not after.asleep and before.energy >= _MAX:
        found.add("wake_up")
    if not awake(before):
        return frozenset(found)
    front = before.grid[NEXT[before.facing]]
    then = after.grid[NEXT[before.facing]]
    near = {then, *(after.grid[cell] for cell in AROUND[NEXT[before.facing]])}
    gain = {
        item: after.inventory.get(item, 0) - before.inventory.get(item, 0)
        for item in {*before.inventory, *after.inventory}
    }
    if action == "do":
        found.update(f"collect_{item}" for item, more in gain.items() if more > 0)
        if front == "~":
            found.add("collect_drink")
        elif front == "C" and (after.food > before.food or "C" not in near):
            found.add("eat_cow")
        elif front == "P" and then == "p":
            found.add("eat_plant")
        elif front == "Z" and "Z" not in near:
            found.add("defeat_zombie")
        elif front == "K" and "K" not in near:
            found.add("defeat_skeleton")
    elif _made(action, gain):
        found.add(action)
    return frozenset(found)


def _made(action: str, gain: dict[str, int]) -> bool:
    """Whether a tool has come into the inventory, or something has left it to be set down."""
    if action.startswith("make_"):
        return gain.get(action[5:], 0) > 0
    return action.startswith("place_") and any(more < 0 for more in gain.values())
