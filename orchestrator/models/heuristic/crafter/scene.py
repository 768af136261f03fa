"""One decision's working set: the view, the beliefs and what follows from them."""

from __future__ import annotations

from functools import cached_property
from zlib import crc32

from orchestrator.models.heuristic.crafter.beliefs import Beliefs
from orchestrator.models.heuristic.crafter.navigate import AROUND, FAR, NEAR, Ways
from orchestrator.models.heuristic.crafter.view import CELLS, HEIGHT, NEXT, WIDTH, View

NIGHT_GRASS = 1
SWORDS = (("iron_sword", 5), ("stone_sword", 3), ("wood_sword", 2))
PICKAXES = (("iron_pickaxe", 3), ("stone_pickaxe", 2), ("wood_pickaxe", 1))
TOOLS = (
    "wood_pickaxe",
    "stone_pickaxe",
    "iron_pickaxe",
    "wood_sword",
    "stone_sword",
    "iron_sword",
)

_PROVES: dict[str, tuple[str, ...]] = {
    "wood": ("collect_wood",),
    "sapling": ("collect_sapling",),
    "stone": ("collect_stone",),
    "coal": ("collect_coal",),
    "iron": ("collect_iron",),
    "diamond": ("collect_diamond",),
    "wood_pickaxe": ("make_wood_pickaxe", "place_table", "collect_wood"),
    "wood_sword": ("make_wood_sword", "place_table", "collect_wood"),
    "stone_pickaxe": ("make_stone_pickaxe", "collect_stone"),
    "stone_sword": ("make_stone_sword", "collect_stone"),
    "iron_pickaxe": ("make_iron_pickaxe", "place_furnace", "collect_iron", "collect_coal"),
    "iron_sword": ("make_iron_sword", "place_furnace", "collect_iron", "collect_coal"),
}
_PLACED: dict[str, tuple[str, ...]] = {
    "t": ("place_table",),
    "f": ("place_furnace",),
    "p": ("place_plant", "collect_sapling"),
    "P": ("place_plant", "collect_sapling"),
}
_REMEMBERED: dict[str, tuple[str, ...]] = {
    "table": ("place_table",),
    "furnace": ("place_furnace",),
    "sapling": ("place_plant", "collect_sapling"),
    "ripe_plant": ("place_plant", "collect_sapling"),
}


class Scene:
    """What a decision looks at, worked out once.

    Args:
        view: The observation.
        beliefs: What else the prompt said.
    """

    def __init__(self, view: View, beliefs: Beliefs) -> None:
        self.view = view
        self.beliefs = beliefs
        self.grid = view.grid
        self.have = view.inventory.get
        self.facing = view.facing
        self.front = view.grid[NEXT[view.facing]]
        cells: dict[str, list[int]] = {}
        for cell, glyph in enumerate(view.grid):
            if glyph == ".":
                continue
            if glyph in cells:
                cells[glyph].append(cell)
            else:
                cells[glyph] = [cell]
        self.cells = cells
        inventory = view.inventory
        self.pickaxe = next((level for name, level in PICKAXES if name in inventory), 0)
        self.damage = next((hits for name, hits in SWORDS if name in inventory), 1)

    @cached_property
    def known(self) -> set[str]:
        """Achievements that are done as far as notes, inventory and view tell."""
        known = set(self.beliefs.done or ())
        for item in self.view.inventory:
            known.update(_PROVES[item])
        for glyph, proved in _PLACED.items():
            if glyph in self.cells:
                known.update(proved)
        for kind, _ in self.beliefs.places:
            if kind in _REMEMBERED:
                known.update(_REMEMBERED[kind])
        return known

    @cached_property
    def fence(self) -> set[int]:
        """Cells beside a sapling, which stay closed until it is ripe."""
        return {near for plant in self.cells.get("p", ()) for near in AROUND[plant]}

    @cached_property
    def ways(self) -> Ways:
        """Ways through the view."""
        careful: dict[int, int] = {}
        if self.view.night:
            careful = {cell: NIGHT_GRASS for cell in range(CELLS) if self.grid[cell] == "."}
        for cell in self.fence:
            careful[cell] = 3 if self.grid[cell] in ".:_@" else FAR
        for glyph, radius in (("Z", 2), ("K", 3)):
            dread = 2 if self.view.health > 5 else 4
            for enemy in self.cells.get(glyph, ()):
                ex, ey = enemy % WIDTH, enemy // WIDTH
                for cell in range(CELLS):
                    if abs(cell % WIDTH - ex) + abs(cell // WIDTH - ey) <= radius:
                        careful[cell] = careful.get(cell, 0) + dread
        return Ways(self.view, self.pickaxe, careful)

    @cached_property
    def chance(self) -> int:
        """A number that only depends on what is seen: the same scene, the same number."""
        view = self.view
        vitals = f"{view.health}{view.food}{view.drink}{view.energy}"
        return crc32(f"{vitals}{self.grid}".encode())

    @cached_property
    def table_near(self) -> bool:
        """A table is close enough to work at."""
        return any(self.grid[cell] == "t" for cell in NEAR)

    @cached_property
    def furnace_near(self) -> bool:
        """A furnace is close enough to work at."""
        return any(self.grid[cell] == "f" for cell in NEAR)

    def nearest(self, glyphs: str) -> list[int]:
        """Cells in view that show one of the glyphs, in reading order."""
        return [cell for glyph in glyphs for cell in self.cells.get(glyph, ())]

    def remembered(self, *kinds: str) -> tuple[int, int, int] | None:
        """The nearest remembered place out of view.

        Returns:
            Its distance in steps and its offset, or None. What is in view does not count: the
            view says better what is there.
        """
        position = self.beliefs.position
        if position is None:
            return None
        px, py = position
        best: tuple[int, int, int] | None = None
        for kind, (x, y) in self.beliefs.places:
            if kind in kinds:
                dx, dy = x - px, y - py
                if abs(dx) <= WIDTH // 2 and abs(dy) <= HEIGHT // 2:
                    continue
                away = abs(dx) + abs(dy)
                if best is None or away < best[0]:
                    best = (away, dx, dy)
        return best
