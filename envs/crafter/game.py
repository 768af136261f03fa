"""Crafter's rules, played without a picture.

`Game` is crafter's `Env` with everything left out that a text player does not need: the picture,
the map of the whole world and the copies of inventory and achievements that every step of crafter
makes. What happens in the world, and every random draw, is the same (but for the order of chunk
members and the edges, see `world`); a test plays both side by side.

One thing would not be the same with pictures: at night crafter draws the noise of the picture from
the world's own random stream, so there a picture that is made changes the game. Here none is made
while playing, and one made for a replay gives the stream back as it found it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from envs.crafter import native
from envs.crafter.creatures import Player
from envs.crafter.snapshot import Snapshot
from envs.crafter.world import VIEW, World

_BALANCE_EVERY = 10
_PICTURE_GRID = (9, 9)
"""Crafter's picture: the view, and the inventory in the rows below it."""


class Game(native.Env):
    """One game of Crafter.

    Crafter's own constructor is not called: it loads every texture.
    """

    _world: World
    _player: Player

    def __init__(self) -> None:
        """Make an empty game; `begin` starts it."""
        self._world = World()
        self._view = np.array(_PICTURE_GRID)
        self._reach = 2 * max(_PICTURE_GRID)
        self._textures: native.Textures | None = None
        self._step = 0

    @property
    def world(self) -> World:
        """The world as it is now."""
        return self._world

    @property
    def player(self) -> Player:
        """The player as they are now."""
        return self._player

    @property
    def steps(self) -> int:
        """Actions played since the start."""
        return self._step

    def begin(self, start: Snapshot) -> None:
        """Start the game from a generated world.

        Args:
            start: The world and the state of its random stream.
        """
        self._step = 0
        self._player = start.restore(self._world)
        self._update_time()

    def advance(self, action: str) -> None:
        """Play one action and let everything near the player take its turn.

        Args:
            action: One of crafter's action names.
        """
        world, player = self._world, self._player
        self._step += 1
        self._update_time()
        player.action = action
        for obj in world.objects:
            if player.distance(obj) < self._reach:
                world.acting = obj
                obj.update()
        if self._step % _BALANCE_EVERY == 0:
            for chunk, members in world.chunks.items():
                self._balance_chunk(chunk, members)

    def _balance_object(
        self,
        chunk: native.Chunk,
        objs: Iterable[native.Object],
        cls: type[native.Object],
        material: str,
        span_dist: int,
        despan_dist: int,
        spawn_prob: float,
        despawn_prob: float,
        ctor: Callable[[tuple[int, int]], native.Object],
        target_fn: Callable[[int, int], tuple[float, float]],
    ) -> None:
        """Crafter's method, but the cells of a chunk are listed only when a creature is born."""
        world, player = self._world, self._player
        random = world.random
        creatures = [obj for obj in objs if isinstance(obj, cls)]
        fewest, most = target_fn(len(creatures), world.space(chunk, material))
        if len(creatures) < int(fewest) and random.uniform() < spawn_prob:
            columns, rows = world.mask(*chunk, material).nonzero()
            place = random.randint(0, len(columns))
            pos = (chunk[0] + int(columns[place]), chunk[2] + int(rows[place]))
            if world[pos][1] is None and player.distance(pos) >= span_dist:
                world.add(ctor(pos))
        elif len(creatures) > int(most) and random.uniform() < despawn_prob:
            creature = creatures[random.randint(0, len(creatures))]
            if player.distance(creature.pos) >= despan_dist:
                world.remove(creature)

    def picture(self, size: tuple[int, int]) -> npt.NDArray[np.uint8]:
        """Crafter's own picture of the scene; the random stream stays where it was.

        Args:
            size: Width and height in pixels.

        Returns:
            Rows by columns by red, green and blue.
        """
        if self._textures is None:
            self._textures = native.Textures(native.constants.root / "assets")
            rest = (_PICTURE_GRID[0], _PICTURE_GRID[1] - VIEW[1])
            self._local_view = native.LocalView(self._world, self._textures, VIEW)
            self._item_view = native.ItemView(self._textures, rest)
        state = self._world.random.get_state()
        try:
            return self.render(size)
        finally:
            self._world.random.set_state(state)
