"""Crafter's objects with whole-number positions.

Crafter keeps every position as a two-element array, and most of a step goes into arithmetic on
these. The classes here replace positions by `Vec`, a pair with the three operations that crafter's
own rules need, and the few methods that compute on positions. What an object *does* stays
crafter's: no `update` is written here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from envs.crafter import native


class Vec(tuple[int, int]):
    """A position or a direction: x grows to the right, y downwards."""

    __slots__ = ()

    def __add__(self, other: Sequence[int]) -> Vec:  # type: ignore[override]
        """Add by component, as crafter expects of its arrays."""
        return Vec((self[0] + other[0], self[1] + other[1]))

    def __neg__(self) -> Vec:
        """Turn round."""
        return Vec((-self[0], -self[1]))


LEFT, RIGHT, UP, DOWN = Vec((-1, 0)), Vec((1, 0)), Vec((0, -1)), Vec((0, 1))
STAY = Vec((0, 0))


class _OnGrid(native.Object):
    """Crafter's arithmetic on positions, in whole numbers."""

    pos: Vec

    def move(self, direction: Sequence[int]) -> bool:
        target = self.pos + direction
        if self.is_free(target):
            self.world.move(self, target)
            return True
        return False

    def distance(self, target: Any) -> int:
        x: int
        y: int
        x, y = getattr(target, "pos", target)
        own_x, own_y = self.pos
        return abs(x - own_x) + abs(y - own_y)

    def toward(self, target: Any, long_axis: bool = True) -> Vec:
        x, y = getattr(target, "pos", target)
        dx, dy = x - self.pos[0], y - self.pos[1]
        along_x = abs(dx) > abs(dy) if long_axis else abs(dx) <= abs(dy)
        if along_x:
            return RIGHT if dx > 0 else LEFT if dx < 0 else STAY
        return DOWN if dy > 0 else UP if dy < 0 else STAY


class Player(_OnGrid, native.Player):
    """The player, who also remembers what brought the health to nothing."""

    killer: str | None = None
    _WALKABLE = (*native.constants.walkable, "lava")

    @property
    def walkable(self) -> Sequence[str]:
        """Ground that the player can enter; lava kills."""
        return self._WALKABLE

    @property
    def health(self) -> int:
        """Health, from 0 (dead) to 9."""
        return self.inventory["health"]

    @health.setter
    def health(self, value: int) -> None:
        self.inventory["health"] = max(0, value)
        if value > 0:
            # Crafter can heal a player in the very step that hurt them fatally.
            self.killer = None
        elif self.killer is None:
            self.killer = self._blame()

    def _blame(self) -> str:
        acting = self.world.acting
        if isinstance(acting, native.Zombie):
            return "zombie"
        if isinstance(acting, native.Arrow):
            return "arrow"
        if self.world[self.pos][0] == "lava":
            return "lava"
        lacking = {"food": "hunger", "drink": "thirst", "energy": "exhaustion"}
        causes = [word for vital, word in lacking.items() if self.inventory[vital] <= 0]
        return " and ".join(causes) or "unknown"


class Cow(_OnGrid, native.Cow):
    """A cow."""


class Zombie(_OnGrid, native.Zombie):
    """A zombie."""


class Skeleton(_OnGrid, native.Skeleton):
    """A skeleton."""


class Arrow(_OnGrid, native.Arrow):
    """An arrow in flight."""


class Plant(_OnGrid, native.Plant):
    """A sapling that was planted, ripe or not."""


_OURS: dict[type[native.Object], type[native.Object]] = {
    native.Player: Player,
    native.Cow: Cow,
    native.Zombie: Zombie,
    native.Skeleton: Skeleton,
    native.Arrow: Arrow,
    native.Plant: Plant,
}


def adopt(obj: native.Object) -> None:
    """Give an object that crafter's own code made the class of this module, in place.

    Crafter names its classes where it makes an object (a skeleton its arrow, say); changing the
    class of the finished object spares a copy of those rules.

    Args:
        obj: An object of crafter's own class, or of ours already.
    """
    obj.pos = Vec((int(obj.pos[0]), int(obj.pos[1])))
    ours = _OURS.get(type(obj))
    if ours is not None:
        obj.__class__ = ours
