"""What is done in scenes drawn by hand, and what holds in any scene."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.models.heuristic.crafter import Beliefs, Decision, decide
from orchestrator.models.heuristic.crafter.view import DIRECTIONS, NEXT
from tests.support.scenes import MEADOW, draw

ACTIONS = frozenset(
    [
        "noop",
        "move_left",
        "move_right",
        "move_up",
        "move_down",
        "do",
        "sleep",
        "place_stone",
        "place_table",
        "place_furnace",
        "place_plant",
        "make_wood_pickaxe",
        "make_stone_pickaxe",
        "make_iron_pickaxe",
        "make_wood_sword",
        "make_stone_sword",
        "make_iron_sword",
    ]
)
TOOLS = "wood_pickaxe 1, stone_pickaxe 1, iron_pickaxe 1, wood_sword 1, stone_sword 1, iron_sword 1"
ALL_DONE = frozenset(
    [
        "collect_coal",
        "collect_diamond",
        "collect_drink",
        "collect_iron",
        "collect_sapling",
        "collect_stone",
        "collect_wood",
        "defeat_skeleton",
        "defeat_zombie",
        "eat_cow",
        "eat_plant",
        "make_iron_pickaxe",
        "make_iron_sword",
        "make_stone_pickaxe",
        "make_stone_sword",
        "make_wood_pickaxe",
        "make_wood_sword",
        "place_furnace",
        "place_plant",
        "place_stone",
        "place_table",
        "wake_up",
    ]
)
EARLY = Beliefs(done=frozenset({"collect_sapling", "place_plant", "collect_drink", "eat_cow"}))


def rows(*lines: str) -> str:
    """Seven rows as one drawing."""
    return "\n".join(lines)


BESIDE_TREE = rows(
    ".........",
    ".........",
    ".........",
    "....@T...",
    ".........",
    ".........",
    ".........",
)


def test_a_tree_is_faced_and_then_felled() -> None:
    assert decide(draw(BESIDE_TREE), EARLY).action == "move_right"
    assert decide(draw(BESIDE_TREE, facing="right"), EARLY).action == "do"


def test_wood_for_a_table_and_two_tools_makes_a_table() -> None:
    view = draw(BESIDE_TREE, facing="down", carrying="wood 4")
    assert decide(view, EARLY).action == "place_table"


@pytest.mark.parametrize(
    ("carrying", "action"),
    [
        ("wood 2", "make_wood_pickaxe"),
        ("wood 1, wood_pickaxe 1", "make_wood_sword"),
        ("wood 2, stone 2, wood_pickaxe 1, wood_sword 1", "make_stone_pickaxe"),
        ("wood 1, stone 1, wood_pickaxe 1, stone_pickaxe 1, wood_sword 1", "make_stone_sword"),
    ],
)
def test_at_a_table_tools_are_made(carrying: str, action: str) -> None:
    scene = rows(
        ".........",
        ".........",
        "...t.....",
        "....@....",
        ".........",
        ".........",
        ".........",
    )
    assert decide(draw(scene, carrying=carrying), EARLY).action == action


def test_iron_tools_need_a_furnace_as_well() -> None:
    scene = rows(
        ".........",
        ".........",
        "...tf....",
        "....@....",
        ".........",
        ".........",
        ".........",
    )
    carrying = (
        "wood 1, coal 1, iron 1, wood_pickaxe 1, stone_pickaxe 1, wood_sword 1, stone_sword 1"
    )
    assert decide(draw(scene, carrying=carrying), EARLY).action == "make_iron_pickaxe"
    without = draw(scene.replace("f", "."), carrying=carrying)
    assert decide(without, EARLY).action != "make_iron_pickaxe"


def test_the_thirsty_go_to_water_and_drink_until_full() -> None:
    scene = rows(
        ".........",
        ".........",
        ".........",
        "....@..~.",
        ".........",
        ".........",
        ".........",
    )
    thirsty = (9, 9, 2, 9)
    assert decide(draw(scene, vitals=thirsty), EARLY).action == "move_right"
    at_shore = scene.replace("@..~", "@~~~")
    assert decide(draw(at_shore, vitals=thirsty, facing="right"), EARLY).action == "do"
    nearly = draw(at_shore, vitals=(9, 9, 8, 9), facing="right")
    assert decide(nearly, Beliefs(done=ALL_DONE)).action == "do"


def test_remembered_water_is_worth_going_to_only_with_a_position() -> None:
    thirsty = draw(MEADOW, vitals=(9, 9, 2, 9), facing="up", carrying=TOOLS)
    places = (("water", (-20, 0)),)
    known = Beliefs(position=(0, 0), done=ALL_DONE, places=places)
    decision = decide(thirsty, known)
    assert (decision.action, decision.goal) == ("move_left", "collect_drink")
    lost = Beliefs(done=ALL_DONE, places=places)
    assert decide(thirsty, lost).goal == "find_water"
    assert "water" in decide(thirsty, lost).wants


def test_a_zombie_alongside_is_faced_and_struck() -> None:
    scene = rows(
        ".........",
        ".........",
        ".........",
        "...Z@....",
        ".........",
        ".........",
        ".........",
    )
    assert decide(draw(scene)).action == "move_left"
    assert decide(draw(scene, facing="left")).action == "do"


def test_an_arrow_is_dodged_sideways() -> None:
    scene = rows(
        ".........",
        ".........",
        ".........",
        "...>@....",
        "....#....",
        ".........",
        ".........",
    )
    assert decide(draw(scene)) == Decision("move_up", "dodge")


ROOM = rows(
    "#########",
    "#########",
    "####_####",
    "####@####",
    "#########",
    "#########",
    "#########",
)


def test_the_tired_sleep_between_four_walls() -> None:
    assert decide(draw(ROOM, vitals=(9, 9, 9, 3)), EARLY).action == "sleep"


def test_an_open_side_is_closed_before_sleeping() -> None:
    tunnel = rows(
        "####.####",
        "####.####",
        "####.####",
        "####@####",
        "####_####",
        "#########",
        "#########",
    )
    carrying = "stone 3, wood_pickaxe 1"
    tired = (9, 9, 9, 2)
    view = draw(tunnel, vitals=tired, carrying=carrying, facing="up", night=True)
    decision = decide(view, EARLY)
    assert (decision.action, decision.goal) == ("place_stone", "shelter")
    # Looking the other way, one step up the tunnel turns the player to the opening.
    turned = draw(tunnel, vitals=tired, carrying=carrying, facing="down", night=True)
    assert decide(turned, EARLY).action == "move_up"


def test_asleep_there_is_nothing_to_decide() -> None:
    assert decide(draw(ROOM, asleep=True, vitals=(9, 9, 9, 4))).action == "sleep"


def test_a_sapling_in_the_hand_is_set_where_few_sides_are_open() -> None:
    scene = rows(
        ".........",
        "...###...",
        "...#.#...",
        "....@....",
        ".........",
        ".........",
        ".........",
    )
    carrying = "sapling 1, stone 2, wood_pickaxe 1"
    view = draw(scene, facing="up", carrying=carrying)
    beliefs = Beliefs(done=frozenset({"collect_sapling", "place_stone", "eat_cow"}))
    assert decide(view, beliefs).action == "place_plant"


def test_what_is_seen_to_be_placed_is_not_looked_for_again() -> None:
    scene = rows(
        ".........",
        ".........",
        "..p......",
        "....@....",
        ".........",
        ".........",
        ".........",
    )
    assert decide(draw(MEADOW)).goal == "collect_sapling"
    assert decide(draw(scene)).goal != "collect_sapling"


def test_exploration_prefers_where_nobody_has_been() -> None:
    everywhere_but_left = frozenset((x, y) for x in range(-3, 4) for y in range(-4, 5) if x >= 0)
    beliefs = Beliefs(
        position=(0, 0),
        done=ALL_DONE - {"collect_diamond"},
        explored=everywhere_but_left,
    )
    view = draw(MEADOW, facing="up", carrying=TOOLS)
    decision = decide(view, beliefs)
    assert (decision.action, decision.goal) == ("move_left", "explore")
    assert decision.wants[0] == "diamond"


GLYPHS = ".:_~#TcidLtfCZK<>^vpPX"
INVENTORY = st.dictionaries(
    st.sampled_from(
        [
            *("sapling", "wood", "stone", "coal", "iron", "diamond"),
            *("wood_pickaxe", "stone_pickaxe", "iron_pickaxe"),
            *("wood_sword", "stone_sword", "iron_sword"),
        ]
    ),
    st.integers(1, 9),
)
PLACE = st.tuples(st.integers(-40, 40), st.integers(-40, 40))
KINDS = st.sampled_from(
    ["water", "tree", "stone", "coal", "iron", "diamond", "table", "furnace", "cow", "sapling"]
)
BELIEFS = st.builds(
    Beliefs,
    position=st.none() | PLACE,
    done=st.none() | st.frozensets(st.sampled_from(sorted(ALL_DONE))),
    places=st.lists(st.tuples(KINDS, PLACE), max_size=8).map(tuple),
    explored=st.frozensets(PLACE, max_size=8),
    warning=st.booleans(),
    step=st.none() | st.integers(0, 2000),
)


@st.composite
def scenes(draw_from: st.DrawFn) -> str:
    glyphs = draw_from(st.lists(st.sampled_from(GLYPHS), min_size=63, max_size=63))
    glyphs[31] = "@"
    return rows(*("".join(glyphs[n : n + 9]) for n in range(0, 63, 9)))


@given(
    drawing=scenes(),
    facing=st.sampled_from(DIRECTIONS),
    vitals=st.tuples(*[st.integers(0, 9)] * 4),
    inventory=INVENTORY,
    night=st.booleans(),
    asleep=st.booleans(),
    beliefs=BELIEFS,
)
def test_in_any_scene_one_of_the_actions_is_chosen_and_never_lava(
    drawing: str,
    facing: str,
    vitals: tuple[int, int, int, int],
    inventory: dict[str, int],
    night: bool,
    asleep: bool,
    beliefs: Beliefs,
) -> None:
    carrying = ", ".join(f"{name} {count}" for name, count in inventory.items()) or "nothing"
    view = draw(
        drawing, facing=facing, vitals=vitals, carrying=carrying, night=night, asleep=asleep
    )
    before = copy.deepcopy(view)
    decision = decide(view, beliefs)
    assert decision.action in ACTIONS
    if decision.action.startswith("move_"):
        target = NEXT[DIRECTIONS.index(decision.action[5:])]
        assert view.grid[target] != "L"
    assert view == before
    assert decide(copy.deepcopy(view), copy.deepcopy(beliefs)) == decision
