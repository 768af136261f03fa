"""Staying alive: enemies, arrows, rest and shelter.

A zombie strikes when it comes to stand next to the player and then every sixth step; asleep the
player takes 7 instead of 2. Only the four sides count, so four closed sides are safe.
"""

from __future__ import annotations

from orchestrator.models.heuristic.crafter.navigate import (
    AROUND,
    FAR,
    MOVES,
    NEIGHBOURS,
    X,
    Y,
    closed,
    enclosed,
)
from orchestrator.models.heuristic.crafter.scene import Scene
from orchestrator.models.heuristic.crafter.view import CENTRE, NEXT, STEP

Answer = tuple[str, str]
"""An action and the goal it serves."""

HURT = 5
HURT_AT_NIGHT = 7
HIDE = 4
TIRED = 3
TIRED_AT_NIGHT = 8
NAP = 5

_WORK = {"#": 1, "c": 1, "i": 1, "T": 1, "~": 2, ".": 0, ":": 0, "_": 0, "@": 0}
"""Steps to hollow a cell out."""

_TOWARDS_PLAYER = (">", "<", "v", "^")
"""How an arrow that comes from each direction looks."""


def fight(scene: Scene) -> Answer | None:
    """Strikes an enemy that stands next to the player."""
    grid = scene.grid
    beside = [side for side in range(4) if grid[NEXT[side]] in "ZK"]
    if not beside:
        return None
    if scene.facing in beside:
        return "do", "fight"
    return MOVES[beside[0]], "fight"


def dodge(scene: Scene) -> Answer | None:
    """Steps out of the way of an arrow, or shuts it out."""
    grid = scene.grid
    for side in range(4):
        if grid[NEXT[side]] == _TOWARDS_PLAYER[side]:
            for aside in (2, 3) if side < 2 else (0, 1):
                if grid[NEXT[aside]] in ".:_":
                    return MOVES[aside], "dodge"
        elif (
            grid[NEXT[side] + STEP[side]] == _TOWARDS_PLAYER[side]
            and side == scene.facing
            and grid[NEXT[side]] in ".:_"
            and scene.have("stone")
        ):
            return "place_stone", "dodge"
    return None


def recover(scene: Scene) -> Answer | None:
    """Hides, rests or keeps away from enemies while health is low."""
    view = scene.view
    if view.health > HURT_AT_NIGHT or (not view.night and view.health > HURT):
        return None
    fed = min(view.food, view.drink) > (2 if view.health > 3 else 0)
    if enclosed(scene.grid, CENTRE):
        return (("sleep" if view.energy < 9 else "noop"), "rest") if fed else None
    enemies = scene.nearest("ZK")
    blocked = _block(scene)
    if blocked:
        return blocked
    if fed and (enemies or view.night):
        action = seal(scene, 3)
        if action:
            return action, "hide"
        if scene.pickaxe and view.health <= HIDE:
            answer = _burrow(scene)
            if answer:
                return answer
    if view.health > 2 and scene.damage > 1:
        return None
    return _flee(scene)


def _block(scene: Scene) -> Answer | None:
    """Sets a stone before a zombie that comes straight on."""
    front = NEXT[scene.facing]
    if (
        scene.grid[front] in ".:_"
        and scene.grid[front + STEP[scene.facing]] == "Z"
        and scene.have("stone")
    ):
        return "place_stone", "block"
    return None


def _flee(scene: Scene) -> Answer | None:
    """Keeps zombies at a distance; they are a little slower than the player."""
    zombies = scene.cells.get("Z")
    if not zombies:
        return None

    def gap(cell: int) -> int:
        return min(abs(X[cell] - X[z]) + abs(Y[cell] - Y[z]) for z in zombies)

    here = gap(CENTRE)
    if here > (2 if min(scene.view.food, scene.view.drink) == 0 else 3):
        return None
    free = [side for side in range(4) if scene.grid[NEXT[side]] in ".:_"]
    best = max(free, key=lambda side: gap(NEXT[side]), default=-1)
    if best >= 0 and gap(NEXT[best]) > here:
        return MOVES[best], "flee"
    return None


def seal(scene: Scene, depth: int) -> str | None:
    """The first of at most `depth` steps that close the room round the player with stones."""
    stones = scene.have("stone", 0)
    if not stones:
        return None
    for limit in range(1, depth + 1):
        action = _seal(scene.grid, CENTRE, scene.facing, (), stones, limit)
        if action:
            return action
    return None


def _seal(
    grid: str, cell: int, facing: int, filled: tuple[int, ...], stones: int, depth: int
) -> str | None:
    front = cell + STEP[facing]
    if (
        stones
        and (front, facing) in NEIGHBOURS[cell]
        and grid[front] in ".:_@"
        and front not in filled
    ):
        with_stone = (*filled, front)
        if enclosed(grid, cell, with_stone):
            return "place_stone"
        if depth > 1 and _seal(grid, cell, facing, with_stone, stones - 1, depth - 1):
            return "place_stone"
    if depth > 1:
        for near, side in NEIGHBOURS[cell]:
            if (
                grid[near] in ".:_@"
                and near not in filled
                and _seal(grid, near, side, filled, stones, depth - 1)
            ):
                return MOVES[side]
    return None


def sleep(scene: Scene) -> Answer | None:
    """Goes to bed when it is time, inside four closed sides."""
    view = scene.view
    tired = view.energy <= TIRED or (view.night and view.energy <= TIRED_AT_NIGHT)
    early = view.energy <= NAP and "wake_up" not in scene.known
    if not (tired or early) or min(view.food, view.drink) <= (0 if view.energy <= 1 else 2):
        return None
    if enclosed(scene.grid, CENTRE):
        return "sleep", "sleep"
    if not tired:
        if scene.pickaxe == 0:
            return None
        action = seal(scene, 2)
        return (action, "shelter") if action else None
    action = seal(scene, 4)
    if action:
        return action, "shelter"
    if scene.pickaxe:
        answer = _burrow(scene)
        if answer:
            return answer
    if view.energy == 0 and not scene.nearest("ZK") and not view.night:
        return "sleep", "sleep"
    return None


def _burrow(scene: Scene) -> Answer | None:
    """Digs two cells into stone, to turn round inside and close the entrance."""
    if not scene.have("stone"):
        return None
    grid, ways = scene.grid, scene.ways
    best = 16
    target = inner = -1
    for cell in range(63):
        way = ways.distance[cell]
        if way >= best or len(AROUND[cell]) < 4:
            continue
        for near, side in NEIGHBOURS[cell]:
            if len(AROUND[near]) < 4 or grid[cell - STEP[side]] not in ".:_@":
                continue
            work = _pocket(grid, cell, near, side, scene.pickaxe)
            if work < FAR and way + work < best:
                best, target, inner = way + work, cell, side
    if target < 0:
        return None
    if target == CENTRE:
        return ways.go(inner), "shelter"
    return ways.onto(target)[1], "shelter"


def _pocket(grid: str, cell: int, inside: int, side: int, pickaxe: int) -> int:
    """The work left for a room of two cells that is open only where one enters `cell`."""
    across = (2, 3) if side < 2 else (0, 1)
    if not closed(grid, inside + STEP[side], STEP[side]):
        return FAR
    work = 3
    for part in (cell, inside):
        more = _WORK.get(grid[part], FAR)
        if more >= FAR or (grid[part] == "i" and pickaxe < 2):
            return FAR
        if not all(closed(grid, part + STEP[turn], STEP[turn]) for turn in across):
            return FAR
        work += more
    return work
