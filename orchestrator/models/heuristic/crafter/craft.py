"""Tools, tables and furnaces, and the materials for them.

An offer is ``(price, action, goal)``: the price is the estimated number of steps, less what
urgency takes off. The cheapest offer wins. What is not known to be done counts as open.
"""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.models.heuristic.crafter.navigate import FAR, MOVES, X, Y, far_price
from orchestrator.models.heuristic.crafter.scene import Scene
from orchestrator.models.heuristic.crafter.view import CELLS, CENTRE, NEXT, STEP

Offer = tuple[float, str, str]

INGREDIENTS: dict[str, tuple[str, ...]] = {
    "wood_pickaxe": ("wood",),
    "stone_pickaxe": ("wood", "stone"),
    "iron_pickaxe": ("wood", "coal", "iron"),
    "wood_sword": ("wood",),
    "stone_sword": ("wood", "stone"),
    "iron_sword": ("wood", "coal", "iron"),
}
TABLE_WOOD = 2
FURNACE_STONE = 4
NEW_TABLE = 2
STOCK = 2
OPEN = 4
"""Steps that an achievement is worth which is not known to be done."""
OPTIONAL = 10
"""Steps that a stock for later is worth."""
_MINED_WITH = {"#": 1, "c": 1, "i": 2, "d": 3, "T": 0}


class Plan:
    """What the tools still to be made ask for.

    Args:
        scene: The scene.
    """

    def __init__(self, scene: Scene) -> None:
        have = scene.have
        self.lacking = [tool for tool in INGREDIENTS if not have(tool)]
        self.ready = [
            tool for tool in self.lacking if all(have(item) for item in INGREDIENTS[tool])
        ]
        self.stone_tools = sum(tool.startswith("stone") for tool in self.lacking)
        self.iron_tools = sum(tool.startswith("iron") for tool in self.lacking)
        bench = "t" in scene.cells or scene.remembered("table") is not None
        self.table_wood = 0 if bench else TABLE_WOOD
        if "wood_pickaxe" in self.lacking:
            self.wood_now = self.table_wood + 2
        elif self.stone_tools:
            self.wood_now = self.table_wood + self.stone_tools
        else:
            self.wood_now = self.iron_tools and self.table_wood + self.iron_tools
        self.wood_all = min(9, len(self.lacking) + (STOCK if self.lacking else 0))
        self.stone = self.stone_tools + 1
        furnace = "f" in scene.cells
        if "place_furnace" not in scene.known or (self.iron_tools and have("iron") and not furnace):
            self.stone += FURNACE_STONE
        if "place_stone" not in scene.known:
            self.stone += 1
        self.stone = min(9, self.stone)


def make(scene: Scene, plan: Plan) -> Offer | None:
    """Makes what can be made right here."""
    if scene.table_near:
        for tool in plan.ready:
            if scene.furnace_near or not tool.startswith("iron"):
                return -20, f"make_{tool}", f"make_{tool}"
    return None


def bench_offers(scene: Scene, plan: Plan) -> Iterator[Offer]:
    """Ways to come to stand where the next tool can be made."""
    if not plan.ready:
        return
    have = scene.have
    iron = all(tool.startswith("iron") for tool in plan.ready)
    wood = have("wood", 0)
    trees = "T" in scene.cells
    goal = f"make_{plan.ready[0]}"
    if "wood_pickaxe" in plan.lacking and trees and wood < plan.wood_now:
        return
    hurry = 0.0
    if plan.ready[0] == "stone_pickaxe" and plan.stone_tools == 2 and have("stone", 0) < 2:
        hurry = 3.0
    site = _site(scene, iron)
    if site:
        yield site[0] + hurry, site[1], goal
    if iron and not site:
        yield from _furnace_at_table(scene, goal)
    far = scene.remembered("furnace" if iron else "table")
    if far and not site:
        price, action = scene.ways.towards(far[1], far[2])
        yield far_price(price) + hurry + 1, action, goal
    if iron and not far and not site:
        far = scene.remembered("table")
        if far and have("stone", 0) >= FURNACE_STONE:
            price, action = scene.ways.towards(far[1], far[2])
            yield far_price(price) + 3, action, goal
    if wood > TABLE_WOOD and not scene.table_near:
        spare = wood - TABLE_WOOD >= len(plan.ready)
        price, action = lay(scene, "place_table")
        first = "place_table" not in scene.known
        total = price + hurry + (0 if first else NEW_TABLE if spare else 9)
        if iron and not scene.furnace_near:
            total += FURNACE_STONE
            if have("stone", 0) < FURNACE_STONE:
                return
        yield total, action, "place_table"


def _site(scene: Scene, furnace: bool) -> tuple[int, str] | None:
    """The nearest cell with a table, and a furnace where needed, next to it."""
    tables = scene.cells.get("t")
    if not tables:
        return None
    furnaces = scene.cells.get("f") if furnace else None
    if furnace and not furnaces:
        return None
    best = FAR
    target = -1
    distance = scene.ways.distance
    for table in tables:
        for cell in _square(table):
            if distance[cell] < best and (
                not furnaces
                or any(abs(X[cell] - X[f]) <= 1 and abs(Y[cell] - Y[f]) <= 1 for f in furnaces)
            ):
                best = distance[cell]
                target = cell
    return scene.ways.onto(target) if target >= 0 else None


def _square(cell: int) -> list[int]:
    return [c for c in range(CELLS) if abs(X[c] - X[cell]) <= 1 and abs(Y[c] - Y[cell]) <= 1]


def _furnace_at_table(scene: Scene, goal: str) -> Iterator[Offer]:
    """Puts a furnace up next to a table in view."""
    if scene.have("stone", 0) < FURNACE_STONE:
        return
    if scene.table_near:
        price, action = lay(scene, "place_furnace", near="t")
        yield price, action, goal
    else:
        site = _site(scene, False)
        if site:
            yield site[0] + 2, site[1], goal


def lay(scene: Scene, action: str, near: str = "") -> tuple[int, str]:
    """How many steps until something is set down, and the first of them.

    Args:
        scene: The scene.
        action: The placing action.
        near: A glyph that has to stay within reach while stepping aside, such as the table's.
    """
    ground = "." if action == "place_plant" else ".:_"
    grid = scene.grid
    if scene.front in ground:
        return 1, action
    dig = action != "place_plant"
    fence = scene.fence
    front = NEXT[scene.facing]
    if dig and front not in fence and _MINED_WITH.get(scene.front, 9) <= scene.pickaxe:
        return 2, "do"
    best, first = FAR, "noop"
    keep = list(scene.cells.get(near, ())) if near else []
    for side in range(4):
        cell = NEXT[side]
        beyond = cell + STEP[side]
        if grid[cell] in ".:_":
            if near and not any(
                abs(X[cell] - X[k]) <= 1 and abs(Y[cell] - Y[k]) <= 1 for k in keep
            ):
                continue
            if grid[beyond] in ground:
                price = 2
            elif dig and beyond not in fence and _MINED_WITH.get(grid[beyond], 9) <= scene.pickaxe:
                price = 3
            else:
                continue
        elif dig and cell not in fence and _MINED_WITH.get(grid[cell], 9) <= scene.pickaxe:
            price = 3
        else:
            continue
        if price < best:
            best, first = price, MOVES[side]
    return best, first


def material_offers(scene: Scene, plan: Plan) -> Iterator[Offer]:
    """Wood, stone, coal, iron and diamonds in view that are wanted."""
    have = scene.have
    known = scene.known
    wood = have("wood", 0)
    if wood < plan.wood_all or "collect_wood" not in known:
        yield from _nearest(scene, "T", 0 if wood < plan.wood_now else 4, "collect_wood")
    if scene.pickaxe:
        stone = have("stone", 0)
        if stone < plan.stone:
            yield from _nearest(scene, "#", 0, "collect_stone")
        elif stone < 6:
            yield from _nearest(scene, "#", 6, "collect_stone")
        if have("coal", 0) < plan.iron_tools or "collect_coal" not in known:
            yield from _nearest(scene, "c", 0, "collect_coal")
    if scene.pickaxe > 1 and (have("iron", 0) < plan.iron_tools or "collect_iron" not in known):
        yield from _nearest(scene, "i", -4, "collect_iron")
    if scene.pickaxe > 2 and "collect_diamond" not in known:
        yield from _nearest(scene, "d", -6, "collect_diamond")


def _nearest(scene: Scene, glyph: str, extra: float, goal: str) -> Iterator[Offer]:
    cells = scene.cells.get(glyph)
    if cells and scene.fence:
        cells = [cell for cell in cells if cell not in scene.fence]
    if cells:
        beside = scene.ways.beside
        price, action = min(beside(cell) for cell in cells)
        if price < (FAR if extra <= 0 else OPTIONAL):
            yield price + extra, action, goal


def placing_offers(scene: Scene, plan: Plan) -> Iterator[Offer]:
    """Stones and furnaces for their own sake."""
    known = scene.known
    stone = scene.have("stone", 0)
    if "place_stone" not in known and stone:
        price, action = lay(scene, "place_stone")
        if price <= 2:
            yield price - OPEN, action, "place_stone"
    if "place_furnace" not in known and stone >= FURNACE_STONE and not plan.stone_tools:
        price, action = lay(scene, "place_furnace")
        if price <= 3:
            yield price - OPEN, action, "place_furnace"


def wanted(scene: Scene, plan: Plan) -> tuple[str, ...]:
    """Kinds of place that would help now, the most useful first."""
    have = scene.have
    kinds = []
    if have("wood", 0) < plan.wood_now:
        kinds.append("tree")
    if plan.ready and not scene.table_near:
        if all(tool.startswith("iron") for tool in plan.ready):
            kinds.append("furnace")
        kinds.append("table")
    if not scene.pickaxe:
        return tuple(kinds) or ("tree",)
    if scene.pickaxe > 2 and not have("diamond"):
        kinds.append("diamond")
    if scene.pickaxe > 1 and have("iron", 0) < plan.iron_tools:
        kinds.append("iron")
    if have("coal", 0) < plan.iron_tools:
        kinds.append("coal")
    if have("stone", 0) < plan.stone:
        kinds.append("stone")
    return tuple(kinds)


__all__ = ["CENTRE", "Offer", "Plan"]
