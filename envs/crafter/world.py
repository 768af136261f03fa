"""Crafter's world, made exact.

Three things differ from crafter's own `World`, and nothing else that a game can notice:

- **Order.** Chunks hold their objects in the order of arrival. Crafter holds them in a ``set``,
  whose order follows memory addresses; since a random draw picks a creature by its place in that
  order, the same seed gives other games in another process.
- **Edges.** `nearby` looks at what is there. Crafter cuts the map with negative indices at the
  west and north edges and gets nothing, so that a player in the first column or row could craft at
  no table. Elsewhere both agree.
- **Speed.** Positions are whole numbers (`creatures.Vec`), the map lies in a wider padded one so
  that no view is ever clipped, and how much of a chunk is grass is counted once per change.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from envs.crafter import native
from envs.crafter.creatures import Vec, adopt

AREA = (64, 64)
CHUNK = (12, 12)
VIEW = (9, 7)
"""Columns and rows that the player sees; the player stands in the middle."""
EDGE = 255
"""Stands for the material of cells outside the world."""

_PAD = max(VIEW) // 2


class ChunkMembers:
    """The objects of a chunk in the order in which they came."""

    __slots__ = ("_members",)

    def __init__(self) -> None:
        """Begin empty."""
        self._members: dict[native.Object, None] = {}

    def add(self, obj: native.Object) -> None:
        """Put an object last; one that is here already keeps its place."""
        self._members[obj] = None

    def remove(self, obj: native.Object) -> None:
        """Take an object out; `KeyError` if it is not here."""
        del self._members[obj]

    def __iter__(self) -> Iterator[native.Object]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)


class World(native.World):
    """The map and the objects on it.

    Args:
        area: Columns and rows.
    """

    members: type[Any] = ChunkMembers
    """What a chunk keeps its objects in. A test puts the stock ``set`` back to see it fail."""

    acting: native.Object | None
    """The object whose turn it is, so that harm can be laid at its door."""

    def __init__(self, area: tuple[int, int] = AREA) -> None:
        """Make an empty world; `reset` and crafter's generator fill it."""
        super().__init__(area, native.constants.materials, CHUNK)

    def reset(self, seed: int | None = None) -> None:
        """Empty the world and start its random stream at the seed."""
        super().reset(seed)
        self._chunks = collections.defaultdict(self.members)
        columns, rows = self.area
        padded = (columns + 2 * _PAD, rows + 2 * _PAD)
        inside = (slice(_PAD, _PAD + columns), slice(_PAD, _PAD + rows))
        self._padded_mat: npt.NDArray[np.uint8] = np.full(padded, EDGE, np.uint8)
        self._padded_obj: npt.NDArray[np.uint32] = np.zeros(padded, np.uint32)
        self._mat_map = self._padded_mat[inside]
        self._obj_map = self._padded_obj[inside]
        self._mat_map[:] = 0
        self._space: dict[native.Chunk, dict[str, int]] = {}
        self.acting = None

    def add(self, obj: native.Object) -> None:
        """Put an object on the map, where no other may be."""
        adopt(obj)
        x, y = obj.pos
        if self._obj_map.item(x, y):
            raise ValueError(f"Cell ({x}, {y}) of the Crafter world is taken.")
        self._obj_map[x, y] = len(self._objects)
        self._objects.append(obj)
        self._chunks[self.chunk_key(obj.pos)].add(obj)

    def move(self, obj: native.Object, pos: Vec) -> None:
        """Move an object to a cell where no other is."""
        if obj.removed:
            return
        old = obj.pos
        self._obj_map[pos[0], pos[1]] = self._obj_map[old[0], old[1]]
        self._obj_map[old[0], old[1]] = 0
        before, after = self.chunk_key(old), self.chunk_key(pos)
        if before != after:
            self._chunks[before].remove(obj)
            self._chunks[after].add(obj)
        obj.pos = pos

    def __setitem__(self, pos: Any, material: str) -> None:
        super().__setitem__(pos, material)
        self._space.pop(self.chunk_key(pos), None)

    def __getitem__(self, pos: Any) -> tuple[str | None, native.Object | None]:
        x, y = pos
        if 0 <= x < self.area[0] and 0 <= y < self.area[1]:
            return (
                self._mat_names[self._mat_map.item(x, y)],
                self._objects[self._obj_map.item(x, y)],
            )
        return None, None

    def nearby(
        self, pos: Any, distance: int
    ) -> tuple[Iterable[str | None], Iterable[native.Object]]:
        """Materials and objects in the square around a cell, cut at the edges of the world.

        Args:
            pos: The cell in the middle.
            distance: Cells to each side; 1 gives a square of three by three.

        Returns:
            The materials, and the objects in the order of the map.
        """
        (x, y), d = pos, distance
        square = (slice(max(0, x - d), x + d + 1), slice(max(0, y - d), y + d + 1))
        materials = sorted(set(self._mat_map[square].ravel().tolist()))
        indices = self._obj_map[square].ravel().tolist()
        objects = (self._objects[index] for index in indices)
        return (
            tuple(self._mat_names[material] for material in materials),
            tuple(obj for obj in objects if obj is not None),
        )

    def fill(self, materials: npt.NDArray[np.uint8]) -> None:
        """Set the material of every cell, columns by rows, as crafter numbers them."""
        self._mat_map[:] = materials
        self._space.clear()

    def materials(self) -> npt.NDArray[np.uint8]:
        """A copy of what `fill` sets."""
        return self._mat_map.copy()

    def space(self, chunk: native.Chunk, material: str) -> int:
        """Count the cells of a material in a chunk.

        Args:
            chunk: First and last column (exclusive), first and last row (exclusive).
            material: Name of the material.

        Returns:
            The number of cells, whatever stands on them.
        """
        counted = self._space.setdefault(chunk, {})
        if material not in counted:
            counted[material] = int(np.count_nonzero(self.mask(*chunk, material)))
        return counted[material]

    def view(self, center: tuple[int, int]) -> tuple[bytes, dict[int, native.Object]]:
        """What lies in the player's view, in reading order, outside the world included.

        Args:
            center: The cell in the middle of the view.

        Returns:
            The material of each cell as crafter numbers them (`EDGE` outside the world), and
            the objects by cell.
        """
        columns, rows = VIEW
        x, y = center[0] + _PAD - columns // 2, center[1] + _PAD - rows // 2
        window = (slice(x, x + columns), slice(y, y + rows))
        indices = self._padded_obj[window].ravel(order="F")
        objects = {}
        for cell in indices.nonzero()[0].tolist():
            obj = self._objects[indices.item(cell)]
            if obj is not None:
                objects[cell] = obj
        return self._padded_mat[window].tobytes(order="F"), objects
