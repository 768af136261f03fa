"""Where to go when nothing that is wanted is in view."""

from __future__ import annotations

from orchestrator.models.heuristic.crafter.beliefs import Place, sector
from orchestrator.models.heuristic.crafter.navigate import MOVES
from orchestrator.models.heuristic.crafter.scene import Scene
from orchestrator.models.heuristic.crafter.view import NEXT

_AHEAD = ((-12, 0), (12, 0), (0, -12), (0, 12))
_HARD = frozenset(("iron", "coal", "stone"))
_CONE = (
    (4.0, 1, 0),
    (3.0, 2, 0),
    (1.5, 1, 1),
    (1.5, 1, -1),
    (1.0, 3, 0),
    (1.0, 2, 1),
    (1.0, 2, -1),
)
"""Weight of an unvisited sector, by how many sectors it lies ahead and aside."""
GROWS_WITHIN = 18
LEASH = 5.0
BLOCKED = 20
PUSH = 0.7
KEEP = 4.0
BACK = 2.0
ROCK = 1.0
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
    """Goes on in the direction that leads to the most sectors not yet visited."""
    beliefs = scene.beliefs
    assert beliefs.position is not None
    px, py = beliefs.position
    explored = beliefs.explored
    rocks = frozenset[Place]()
    if _MINERALS & set(wants):
        rocks = frozenset(sector(place) for kind, place in beliefs.places if kind in _MINERALS)
    leash = None
    if "eat_plant" not in scene.known and not _HARD & set(wants):
        leash = scene.remembered("sapling")
    best, action = -float("inf"), ""
    for heading, (dx, dy) in enumerate(_AHEAD):
        cost, step = scene.ways.towards(dx, dy)
        if step == "noop":
            continue
        score = -min(cost - 12, BLOCKED) * PUSH
        score += KEEP if heading == scene.facing else 0
        score -= BACK if heading == scene.facing ^ 1 else 0
        for weight, ahead, aside in _CONE:
            x = px + (ahead * 9 * (dx // 12) if dx else aside * 9)
            y = py + (ahead * 7 * (dy // 12) if dy else aside * 7)
            place = sector((x, y))
            if abs(x) < 33 and abs(y) < 33:
                if place not in explored:
                    score += weight
                if place in rocks:
                    score += ROCK
        if leash and abs(3 * dx // 4 - leash[1]) + abs(3 * dy // 4 - leash[2]) > GROWS_WITHIN:
            score -= LEASH
        if score > best:
            best, action = score, step
    return action or None


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
