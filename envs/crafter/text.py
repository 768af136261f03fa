"""What a player of Crafter sees, in words and glyphs, and what they are told before.

`describe` is a function of the world and the player; it draws nothing from the random stream.
"""

from __future__ import annotations

from collections.abc import Mapping

from envs.crafter import native
from envs.crafter.creatures import DOWN, LEFT, RIGHT, UP, Player
from envs.crafter.world import EDGE, VIEW, World

VITALS = ("health", "food", "drink", "energy")
NIGHT_BELOW = 0.5
"""Daylight under which crafter darkens its picture with noise, from 0 (midnight) to 1 (noon)."""

_DIRECTIONS: dict[tuple[int, int], str] = {UP: "up", RIGHT: "right", DOWN: "down", LEFT: "left"}
_GLYPHS = {
    "grass": ".", "sand": ":", "path": "_", "water": "~", "stone": "#", "tree": "T",
    "coal": "c", "iron": "i", "diamond": "d", "lava": "L", "table": "t", "furnace": "f",
}  # fmt: skip
_MATERIALS = ("nothing", *native.constants.materials)

# Each cell of the view becomes one byte: the number of its material, or one of these.
_COW, _ZOMBIE, _SKELETON, _SAPLING, _RIPE, _ARROW = 200, 201, 202, 203, 204, 205
_ARROWS: dict[tuple[int, int], int] = {
    LEFT: _ARROW,
    RIGHT: _ARROW + 1,
    UP: _ARROW + 2,
    DOWN: _ARROW + 3,
}
_THINGS = {
    _COW: ("cow", "C"),
    _ZOMBIE: ("zombie", "Z"),
    _SKELETON: ("skeleton", "K"),
    _SAPLING: ("sapling", "p"),
    _RIPE: ("ripe_plant", "P"),
    _ARROWS[LEFT]: ("arrow", "<"),
    _ARROWS[RIGHT]: ("arrow", ">"),
    _ARROWS[UP]: ("arrow", "^"),
    _ARROWS[DOWN]: ("arrow", "v"),
    EDGE: ("edge", "X"),
}
LEGEND = (
    ("@", "you"),
    *((_GLYPHS[material], material) for material in native.constants.materials),
    ("C", "cow"),
    ("Z", "zombie"),
    ("K", "skeleton"),
    ("< > ^ v", "arrow by the way it flies"),
    ("p", "sapling that was planted"),
    ("P", "ripe_plant"),
    ("X", "edge (outside the world)"),
)
"""Each glyph of the map with what it stands for."""

_KINDS = {
    **dict(enumerate(_MATERIALS)),
    **{code: kind for code, (kind, _) in _THINGS.items()},
}


def _glyph_table() -> bytes:
    table = bytearray(b"?" * 256)
    for number, material in enumerate(_MATERIALS):
        table[number] = ord(_GLYPHS.get(material, "?"))
    for code, (_, glyph) in _THINGS.items():
        table[code] = ord(glyph)
    return bytes(table)


_TABLE = _glyph_table()
_COLUMNS, _ROWS = VIEW
_CENTER = _ROWS // 2 * _COLUMNS + _COLUMNS // 2
_NEXT = tuple((word, _CENTER + step[0] + step[1] * _COLUMNS) for step, word in _DIRECTIONS.items())
_FACED = dict(_NEXT)


def _way(dx: int, dy: int) -> str:
    parts = []
    if dx:
        parts.append(f"{abs(dx)} {'right' if dx > 0 else 'left'}")
    if dy:
        parts.append(f"{abs(dy)} {'down' if dy > 0 else 'up'}")
    steps = abs(dx) + abs(dy)
    return f"{steps} step{'' if steps == 1 else 's'} ({', '.join(parts)})"


def _cells_by_distance() -> tuple[tuple[int, int, str], ...]:
    """Every cell but the own one: distance, place in reading order, and the way there."""
    cells = []
    for cell in range(_COLUMNS * _ROWS):
        dx, dy = cell % _COLUMNS - _COLUMNS // 2, cell // _COLUMNS - _ROWS // 2
        if cell != _CENTER:
            cells.append((abs(dx) + abs(dy), cell, _way(dx, dy)))
    return tuple(sorted(cells))


_BY_DISTANCE = _cells_by_distance()


def describe(world: World, player: Player) -> str:
    """Put into words what the player sees.

    Args:
        world: The world as it is now.
        player: The player in it.

    Returns:
        The observation: place and facing, time of day, the four cells next to the player, the
        nearest of each kind in view, the map, vitals and inventory.
    """
    materials, objects = world.view(player.pos)
    ground = _KINDS[materials[_CENTER]]
    cells = bytearray(materials)
    for cell, obj in objects.items():
        if obj is not player:
            cells[cell] = _code(obj)
    facing = _DIRECTIONS[player.facing]
    neighbours = ", ".join(f"{word} {_KINDS[cells[cell]]}" for word, cell in _NEXT)
    asleep = "You are asleep.\n" if player.sleeping else ""
    time = "night" if world.daylight < NIGHT_BELOW else "day"
    return (
        f"{asleep}You stand on {ground} and face {_KINDS[cells[_FACED[facing]]]} ({facing}).\n"
        f"It is {time}.\n"
        f"Next to you: {neighbours}.\n"
        f"Nearest:\n{_nearest(cells)}\n"
        f"Map (you are @):\n{_map(cells)}\n"
        f"{_belongings(player.inventory)}"
    )


def _code(obj: native.Object) -> int:
    if isinstance(obj, native.Cow):
        return _COW
    if isinstance(obj, native.Zombie):
        return _ZOMBIE
    if isinstance(obj, native.Skeleton):
        return _SKELETON
    if isinstance(obj, native.Plant):
        return _RIPE if obj.ripe else _SAPLING
    if isinstance(obj, native.Arrow):
        return _ARROWS[obj.facing]
    raise TypeError(f"Crafter has an object this text does not know: {type(obj).__name__}.")


def _nearest(cells: bytearray) -> str:
    """A line for each kind in view: the nearest one, of several the first in reading order."""
    found: dict[str, tuple[int, str]] = {}
    for distance, cell, way in _BY_DISTANCE:
        kind = _KINDS[cells[cell]]
        if kind not in found:
            found[kind] = (distance, way)
    order = sorted(found, key=lambda kind: (found[kind][0], kind))
    return "\n".join(f"- {kind}: {found[kind][1]}" for kind in order)


def _map(cells: bytearray) -> str:
    glyphs = bytearray(cells.translate(_TABLE))
    glyphs[_CENTER] = ord("@")
    text = glyphs.decode("ascii")
    return "\n".join(text[row : row + _COLUMNS] for row in range(0, len(text), _COLUMNS))


def _belongings(inventory: Mapping[str, int]) -> str:
    vitals = ", ".join(f"{name} {inventory[name]}" for name in VITALS)
    items = [f"{name} {n}" for name, n in inventory.items() if n and name not in VITALS]
    return f"Status: {vitals}.\nInventory: {', '.join(items) or 'nothing'}."
