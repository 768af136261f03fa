"""Finding the way in what is in view.

A step onto free ground costs 1. With a pickaxe solid ground is a way too, at 2 a cell (strike,
step); water is one for whoever carries a stone to fill it. Lava never is.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from orchestrator.models.heuristic.crafter.view import (
    CELLS,
    CENTRE,
    HEIGHT,
    NEXT,
    STEP,
    WALKABLE,
    WIDTH,
    View,
)

MOVES = ("move_left", "move_right", "move_up", "move_down")
FAR = 99
"""The distance of what cannot be reached within the view."""

X = tuple(cell % WIDTH - WIDTH // 2 for cell in range(CELLS))
Y = tuple(cell // WIDTH - HEIGHT // 2 for cell in range(CELLS))


def _neighbours(cell: int) -> tuple[tuple[int, int], ...]:
    found = []
    for direction, step in enumerate(STEP):
        column = cell % WIDTH + (step if direction < 2 else 0)
        if 0 <= column < WIDTH and 0 <= cell + step < CELLS:
            found.append((cell + step, direction))
    return tuple(found)


NEIGHBOURS = tuple(_neighbours(cell) for cell in range(CELLS))
AROUND = tuple(tuple(cell for cell, _ in near) for near in NEIGHBOURS)
RIM = tuple(c for c in range(CELLS) if abs(X[c]) == WIDTH // 2 or abs(Y[c]) == HEIGHT // 2)
NEAR = tuple(c for c in range(CELLS) if abs(X[c]) <= 1 and abs(Y[c]) <= 1 and c != CENTRE)
"""The eight cells within which a table or furnace can be used."""


@lru_cache(maxsize=16)
def _table(pickaxe: int, stone: bool) -> Callable[[str], int]:
    costs = dict.fromkeys(WALKABLE, 1) | {"@": 1, "?": 2, "T": 3, "C": 3, "Z": 6, "K": 4}
    costs |= dict.fromkeys("<>^v", 3)
    if pickaxe >= 1:
        costs |= {"#": 2, "c": 2}
        if stone:
            costs["~"] = 4
    if pickaxe >= 2:
        costs["i"] = 2
    if pickaxe >= 3:
        costs["d"] = 2
    return {glyph: costs.get(glyph, FAR) for glyph in ".:_~#TcidLtfCZK<>^vpPX?@"}.__getitem__


class Ways:
    """Distances from the player and the first step of each shortest way.

    Args:
        view: What is in view.
        pickaxe: 0 none, 1 wood, 2 stone, 3 iron.
        careful: Extra cost by cell, for instance near enemies.
    """

    __slots__ = ("distance", "facing", "first", "grid")

    def __init__(self, view: View, pickaxe: int, careful: dict[int, int] | None = None) -> None:
        self.grid = view.grid
        self.facing = view.facing
        cost = list(map(_table(pickaxe, view.inventory.get("stone", 0) > 0), view.grid))
        if careful:
            for cell, extra in careful.items():
                cost[cell] += extra
        self.distance, self.first = _spread(cost)

    def beside(self, cell: int) -> tuple[int, str]:
        """How many steps until something is done to a cell, and the first of them."""
        best = FAR
        where = CENTRE
        distance = self.distance
        for near in AROUND[cell]:
            if distance[near] < best:
                best = distance[near]
                where = near
        if best >= FAR:
            return FAR, "noop"
        if where == CENTRE:
            direction = NEXT.index(cell)
            if direction == self.facing:
                return 1, "do"
            return 2, MOVES[direction]
        return best + 2, self.go(self.first[where])

    def go(self, direction: int) -> str:
        """The action that makes headway in a direction."""
        glyph = self.grid[NEXT[direction]]
        if glyph in ".:_?" or direction != self.facing:
            return MOVES[direction]
        return "place_stone" if glyph == "~" else "do"

    def onto(self, cell: int) -> tuple[int, str]:
        """How many steps until the player stands on a cell, and the first of them."""
        if cell == CENTRE:
            return 0, "noop"
        if self.distance[cell] >= FAR:
            return FAR, "noop"
        return self.distance[cell], self.go(self.first[cell])

    def towards(self, x: int, y: int) -> tuple[int, str]:
        """Heads for a place out of view.

        Keeping the direction is worth a little, so that a lake is followed rather than
        bounced along.

        Returns:
            An estimate of the steps and the first of them.
        """
        best = FAR * 2
        direction = -1
        distance, first, facing = self.distance, self.first, self.facing
        for cell in RIM:
            way = distance[cell]
            if way < FAR:
                way += abs(x - X[cell]) + abs(y - Y[cell])
                start = first[cell]
                if start != facing:
                    way += 3 if start ^ 1 == facing else 1
                if way < best:
                    best = way
                    direction = start
        if direction < 0:
            return FAR * 2, "noop"
        return best, self.go(direction)

    def facing_free(self, cell: int) -> tuple[int, str]:
        """How to come to look at a free cell without standing on it.

        Turning towards free ground is walking onto it, so the player has to arrive at the
        cell's neighbour in the direction of the cell.

        Returns:
            The steps until the cell is faced (0: it is) and the first of them.
        """
        best = FAR
        action = "noop"
        for direction, step in enumerate(STEP):
            stand = cell - step
            if stand == CENTRE and self.facing == direction:
                return 0, "noop"
            before = stand - step
            if (stand, direction ^ 1) not in NEIGHBOURS[cell]:
                continue
            if (before, direction ^ 1) not in NEIGHBOURS[stand]:
                continue
            if self.grid[stand] not in ".:_@" or self.distance[before] >= FAR:
                continue
            if before == CENTRE:
                way, go = 1, MOVES[direction]
            elif self.first[before] >= 0 and NEXT[self.first[before]] == cell:
                continue
            else:
                way, go = self.distance[before] + 1, self.go(self.first[before])
            if way < best:
                best, action = way, go
        return best, action


def far_price(steps: int) -> float:
    """What a known place out of view costs: it is sure to be there, so distance counts less."""
    return min(steps, 10 + steps / 3)


def _spread(cost: list[int]) -> tuple[list[int], list[int]]:
    distance = [FAR] * CELLS
    first = [-1] * CELLS
    distance[CENTRE] = 0
    buckets: list[list[int]] = [[] for _ in range(FAR)]
    for cell, direction in NEIGHBOURS[CENTRE]:
        way = cost[cell]
        if way < FAR:
            distance[cell] = way
            first[cell] = direction
            buckets[way].append(cell)
    for way, bucket in enumerate(buckets):
        for cell in bucket:
            if distance[cell] != way:
                continue
            start = first[cell]
            for near in AROUND[cell]:
                further = way + cost[near]
                if further < distance[near]:
                    distance[near] = further
                    first[near] = start
                    buckets[further].append(near)
    return distance, first


def enclosed(grid: str, cell: int, filled: tuple[int, ...] = (), limit: int = 6) -> bool:
    """Whether nothing that walks can come to a cell.

    Args:
        grid: The map.
        cell: Where the player would be.
        filled: Cells to be taken as filled with stone.
        limit: The largest room that counts as closed.
    """
    room = [cell]
    seen = {cell, *filled}
    for inside in room:
        near = AROUND[inside]
        if len(near) < 4:
            return False
        for beside in near:
            if beside not in seen and not closed(grid, beside, beside - inside):
                if len(room) >= limit or grid[beside] not in ".:_@":
                    return False
                seen.add(beside)
                room.append(beside)
    return True


def closed(grid: str, cell: int, step: int) -> bool:
    """Whether neither feet nor arrows come from a cell that lies in the direction of `step`."""
    glyph = grid[cell]
    return glyph in "#TcidtfXpP" or (glyph in "~L" and not _shot_over(grid, cell, step))


def _shot_over(grid: str, cell: int, step: int) -> bool:
    """Whether an arrow could come across water or lava: skeletons live on paths."""
    while grid[cell] in "~L":
        following = cell + step
        if following not in AROUND[cell]:
            return grid[cell] == "L"
        cell = following
    return grid[cell] in "_K<>^v"
