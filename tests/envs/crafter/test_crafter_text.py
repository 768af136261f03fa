"""The observation, against text worked out by hand."""

from collections.abc import Callable

import pytest

from envs.crafter import creatures
from envs.crafter.creatures import DOWN, LEFT, RIGHT, UP, Vec
from envs.crafter.game import Game
from envs.crafter.text import describe

HandGame = Callable[..., Game]

FULL = """\
You stand on grass and face tree (left).
It is day.
Next to you: up grass, right sand, down water, left tree.
Nearest:
- grass: 1 step (1 up)
- sand: 1 step (1 right)
- tree: 1 step (1 left)
- water: 1 step (1 down)
- cow: 3 steps (2 right, 1 up)
- path: 3 steps (3 down)
- ripe_plant: 3 steps (1 left, 2 down)
- table: 3 steps (3 right)
- arrow: 4 steps (2 left, 2 up)
- furnace: 4 steps (4 right)
- sapling: 4 steps (2 left, 2 down)
- stone: 4 steps (1 left, 3 down)
- coal: 5 steps (2 left, 3 down)
- diamond: 6 steps (3 left, 3 down)
- iron: 7 steps (4 right, 3 up)
- lava: 7 steps (4 left, 3 down)
- skeleton: 7 steps (4 right, 3 down)
- zombie: 7 steps (4 left, 3 up)
Map (you are @):
Z.......i
.<>......
......C..
...T@:.tf
....~....
..pP..^v.
Ldc#_...K
Status: health 9, food 8, drink 7, energy 6.
Inventory: sapling 1, wood 3, wood_pickaxe 1."""


def test_every_kind_of_thing_has_its_word_its_glyph_and_its_way(hand_game: HandGame) -> None:
    ground = {
        (9, 10): "tree", (11, 10): "sand", (10, 11): "water", (13, 10): "table",
        (14, 10): "furnace", (14, 7): "iron", (6, 13): "lava", (7, 13): "diamond",
        (8, 13): "coal", (9, 13): "stone", (10, 13): "path",
    }  # fmt: skip
    game = hand_game((10, 10), ground)
    world, player = game.world, game.player
    ripe = creatures.Plant(world, (9, 12))
    ripe.grown = 301
    for obj in (
        ripe,
        creatures.Plant(world, (8, 12)),
        creatures.Cow(world, (12, 9)),
        creatures.Zombie(world, (6, 7), player),
        creatures.Skeleton(world, (14, 13), player),
        creatures.Arrow(world, (7, 8), LEFT),
        creatures.Arrow(world, (8, 8), RIGHT),
        creatures.Arrow(world, (12, 12), UP),
        creatures.Arrow(world, (13, 12), DOWN),
    ):
        world.add(obj)
    player.facing = LEFT
    player.inventory.update(food=8, drink=7, energy=6, sapling=1, wood=3, wood_pickaxe=1)
    assert describe(world, player) == FULL


CORNERS = [
    pytest.param(
        (0, 0), UP,
        "face edge (up)",
        "Next to you: up edge, right grass, down grass, left edge.",
        "- edge: 1 step (1 up)\n- grass: 1 step (1 right)",
        ["XXXXXXXXX"] * 3 + ["XXXX@...."] + ["XXXX....."] * 3,
        id="north-west",
    ),
    pytest.param(
        (63, 0), RIGHT,
        "face edge (right)",
        "Next to you: up edge, right edge, down grass, left grass.",
        "- edge: 1 step (1 up)\n- grass: 1 step (1 left)",
        ["XXXXXXXXX"] * 3 + ["....@XXXX"] + [".....XXXX"] * 3,
        id="north-east",
    ),
    pytest.param(
        (0, 63), LEFT,
        "face edge (left)",
        "Next to you: up grass, right grass, down edge, left edge.",
        "- edge: 1 step (1 left)\n- grass: 1 step (1 up)",
        ["XXXX....."] * 3 + ["XXXX@...."] + ["XXXXXXXXX"] * 3,
        id="south-west",
    ),
    pytest.param(
        (63, 63), DOWN,
        "face edge (down)",
        "Next to you: up grass, right edge, down edge, left grass.",
        "- edge: 1 step (1 right)\n- grass: 1 step (1 up)",
        [".....XXXX"] * 3 + ["....@XXXX"] + ["XXXXXXXXX"] * 3,
        id="south-east",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("at", "facing", "faced", "neighbours", "nearest", "rows"), CORNERS)
def test_nothing_is_lost_in_the_corners_of_the_map(
    hand_game: HandGame,
    at: tuple[int, int],
    facing: Vec,
    faced: str,
    neighbours: str,
    nearest: str,
    rows: list[str],
) -> None:
    game = hand_game(at)
    game.player.facing = facing
    assert describe(game.world, game.player) == "\n".join(
        [
            f"You stand on grass and {faced}.",
            "It is day.",
            neighbours,
            "Nearest:",
            nearest,
            "Map (you are @):",
            *rows,
            "Status: health 9, food 9, drink 9, energy 9.",
            "Inventory: nothing.",
        ]
    )


def test_a_creature_at_the_edge_is_seen(hand_game: HandGame) -> None:
    game = hand_game((2, 1), {(0, 0): "diamond"})
    game.world.add(creatures.Zombie(game.world, (0, 1), game.player))
    lines = describe(game.world, game.player).splitlines()
    assert "- zombie: 2 steps (2 left)" in lines
    assert "- diamond: 3 steps (2 left, 1 up)" in lines
    start = lines.index("Map (you are @):") + 1
    assert lines[start : start + 4] == ["XXXXXXXXX", "XXXXXXXXX", "XXd......", "XXZ.@...."]


def test_sleep_and_night_are_said(hand_game: HandGame) -> None:
    game = hand_game((30, 30), {(30, 30): "sand"})
    game.player.sleeping = True
    game.world.daylight = 0.49
    lines = describe(game.world, game.player).splitlines()
    assert lines[:3] == [
        "You are asleep.",
        "You stand on sand and face grass (down).",
        "It is night.",
    ]
    game.player.sleeping = False
    game.world.daylight = 0.5
    assert describe(game.world, game.player).splitlines()[:2] == [
        "You stand on sand and face grass (down).",
        "It is day.",
    ]


def test_night_comes_and_goes_with_crafters_clock(hand_game: HandGame) -> None:
    # Daylight is 1 - |cos(pi (t/300 + 0.3))|**3: below one half from t = 148 to t = 272.
    game = hand_game((30, 30))
    dark = []
    for step in range(1, 301):
        game.advance("noop")
        game.player.health = 9
        if "It is night." in describe(game.world, game.player):
            dark.append(step)
    assert dark == list(range(148, 273))


def test_what_one_faces_is_the_creature_and_not_its_ground(hand_game: HandGame) -> None:
    game = hand_game((20, 20), {(20, 21): "path"})
    game.world.add(creatures.Skeleton(game.world, (20, 21), game.player))
    text = describe(game.world, game.player)
    assert text.startswith("You stand on grass and face skeleton (down).")
    assert "path" not in text


def test_describing_draws_nothing_from_the_random_stream(hand_game: HandGame) -> None:
    game = hand_game((5, 5))
    before = game.world.random.get_state(legacy=False)
    describe(game.world, game.player)
    after = game.world.random.get_state(legacy=False)
    assert before["state"]["pos"] == after["state"]["pos"]
    assert (before["state"]["key"] == after["state"]["key"]).all()
