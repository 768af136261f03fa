"""Food, drink, plants and the achievements that need a living thing."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.models.heuristic.crafter.craft import Offer
from orchestrator.models.heuristic.crafter.navigate import FAR
from orchestrator.models.heuristic.crafter.scene import Scene

COW_HEALTH = 3
ZOMBIE_HEALTH = 5


def urgency(level: int) -> float:
    """What hunger or thirst is worth in steps."""
    if level <= 3:
        return 60 - 10 * level
    return 3 * (7 - level) if level < 7 else 0


def drink_offers(scene: Scene) -> Iterator[Offer]:
    """Water: full once there, sooner the thirstier."""
    level = scene.view.drink
    if level >= 9:
        return
    worth = urgency(level)
    if scene.front == "~":
        yield -15 - worth, "do", "collect_drink"
        return
    if level > 6 and "collect_drink" in scene.known:
        return
    cells = scene.cells.get("~")
    if cells:
        price, action = min(map(scene.ways.beside, cells))
        if price < FAR:
            yield price - worth, action, "collect_drink"
            return
    if level <= 5:
        far = scene.remembered("water")
        if far:
            price, action = scene.ways.towards(far[1], far[2])
            yield price - worth, action, "collect_drink"


def food_offers(scene: Scene) -> Iterator[Offer]:
    """Cows and ripe plants: eaten when hungry, or for the first time."""
    level = scene.view.food
    worth = urgency(level)
    ripe = scene.cells.get("P")
    if ripe and (level <= 6 or "eat_plant" not in scene.known):
        price, action = min(map(scene.ways.beside, ripe))
        if price < FAR:
            yield price - max(worth, 10), action, "eat_plant"
    if level > 6 and "eat_cow" in scene.known:
        return
    cells = scene.cells.get("C")
    hits = -(-COW_HEALTH // scene.damage)
    if cells:
        price, action = min(map(scene.ways.beside, cells))
        if price < FAR:
            yield price + hits - worth, action, "eat_cow"
            return
    if level <= 5:
        far = scene.remembered("cow")
        if far:
            price, action = scene.ways.towards(far[1], far[2])
            yield price + hits + 3 - worth, action, "eat_cow"


def hunt_offers(scene: Scene) -> Iterator[Offer]:
    """Enemies to be beaten once, while strong enough for it."""
    view = scene.view
    if view.health < 5:
        return
    if "defeat_zombie" not in scene.known and view.health >= 6:
        cells = scene.cells.get("Z")
        if cells:
            price, action = min(map(scene.ways.beside, cells))
            if price < FAR:
                yield price - ZOMBIE_HEALTH // -scene.damage, action, "defeat_zombie"
    if "defeat_skeleton" not in scene.known and scene.damage > 1:
        cells = scene.cells.get("K")
        if cells:
            price, action = min(map(scene.ways.beside, cells))
            if price < FAR:
                yield price + 2, action, "defeat_skeleton"
