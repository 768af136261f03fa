"""A generated world, set down so that it can be picked up again.

Generating a world takes crafter about half a second; playing from a `Snapshot` of it takes none. A
snapshot holds everything the game depends on: the materials, the objects in their order, and the
state of the random stream after generation. A fresh world and one read back from a file are started
by the same `restore`, so they cannot differ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np
import numpy.typing as npt

from envs.crafter import native
from envs.crafter.creatures import Cow, Player, Skeleton, Vec, Zombie
from envs.crafter.world import AREA, World

_KINDS: dict[str, Callable[[World, Vec, Player], native.Object]] = {
    "cow": lambda world, pos, player: Cow(world, pos),
    "zombie": Zombie,
    "skeleton": Skeleton,
}


@dataclass(frozen=True)
class Snapshot:
    """The world of one seed at step 0.

    Args:
        materials: Number of the material of each cell, columns by rows.
        objects: Kind and position of each object but the player, in the order they were made.
        random_key: The 624 words of the Mersenne Twister.
        random_position: Its place among them.
    """

    materials: npt.NDArray[np.uint8]
    objects: tuple[tuple[str, int, int], ...]
    random_key: npt.NDArray[np.uint32]
    random_position: int

    def __post_init__(self) -> None:
        self.materials.flags.writeable = False
        self.random_key.flags.writeable = False

    def restore(self, world: World) -> Player:
        """Make a world what it was at step 0.

        Args:
            world: Any world; what it held is lost.

        Returns:
            The player in it.
        """
        world.reset(0)
        world.random.set_state(("MT19937", self.random_key, self.random_position, 0, 0.0))
        world.fill(self.materials)
        player = Player(world, _center())
        world.add(player)
        for kind, x, y in self.objects:
            world.add(_KINDS[kind](world, Vec((x, y)), player))
        return player


def generate(seed: int) -> Snapshot:
    """Generate the world that ``crafter.Env(seed=seed).reset()`` would make first.

    Args:
        seed: The environment's seed.

    Returns:
        The world at step 0.
    """
    world = World()
    world.reset(world_seed(seed))
    player = Player(world, _center())
    world.add(player)
    native.generate_world(world, player)
    names = {Cow: "cow", Zombie: "zombie", Skeleton: "skeleton"}
    objects = tuple((names[type(obj)], *obj.pos) for obj in world.objects if obj is not player)
    _, key, position, *_ = cast(
        "tuple[str, npt.NDArray[np.uint32], int, int, float]", world.random.get_state()
    )
    return Snapshot(world.materials(), objects, key, position)


def world_seed(seed: int) -> int:
    """The seed of the world in an environment's first episode, as crafter derives it.

    Args:
        seed: The environment's seed.

    Returns:
        Crafter's ``hash((seed, 1)) % (2**31 - 1)``. The hash of a pair of whole numbers does not
        depend on ``PYTHONHASHSEED``.
    """
    return hash((seed, 1)) % (2**31 - 1)


def _center() -> Vec:
    return Vec((AREA[0] // 2, AREA[1] // 2))
