"""What the player does in scenes drawn by hand: answers, dangers, errands, the unknown."""

from __future__ import annotations

import pytest

from orchestrator.models.heuristic.nethack.facts import Facts
from tests.support.dungeons import decided

# --- questions ----------------------------------------------------------------------------------

PACK = (
    ("a", "a long sword (weapon in hand)"),
    ("d", "2 uncursed food rations"),
    ("f", "a potion of healing"),
    ("g", "a wand of cold"),
)


@pytest.mark.parametrize(
    ("message", "last", "action"),
    [
        ("What do you want to eat? [bd or ?*]", "eat", "d"),
        ("What do you want to eat? [ac-e or ?*]", "eat", "d"),  # c-e is c, d and e
        ("What do you want to drink? [f or ?*]", "quaff", "f"),
        ("What do you want to zap? [g or ?*]", "zap", "g"),
        ("Are you sure you want to pray? [yn] (n)", "pray", "y"),
        ("You are having a hard time. Stop eating? [yn] (n)", "y", "y"),
        ("Really attack the peaceful watchman? [yn] (n)", "west", "n"),
        ("What do you want to name?", "call", "escape"),
    ],
)
def test_a_question_is_answered(message: str, last: str, action: str) -> None:
    assert decided("@..", None, last, message=message, asked=True, inventory=PACK).action == action


def test_menus_and_lines_of_text_are_left() -> None:
    assert decided("@..", menu="a - everything").action == "escape"
    assert decided("@..", typing=True, message="For what do you wish?").action == "escape"


def test_who_travels_points_at_the_stairs_and_goes() -> None:
    asked = "Where do you want to travel to? (For instructions type a ?)"
    first = decided("@...>", None, "travel", message=asked, cursor=(11, 5))
    assert first.action == "down"  # the key that jumps to a staircase
    assert decided("@...>", None, "down", message=asked, cursor=(14, 5)).action == "."


# --- wounds, hunger, creatures ------------------------------------------------------------------


def test_a_creature_beside_is_hit_and_one_further_off_is_not() -> None:
    assert decided("..@r..").action == "east"
    assert decided("..@r..").goal == "fight giant rat"
    assert not decided("..@..r").goal.startswith("fight")


@pytest.mark.parametrize("sign", ["d", "w", "e", "s", "F"])
def test_friends_statues_and_what_is_worse_hit_are_let_be(sign: str) -> None:
    assert not decided(f"..@{sign}..").goal.startswith("fight")


def test_two_attackers_are_met_where_only_one_can_come() -> None:
    drawing = """
        -----
     ###.@rr|
        |...|
        -----
    """
    decision = decided(drawing)
    assert (decision.goal, decision.action) == ("fall back", "west")


@pytest.mark.parametrize(
    ("turn", "prayed", "action"),
    [(301, None, "pray"), (300, None, "quaff"), (2000, 999, "pray"), (1999, 999, "quaff")],
)
def test_the_badly_wounded_pray_unless_it_is_too_soon(
    turn: int, prayed: int | None, action: str
) -> None:
    facts = Facts(prayed=prayed)
    chosen = decided("@..", facts, turn=turn, hit_points=(1, 12), inventory=PACK)
    assert chosen.action == action


def test_the_hungry_eat_what_they_carry() -> None:
    assert decided("@..", state="hungry", inventory=PACK).action == "eat"
    assert decided("@..", state="hungry").action != "eat"
    assert decided("@..", state="weak", turn=5000).action == "pray"


# --- errands ------------------------------------------------------------------------------------


def test_stairs_in_sight_are_walked_to_and_taken() -> None:
    walk = frozenset({"north", "east", "south", "west", "down"})
    assert decided("@..>", can=walk).action == "east"
    assert decided("@..>").action == "travel"
    assert decided("@r.>", can=walk).goal == "fight giant rat"
    under = Facts(ways_down=((10, 5),))
    assert decided("@...", under).action == "down"
    assert decided("@...", message="There is a staircase down here.").action == "down"


def test_remembered_stairs_are_walked_to_though_nothing_shows_them() -> None:
    assert decided("@...", Facts(ways_down=((13, 5),))).action == "east"


def test_a_locked_door_is_kicked_in_the_direction_it_is_in() -> None:
    drawing = """
    -+--
    |@.|
    ----
    """
    assert decided(drawing, None, "north", message="This door is locked.").action == "kick"
    asked = {"message": "In what direction?", "asked": True}
    assert decided(drawing, None, "kick", **asked).action == "north"


def test_lava_is_frozen_where_known_ground_lies_behind_it() -> None:
    shore = "@}}...>"
    assert decided(shore, inventory=PACK).action == "zap"
    asked = {"message": "In what direction?", "asked": True, "inventory": PACK}
    assert decided(shore, None, "g", **asked).action == "east"
    assert decided(shore).action != "zap"  # with nothing that freezes
    assert decided(f"..{shore}"[1:].replace(".@", "@."), inventory=PACK).action == "east"


# --- the unknown --------------------------------------------------------------------------------

ROOM = """
-------
|.....|
|..@..#
|.....|
-------
"""


def test_the_way_out_of_a_room_is_taken_and_one_that_was_taken_before_is_not() -> None:
    assert decided(ROOM).action in ("east", "far_east")
    out = ((16, 7),)
    assert decided(ROOM, Facts(visited=frozenset(out))).goal == "search"
    assert decided(ROOM, Facts(dead_ends=frozenset(out))).goal == "search"


def test_whoever_goes_one_way_goes_on_rather_than_back() -> None:
    seen = frozenset({(x, 5) for x in range(30)} - {(10, 5), (16, 5)})
    ahead = decided("###@###", Facts(visited=seen), "east")
    back = decided("###@###", Facts(visited=seen), "west")
    assert (ahead.action, back.action) == ("far_east", "far_west")


def test_the_least_searched_place_is_searched() -> None:
    corridor = frozenset((x, 5) for x in range(10, 15))
    facts = Facts(visited=corridor, searched={(10, 5): 12})
    assert decided("@####", facts).action == "far_east"
    assert decided("####@", facts).action == "search"


def test_a_refused_step_is_not_taken_again() -> None:
    told = {"message": "You are carrying too much to get through."}
    assert decided("@|\n|#", None, "southeast").action == "southeast"
    assert decided("@|\n|#", None, "southeast", **told).action != "southeast"


def test_no_step_is_diagonal_where_no_action_is() -> None:
    straight = frozenset({"north", "east", "south", "west"})
    drawing = """
    ---
    |@|
    |..
    ---
    """
    assert decided(drawing, can=straight).action == "south"
