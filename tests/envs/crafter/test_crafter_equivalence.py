"""Our game beside crafter's own, step by step.

The reference is `crafter.Env` with two things changed: chunks hold their objects in the order of
arrival, and no picture is made (at night a picture draws from the world's random stream). The
player of both games is kept alive and supplied by the same hand, so that a long stretch of play
meets crafting, plants, caves, arrows, several nights and hundreds of births and removals.
"""

import collections
import random
from typing import Any

import crafter
import crafter.engine
import numpy as np
import pytest

from envs.crafter.game import Game
from envs.crafter.snapshot import generate

STEPS = 2_000
ACTIONS = tuple(crafter.constants.actions)


class _InOrder(dict[Any, None]):
    def add(self, obj: Any) -> None:
        self[obj] = None

    def remove(self, obj: Any) -> None:
        del self[obj]


class _OrderedWorld(crafter.engine.World):  # type: ignore[misc]
    def reset(self, seed: int | None = None) -> None:
        super().reset(seed)
        self._chunks = collections.defaultdict(_InOrder)


class _Reference(crafter.Env):  # type: ignore[misc]
    def __init__(self, seed: int) -> None:
        super().__init__(seed=seed, length=0)
        self._world = _OrderedWorld(self._area, crafter.constants.materials, (12, 12))
        self._sem_view = lambda: None

    def _obs(self) -> None:
        return None


def _objects(world: Any) -> list[tuple[Any, ...]]:
    extras = ("cooldown", "reload", "grown", "facing", "sleeping")
    return [
        (
            type(obj).__name__,
            tuple(int(part) for part in obj.pos),
            obj.health,
            *(
                tuple(v) if isinstance(v := getattr(obj, x, None), np.ndarray) else v
                for x in extras
            ),
        )
        for obj in world.objects
    ]


def _chunks(world: Any) -> list[tuple[tuple[int, ...], list[tuple[str, tuple[int, ...]]]]]:
    return [
        (
            tuple(int(bound) for bound in chunk),
            [(type(obj).__name__, tuple(int(part) for part in obj.pos)) for obj in members],
        )
        for chunk, members in world.chunks.items()
    ]


def _assert_same(reference: Any, game: Game) -> None:
    theirs, ours = reference._world, game.world
    assert _objects(ours) == _objects(theirs)
    assert _chunks(ours) == _chunks(theirs)
    assert (ours._mat_map == theirs._mat_map).all()
    assert (ours._obj_map == theirs._obj_map).all()
    assert ours.daylight == theirs.daylight
    _assert_same_stream(theirs, ours)


def _assert_same_stream(theirs: Any, ours: Any) -> None:
    _, key, place, *rest = theirs.random.get_state()
    _, our_key, our_place, *our_rest = ours.random.get_state()
    assert (our_place, our_rest) == (place, rest)
    assert (our_key == key).all()


def _actions(seed: int) -> list[str]:
    """Random actions in which a way is often kept for a while, to get about."""
    draw = random.Random(seed)
    actions: list[str] = []
    while len(actions) < STEPS:
        if draw.random() < 0.3:
            actions += [draw.choice(ACTIONS[1:5])] * draw.randrange(1, 12)
        else:
            actions.append(draw.choice(ACTIONS))
    return actions[:STEPS]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 7, 123, 2**31 - 1])
def test_the_same_game_as_crafters_own(seed: int) -> None:
    reference = _Reference(seed)
    reference.reset()
    game = Game()
    game.begin(generate(seed))
    _assert_same(reference, game)
    seen: collections.Counter[str] = collections.Counter()
    for step, action in enumerate(_actions(seed)):
        for player in (reference._player, game.player):
            if step % 20 == 0:
                player.inventory.update(dict.fromkeys(player.inventory, 8))
        reference.step(ACTIONS.index(action))
        game.advance(action)
        theirs, ours = reference._player, game.player
        assert ours.achievements == theirs.achievements, step
        assert ours.inventory == theirs.inventory, step
        assert ours.pos == tuple(theirs.pos), step
        _assert_same_stream(reference._world, game.world)
        if step % 50 == 0:
            _assert_same(reference, game)
        seen.update(type(obj).__name__ for obj in game.world.objects)
    _assert_same(reference, game)
    # The comparison is worth something only if all of this was met.
    assert set(seen) == {"Player", "Cow", "Zombie", "Skeleton", "Arrow", "Plant"}
    assert game.world._objects.count(None) > 200


def test_the_same_first_world_and_the_same_last_breath() -> None:
    reference = _Reference(3)
    reference.reset()
    game = Game()
    game.begin(generate(3))
    draw = random.Random(3)
    dead = False
    while not dead:
        action = draw.choice(ACTIONS)
        _, _, dead, _ = reference.step(ACTIONS.index(action))
        game.advance(action)
        assert (game.player.health <= 0) is bool(dead)
    _assert_same(reference, game)
