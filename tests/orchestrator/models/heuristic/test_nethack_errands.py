"""Ways down, locked doors, lava, and runs along a way."""

from __future__ import annotations

import pytest

from orchestrator.models.heuristic.nethack.errands import (
    break_door,
    descend,
    door_beside,
    freeze,
    stride,
)
from orchestrator.models.heuristic.nethack.facts import Facts
from tests.support.dungeons import decided, stand

WALK = frozenset(
    ("north", "east", "south", "west", "northeast", "southeast", "southwest", "northwest", "escape")
)
LEVEL = WALK | {"down", "search", "kick"}
WAND, HORN = ("k", "a wand of cold"), ("f", "a frost horn")

# --- ways down ----------------------------------------------------------------------------------


def downward(
    drawing: str,
    facts: Facts | None = None,
    last: str = "east",
    can: frozenset[str] = LEVEL,
    **rest: object,
) -> str | None:
    decision = descend(stand(drawing, facts, last, can, **rest))
    return decision.action if decision else None


@pytest.mark.parametrize(
    ("drawing", "action"),
    [
        ("@...>", "east"),
        ("@..\n...\n..>", "southeast"),
        (">..\n|..\n..@", "northwest"),
        (">....@..>", "east"),  # three steps, not five
        ("@ .>", None),  # no way there is known
        ("@|>", None),
        ("@..<", None),  # these lead up
    ],
)
def test_stairs_are_walked_to_by_the_shortest_way(drawing: str, action: str | None) -> None:
    assert downward(drawing) == action


@pytest.mark.parametrize("name", ["trap door", "hole", "ladder down"])
def test_whatever_leads_down_is_walked_to(name: str) -> None:
    signs = {"X": ("^", name)}
    assert downward("@..X", legend=signs) == "east"
    # the game travels to stairs only
    assert downward("@..X", can=LEVEL | {"travel"}, legend=signs) == "east"


def test_travel_is_used_where_there_is_such_an_action_and_nobody_near() -> None:
    able = LEVEL | {"travel"}
    assert downward("@....>", can=able) == "travel"
    assert downward("@....>") == "east"
    assert downward("@..r.>", can=able) == "east"
    assert downward("@..d.>", can=able) == "travel"
    assert downward("@....", Facts(ways_down=((14, 5),)), can=able) == "east"
    assert downward("@ ..>", can=able) is None


@pytest.mark.parametrize(
    ("told", "action"),
    [
        ({"last": "."}, "down"),  # has just travelled to them
        ({"message": "There is a staircase down here.\nYou see here a dagger."}, "down"),
        ({"facts": Facts(ways_down=((10, 5),))}, "down"),
        ({"message": "There is a staircase up here."}, None),
        ({"last": ".", "message": "You can't go down here."}, None),
        ({"last": "east"}, None),
        ({"last": ".", "can": WALK}, None),  # stepping on the stairs is all there is to do
    ],
)
def test_on_the_stairs_down_is_pressed(told: dict[str, object], action: str | None) -> None:
    assert downward("@....", turn=104, **told) == action


def test_stairs_in_sight_are_not_underfoot() -> None:
    assert downward("@...>", last=".") == "east"


def test_who_remembers_nothing_tries_to_go_down_now_and_then() -> None:
    tries = [turn for turn in range(200) if downward("@....", last="", turn=turn) == "down"]
    assert 10 <= len(tries) <= 50
    assert not any(downward("@....", last="east", turn=turn) for turn in tries)


def test_noted_stairs_are_no_use_where_others_are_in_sight() -> None:
    assert downward(">..@....", Facts(ways_down=((17, 5),))) == "west"


# --- doors --------------------------------------------------------------------------------------

CELL = "-+-\n|@+\n---"
LOCKED = "This door is locked."


@pytest.mark.parametrize(
    ("message", "drawing", "can", "kicked"),
    [
        (LOCKED, CELL, LEVEL, True),
        ("WHAMM!", CELL, LEVEL, True),
        ("WHAMM!", CELL, WALK, False),
        (LOCKED, "--+\n|@.\n---", LEVEL, False),  # not beside
        ("As you kick the door, it crashes open!", CELL, LEVEL, False),
        ("The door opens.", CELL, LEVEL, False),
        ("nothing", CELL, LEVEL, False),
    ],
)
def test_only_a_door_beside_that_proved_locked_is_kicked(
    message: str, drawing: str, can: frozenset[str], kicked: bool
) -> None:
    decision = break_door(stand(drawing, None, "north", can, message=message))
    assert (decision.action if decision else None) == ("kick" if kicked else None)


def test_of_two_doors_the_one_that_was_walked_into_is_meant() -> None:
    assert door_beside(stand(CELL, None, "east")) == "east"
    assert door_beside(stand(CELL, None, "far_north")) == "north"
    assert door_beside(stand(CELL, None, "kick")) in ("north", "east")
    assert door_beside(stand("...\n.@.\n..+", None, "southeast")) == ""


def test_a_locked_door_is_kicked_before_the_way_goes_on() -> None:
    assert decided("-+--\n|@.>\n----", None, "north", LEVEL, message=LOCKED).action == "kick"
    assert decided("-+--\n|@r>\n----", None, "north", LEVEL, message=LOCKED).action == "east"


def test_a_closed_door_is_walked_into() -> None:
    assert decided("---\n|@+\n---", None, "west", LEVEL).action == "east"


# --- lava ---------------------------------------------------------------------------------------

RIVER = """
    ---------
    |%s}}..|
    |...}}..|
    ---------
"""


def frozen(drawing: str, *carried: tuple[str, str], **rest: object) -> str | None:
    decision = freeze(stand(drawing, inventory=carried, **rest))
    return decision.action if decision else None


def test_the_river_is_walked_up_to_and_frozen() -> None:
    assert frozen(RIVER.replace("%s", "@.."), WAND) == "east"
    assert frozen(RIVER.replace("%s", "..@"), WAND) == "zap"


@pytest.mark.parametrize(
    ("carried", "able", "action"),
    [
        ((WAND,), ("zap", "apply"), "zap"),
        ((HORN,), ("zap", "apply"), "apply"),
        ((HORN, WAND), ("zap", "apply"), "zap"),
        ((WAND,), ("apply",), None),
        ((HORN,), ("zap",), None),
        ((("a", "a dagger"),), ("zap", "apply"), None),
    ],
)
def test_a_wand_is_zapped_and_a_horn_applied(
    carried: tuple[tuple[str, str], ...], able: tuple[str, ...], action: str | None
) -> None:
    assert frozen(RIVER.replace("%s", "..@"), *carried, can=LEVEL | set(able)) == action


@pytest.mark.parametrize("name", ["a wand of digging", "a fire horn", "a tooled horn"])
def test_what_is_known_not_to_freeze_is_not_tried(name: str) -> None:
    assert frozen(RIVER.replace("%s", "..@"), ("k", name)) is None


def test_a_wand_that_may_not_freeze_is_not_zapped_for_ever() -> None:
    bank, unknown = RIVER.replace("%s", "..@"), ("k", "a sapphire wand")
    tries = [frozen(bank, unknown, turn=turn) for turn in range(1_000)]
    assert set(tries) == {"zap", None}
    assert tries.count("zap") > tries.count(None)
    assert frozen(bank, unknown, turn=tries.index("zap"), message="Nothing happens.") is None


@pytest.mark.parametrize(
    "drawing",
    [
        "@....",
        "@..\n..}\n...",  # a pool that bars nothing
        "--------\n|@}..}.|\n|......|\n--------",
        "-----\n|@}}|\n-----",  # nothing behind it
        "@}}",  # what is behind it has not been seen
    ],
)
def test_lava_that_keeps_nothing_out_of_reach_is_left_alone(drawing: str) -> None:
    assert frozen(drawing, WAND) is None


def test_ice_is_walked_over() -> None:
    ice = {"i": (".", "ice")}
    bridged = "----------\n|..@ii..>|\n|...}}...|\n----------"
    assert frozen(bridged, WAND, legend=ice) is None
    assert decided(bridged, None, ".", LEVEL, legend=ice, inventory=(WAND,)).action == "east"


def test_the_river_is_crossed_before_anything_beyond_it_is_wanted() -> None:
    assert decided("@}}..>", can=LEVEL | {"zap"}, inventory=(WAND,)).action == "zap"


# --- runs ---------------------------------------------------------------------------------------

RUN = LEVEL | {"far_east", "far_southeast"}


@pytest.mark.parametrize(
    ("drawing", "path", "can", "action"),
    [
        ("@...", "east east east", RUN, "far_east"),
        ("@...|", "east east east", RUN, "far_east"),
        ("@..", "east east", RUN, "east"),  # not worth it
        ("@....", "east east east", RUN, "east"),  # it would lead past the end
        ("@...\n...#", "east east east south", RUN, "east"),
        ("@...", "east east east", LEVEL, "east"),
        ("@...\n   r", "east east east", RUN, "east"),
        ("@...\n   d", "east east east", RUN, "far_east"),
        ("@\n .\n  .\n   .", "southeast southeast southeast", RUN, "far_southeast"),
    ],
)
def test_a_player_runs_only_where_that_ends_at_the_goal(
    drawing: str, path: str, can: frozenset[str], action: str
) -> None:
    assert stride(stand(drawing, can=can), path.split()) == action
