"""What we use of crafter 1.8, typed; anything else of it is out of bounds for this room."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Point = tuple[int, int]
Chunk = tuple[int, int, int, int]
Image = npt.NDArray[np.uint8]

class _Need(Protocol):
    def __getitem__(self, key: str, /) -> Any: ...
    def get(self, key: str, default: Any = ..., /) -> Any: ...

class constants:
    root: Path
    actions: list[str]
    materials: list[str]
    walkable: list[str]
    achievements: list[str]
    items: dict[str, dict[str, int]]
    collect: dict[str, _Need]
    place: dict[str, _Need]
    make: dict[str, _Need]

class World:
    area: Point
    random: np.random.RandomState
    daylight: float
    _chunk_size: Point
    _chunks: Any
    _objects: list[Object | None]
    _mat_ids: dict[str | None, int]
    _mat_names: dict[int, str | None]
    _mat_map: npt.NDArray[np.uint8]
    _obj_map: npt.NDArray[np.uint32]
    def __init__(self, area: Point, materials: Sequence[str], chunk_size: Point) -> None: ...
    def reset(self, seed: int | None = ...) -> None: ...
    @property
    def objects(self) -> list[Object]: ...
    @property
    def chunks(self) -> dict[Chunk, Iterable[Object]]: ...
    def add(self, obj: Object) -> None: ...
    def remove(self, obj: Object) -> None: ...
    def move(self, obj: Object, pos: Any) -> None: ...
    def __setitem__(self, pos: Any, material: str) -> None: ...
    def __getitem__(self, pos: Any) -> tuple[str | None, Object | None]: ...
    def nearby(self, pos: Any, distance: int) -> tuple[Iterable[str | None], Iterable[Object]]: ...
    def mask(
        self, xmin: int, xmax: int, ymin: int, ymax: int, material: str
    ) -> npt.NDArray[np.bool_]: ...
    def chunk_key(self, pos: Any) -> Chunk: ...

class Object:
    world: Any
    pos: Any
    random: np.random.RandomState
    inventory: dict[str, int]
    removed: bool
    def __init__(self, world: World, pos: Any) -> None: ...
    @property
    def walkable(self) -> Sequence[str]: ...
    @property
    def health(self) -> int: ...
    @health.setter
    def health(self, value: int) -> None: ...
    def move(self, direction: Any) -> bool: ...
    def is_free(self, target: Any, materials: Sequence[str] | None = ...) -> bool: ...
    def distance(self, target: Any) -> int: ...
    def toward(self, target: Any, long_axis: bool = ...) -> Any: ...
    def update(self) -> None: ...

class Player(Object):
    facing: Point
    achievements: dict[str, int]
    action: str
    sleeping: bool

class Cow(Object): ...

class Zombie(Object):
    player: Player
    def __init__(self, world: World, pos: Any, player: Player) -> None: ...

class Skeleton(Object):
    player: Player
    def __init__(self, world: World, pos: Any, player: Player) -> None: ...

class Arrow(Object):
    facing: Any
    def __init__(self, world: World, pos: Any, facing: Any) -> None: ...

class Plant(Object):
    grown: int
    @property
    def ripe(self) -> bool: ...

class Textures:
    def __init__(self, directory: Path) -> None: ...

class LocalView:
    def __init__(self, world: World, textures: Textures, grid: Sequence[int]) -> None: ...

class ItemView:
    def __init__(self, textures: Textures, grid: Sequence[int]) -> None: ...

class Env:
    _view: npt.NDArray[np.int_]
    _world: Any
    _player: Any
    _step: int
    _local_view: LocalView
    _item_view: ItemView
    def render(self, size: Point | None = ...) -> Image: ...
    def _update_time(self) -> None: ...
    def _balance_chunk(self, chunk: Chunk, objs: Iterable[Object]) -> None: ...
    def _balance_object(
        self,
        chunk: Chunk,
        objs: Iterable[Object],
        cls: type[Object],
        material: str,
        span_dist: int,
        despan_dist: int,
        spawn_prob: float,
        despawn_prob: float,
        ctor: Callable[[Any], Object],
        target_fn: Callable[[int, int], tuple[float, float]],
    ) -> None: ...

def generate_world(world: World, player: Player) -> None: ...
