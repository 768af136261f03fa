"""Food, drink, plants and the achievements that need a living thing."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.models.heuristic.crafter.craft import OPEN, Offer
from orchestrator.models.heuristic.crafter.navigate import FAR
from orchestrator.models.heuristic.crafter.scene import Scene

COW_HEALTH = 3
ZOMBIE_HEALTH = 5
FAR_BY_DAY = 5
FAR_AT_NIGHT = 2


BY_DAY = (60.0, 50.0, 40.0, 30.0, 16.0, 11.0, 5.0)
BY_NIGHT = (50.0, 30.0, 12.0, 7.0, 4.0, 2.0, 0.0)
"""What hunger or thirst is worth in steps, by level. The way there is dangerous at night."""


def urgency(scene: Scene, level: int) -> float:
    """What is given for food or drink at a level."""
    worth = BY_NIGHT if scene.view.night else BY_DAY
    return worth[level] if level < len(worth) else 0


def drink_offers(scene: Scene) -> Iterator[Offer]:
    """Water: full once there, sooner the thirstier."""
    level = scene.view.drink
    if level >= 9:
        return
    worth = urgency(scene, level)
    if scene.front == "~":
        yield -15 - worth, "do", "collect_drink"
        return
    if level > 6 and "collect_drink" in scene.known:
        return
    cells = scene.cells.get("~")
    if cells:
        price, action = min(map(scene.ways.beside, cells))
        if price < FAR:
            first = 0 if "collect_drink" in scene.known else OPEN
            yield price - worth - first, action, "collect_drink"
            return
    if level <= (FAR_AT_NIGHT if scene.view.night else FAR_BY_DAY):
        far = scene.remembered("water")
        if far:
            price, action = scene.ways.towards(far[1], far[2])
            yield price - worth, action, "collect_drink"


def food_offers(scene: Scene) -> Iterator[Offer]:
    """Cows and ripe plants: eaten when hungry, or for the first time."""
    level = scene.view.food
    worth = urgency(scene, level)
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
            first = 0 if "eat_cow" in scene.known else OPEN
            yield price + hits - worth - first, action, "eat_cow"
            return
    if level <= (FAR_AT_NIGHT if scene.view.night else FAR_BY_DAY):
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
