"""What we changed in crafter's world, and why."""

from collections.abc import Callable

import crafter.engine
import crafter.objects
import pytest

from envs.crafter import creatures, native
from envs.crafter.creatures import DOWN, LEFT, RIGHT, STAY, UP, Vec
from envs.crafter.game import Game
from envs.crafter.world import ChunkMembers, World

HandGame = Callable[..., Game]


def test_members_keep_the_order_of_arrival() -> None:
    world = World()
    cows = [creatures.Cow(world, (x, 0)) for x in range(50)]
    members = ChunkMembers()
    for cow in reversed(cows):
        members.add(cow)
    members.add(cows[49])
    members.remove(cows[20])
    members.add(cows[20])
    expected = [cow for cow in reversed(cows) if cow is not cows[20]] + [cows[20]]
    assert list(members) == expected
    assert len(members) == 50
    members.remove(cows[0])
    with pytest.raises(KeyError):
        members.remove(cows[0])


@pytest.mark.parametrize(
    ("player_at", "table_at"),
    [((0, 5), (0, 4)), ((5, 0), (6, 0)), ((0, 0), (1, 1)), ((63, 63), (62, 62))],
)
def test_a_table_at_the_edge_of_the_map_works(
    hand_game: HandGame, player_at: tuple[int, int], table_at: tuple[int, int]
) -> None:
    game = hand_game(player_at, {table_at: "table"})
    game.player.inventory["wood"] = 1
    game.advance("make_wood_pickaxe")
    assert game.player.inventory["wood_pickaxe"] == 1
    assert game.player.inventory["wood"] == 0


def test_crafters_own_lookup_comes_back_empty_there() -> None:
    world = crafter.engine.World((64, 64), native.constants.materials, (12, 12))
    world[0, 4] = "table"
    assert world.nearby((0, 5), 1)[0] == ()
    ours = World()
    ours[0, 4] = "table"
    assert "table" in ours.nearby((0, 5), 1)[0]


def test_away_from_the_edge_both_lookups_agree() -> None:
    stock = crafter.engine.World((64, 64), native.constants.materials, (12, 12))
    ours = World()
    for world in (stock, ours):
        for x in range(64):
            for y in range(64):
                world[x, y] = native.constants.materials[(x * 7 + y * 3) % 12]
    for center in [(1, 1), (5, 9), (62, 62), (40, 1)]:
        assert set(ours.nearby(center, 1)[0]) == set(stock.nearby(center, 1)[0])


def test_objects_nearby_come_in_the_order_of_the_map() -> None:
    world = World()
    cows = [creatures.Cow(world, cell) for cell in [(2, 2), (1, 2), (1, 1), (4, 4)]]
    for cow in cows:
        world.add(cow)
    assert list(world.nearby((2, 2), 1)[1]) == [cows[2], cows[1], cows[0]]


def test_an_occupied_cell_takes_no_second_object() -> None:
    world = World()
    world.add(creatures.Cow(world, (3, 3)))
    with pytest.raises(ValueError, match=r"\(3, 3\)"):
        world.add(creatures.Cow(world, (3, 3)))


def test_space_follows_the_map() -> None:
    world = World()
    world[0, 0] = "grass"
    world[11, 11] = "grass"
    world[12, 0] = "grass"
    assert world.space((0, 12, 0, 12), "grass") == 2
    world[0, 0] = "path"
    assert world.space((0, 12, 0, 12), "grass") == 1
    assert world.space((0, 12, 0, 12), "path") == 1


def test_crafters_own_objects_become_ours_when_added() -> None:
    world = World()
    cow = crafter.objects.Cow(world, (8, 9))
    world.add(cow)
    assert type(cow) is creatures.Cow
    assert cow.pos == Vec((8, 9))
    assert world[8, 9][1] is cow


@pytest.mark.parametrize("target", [(3, 1), (1, 3), (-2, -2), (0, 0), (0, -4), (-5, 2), (2, 2)])
@pytest.mark.parametrize("long_axis", [True, False])
def test_whole_number_arithmetic_agrees_with_crafters(
    target: tuple[int, int], long_axis: bool
) -> None:
    stock_world = crafter.engine.World((64, 64), native.constants.materials, (12, 12))
    stock = crafter.objects.Cow(stock_world, (10, 10))
    ours = creatures.Cow(World(), (10, 10))
    creatures.adopt(ours)
    goal = (10 + target[0], 10 + target[1])
    assert ours.distance(goal) == stock.distance(goal)
    assert ours.toward(goal, long_axis) == tuple(stock.toward(goal, long_axis))


def test_directions_add_and_turn() -> None:
    assert Vec((4, 5)) + UP == (4, 4)
    assert (-LEFT, -UP, -STAY) == (RIGHT, DOWN, STAY)
