"""Wounds, hunger and creatures."""

from __future__ import annotations

from orchestrator.models.heuristic.game import Decision
from orchestrator.models.heuristic.nethack.belongings import FOOD, HEALING, carried
from orchestrator.models.heuristic.nethack.scene import DEADLY, SESSILE, Scene, is_one_of
from orchestrator.models.heuristic.nethack.terrain import STEPS, number

CROWD, CROWD_WITHIN = 2, 2
"""So many attackers, within so many moves, are better met in a narrow place."""
NARROW = 2
"""Ways on from a square of a corridor."""
RETREAT_WITHIN = 8
PRAYER_EVERY = 1_000
FIRST_PRAYER = 300
"""Turns: before, and sooner after another, a prayer is likely to anger the god."""
_NO_FOOD = "don't have anything to eat"


def recover(scene: Scene) -> Decision | None:
    """Pray, drink or eat if it is time to."""
    view, prayed = scene.view, scene.facts.prayed
    wounded = view.health < 6 or view.health * 7 < view.most_health
    starving = bool(view.state & {"weak", "fainting"})
    rested = view.turn - (FIRST_PRAYER - PRAYER_EVERY if prayed is None else prayed)
    if (wounded or starving) and scene.can("pray") and rested > PRAYER_EVERY:
        return Decision("pray", "pray")
    if wounded and scene.can("quaff") and carried(scene, HEALING):
        return Decision("quaff", "heal")
    hungry = bool(view.state & {"hungry", "weak", "fainting"})
    if hungry and scene.can("eat") and carried(scene, FOOD) and _NO_FOOD not in view.message:
        return Decision("eat", "eat")
    return None


def fight(scene: Scene) -> Decision | None:
    """Hit what stands next to the player, unless that is worse than leaving it alone."""
    x, y = scene.view.here
    beside = []
    for word, (dx, dy) in STEPS.items():
        place = x + dx, y + dy
        name = scene.level.hostile.get(place)
        if name and scene.can(word) and not is_one_of(name, DEADLY + SESSILE):
            beside.append(("remembered" in name, word, name))
    if not beside:
        return None
    unseen, word, name = min(beside)
    if unseen and scene.can("fight") is False:
        return None
    return Decision(word, f"fight {name}")


def retreat(scene: Scene) -> Decision | None:
    """Fall back to where attackers can only come one at a time."""
    x, y = scene.view.here
    near = [
        place
        for place in scene.level.hostile
        if max(abs(place[0] - x), abs(place[1] - y)) <= CROWD_WITHIN
    ]
    if len(near) < CROWD or scene.openings[scene.here] <= NARROW:
        return None
    taken = {number(place) for place in near}
    narrow = [
        (far, square)
        for square, far in scene.ways.distance.items()
        if 0 < far <= RETREAT_WITHIN and square not in taken and scene.openings[square] <= NARROW
    ]
    for _, square in sorted(narrow):
        path = scene.ways.path(square)
        dx, dy = STEPS[path[0]]
        if (x + dx, y + dy) not in scene.level.hostile:
            return Decision(path[0], "fall back")
    return None
