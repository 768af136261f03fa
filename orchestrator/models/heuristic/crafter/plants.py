"""Growing a plant to eat.

A sapling ripens after 300 steps, and only while the player is within 18 steps of it. A cow or a
zombie next to it ends it, so it is set where few sides are open and those are closed with stones.
"""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.models.heuristic.crafter.craft import OPEN, Offer, lay
from orchestrator.models.heuristic.crafter.navigate import AROUND, FAR, MOVES, far_price
from orchestrator.models.heuristic.crafter.scene import Scene
from orchestrator.models.heuristic.crafter.view import CELLS, NEXT, STEP

UNCLOSED = ".:_@CZK<>^v?"
SIDE = 4
"""Steps it takes to close a side."""
SEARCH = 6
"""What finding a sapling in the grass is taken to cost; one in ten strokes finds one."""
MAX_OPEN = 3
EARLIEST = 380
"""The step before which no plant is looked after: none is set in the first minutes."""
VISIT = 20
NOW = -6
EVERY = 90
LOOK = 40
"""Of so many steps from ripeness on, the first are for looking after the plant."""


def plant_offers(scene: Scene) -> Iterator[Offer]:
    """Finding a sapling, planting it and walling it in."""
    known = scene.known
    hungry = "eat_plant" not in known
    if hungry:
        yield from _wall(scene)
        yield from _visit(scene)
    if scene.have("sapling"):
        if hungry and not scene.cells.get("p"):
            yield from _site(scene)
        if "place_plant" not in known and (not hungry or scene.view.health <= 3):
            price, action = lay(scene, "place_plant")
            if price < FAR:
                yield price, action, "place_plant"
    elif "collect_sapling" not in known:
        yield from _search(scene)


def _search(scene: Scene) -> Iterator[Offer]:
    if scene.front == ".":
        yield SEARCH - OPEN, "do", "collect_sapling"
        return
    for side in range(4):
        cell = NEXT[side]
        if scene.grid[cell] in ".:_" and scene.grid[cell + STEP[side]] == ".":
            yield SEARCH + 1 - OPEN, MOVES[side], "collect_sapling"
            return


def _visit(scene: Scene) -> Iterator[Offer]:
    """Goes to see whether a remembered sapling is ripe."""
    far = scene.remembered("ripe_plant")
    if far:
        price, action = scene.ways.towards(far[1], far[2])
        yield far_price(price) - 10, action, "eat_plant"
        return
    far = scene.remembered("sapling")
    step = scene.beliefs.step
    if far and (step is None or ((step - EARLIEST) % EVERY < LOOK and step >= EARLIEST)):
        price, action = scene.ways.towards(far[1], far[2])
        yield far_price(price) + (VISIT if step is None else NOW), action, "eat_plant"


def _wall(scene: Scene) -> Iterator[Offer]:
    """Closes the open sides of a sapling in view."""
    if not scene.have("stone"):
        return
    for plant in scene.cells.get("p", ()):
        for side in AROUND[plant]:
            if scene.grid[side] in ".:_@":
                price, action = scene.ways.facing_free(side)
                if price == 0:
                    yield -8, "place_stone", "protect_plant"
                elif price < 8:
                    yield price - 8, action, "protect_plant"


def _site(scene: Scene) -> Iterator[Offer]:
    """Heads for the grass cell that is cheapest to plant and to wall in."""
    stones = scene.have("stone", 0)
    if not stones:
        return
    grid, ways = scene.grid, scene.ways
    best, first = FAR, "noop"
    for cell in range(CELLS):
        if grid[cell] != "." or ways.distance[cell] > 6 or len(AROUND[cell]) < 4:
            continue
        sides = [grid[near] for near in AROUND[cell]]
        gaps = sum(glyph in UNCLOSED for glyph in sides)
        if gaps > min(stones, MAX_OPEN) or any(glyph in "CZ" for glyph in sides):
            continue
        if SIDE * gaps >= best:
            continue
        price, action = ways.facing_free(cell)
        if price == 0:
            action = "place_plant"
        if price < FAR and price + SIDE * gaps < best:
            best, first = price + SIDE * gaps, action
    if best < FAR:
        yield best / 2 - 4, first, "place_plant"
