"""Where to go when nothing that is wanted is in view."""

from __future__ import annotations

from orchestrator.models.heuristic.crafter.beliefs import sector
from orchestrator.models.heuristic.crafter.navigate import MOVES
from orchestrator.models.heuristic.crafter.scene import Scene
from orchestrator.models.heuristic.crafter.view import NEXT

_AHEAD = ((-12, 0), (12, 0), (0, -12), (0, 12))
GROWS_WITHIN = 18
LEASH = 12
_MINERALS = frozenset(("stone", "coal", "iron", "diamond"))


def explore(scene: Scene, wants: tuple[str, ...]) -> str:
    """One step into the unknown."""
    if scene.beliefs.warning:
        return _break_out(scene)
    if scene.beliefs.position is not None:
        action = _by_sector(scene, wants)
        if action:
            return action
    return _ahead(scene)


def _by_sector(scene: Scene, wants: tuple[str, ...]) -> str | None:
    """Heads for the cheapest sector that has not been visited."""
    beliefs = scene.beliefs
    assert beliefs.position is not None
    px, py = beliefs.position
    here = sector(beliefs.position)
    explored = beliefs.explored
    rocky = bool(_MINERALS & set(wants))
    rocks = set()
    lakes = set()
    for kind, place in beliefs.places:
        if kind == "water":
            lakes.add(sector(place))
        elif rocky and kind in _MINERALS:
            rocks.add(sector(place))
    best = 10**6
    goal = None
    plant = scene.remembered("sapling") if "eat_plant" not in scene.known else None
    for radius in (2, 8):
        for sx in range(max(-3, here[0] - radius), min(3, here[0] + radius) + 1):
            for sy in range(max(-4, here[1] - radius), min(4, here[1] + radius) + 1):
                if (sx, sy) == here or (sx, sy) in explored:
                    continue
                dx, dy = 9 * sx - px, 7 * sy - py
                cost = abs(dx) + abs(dy)
                if (sx, sy) in lakes:
                    cost += 6
                if plant and abs(dx - plant[1]) + abs(dy - plant[2]) > GROWS_WITHIN:
                    cost += LEASH
                if rocky:
                    cost -= 6 * ((sx, sy) in rocks)
                    for n in ((sx - 1, sy), (sx + 1, sy), (sx, sy - 1), (sx, sy + 1)):
                        cost -= 3 * (n in rocks)
                if not explored:
                    cost -= 2 * (abs(sx) + abs(sy)) * 8
                along = (-dx, dx, -dy, dy)[scene.facing]
                if along > 0:
                    cost -= 3
                if cost < best:
                    best = cost
                    goal = (dx, dy)
        if goal:
            break
    if goal is None:
        return None
    action = scene.ways.towards(*goal)[1]
    return None if action == "noop" else action


def _ahead(scene: Scene) -> str:
    """Keeps going where the player looks; turns by what the scene looks like when blocked."""
    ways = scene.ways
    chance = scene.chance
    order = [scene.facing]
    turns = [2, 3] if scene.facing < 2 else [0, 1]
    if chance & 1:
        turns.reverse()
    order += turns
    order.append(scene.facing ^ 1)
    for heading in order:
        cost, action = ways.towards(*_AHEAD[heading])
        if cost < 20 and action != "noop":
            return action
    return _break_out(scene)


def _break_out(scene: Scene) -> str:
    free = [side for side in range(4) if scene.ways.distance[NEXT[side]] < 5]
    if not free:
        return "noop"
    return scene.ways.go(free[scene.chance % len(free)]) if free else MOVES[0]
