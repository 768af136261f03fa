"""The level as a grid, ways over it, and what a decision works out from both.

Squares are (column, row) of the game's map: a drawing begins at (10, 5).
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from orchestrator.models.heuristic.nethack.facts import Facts
from orchestrator.models.heuristic.nethack.scene import Scene
from orchestrator.models.heuristic.nethack.terrain import (
    BLOCKED,
    CLOSED,
    DOOR,
    FREE,
    PET,
    RISKY,
    ROCK,
    STEPS,
    UNKNOWN,
    Level,
    number,
    place_of,
    survey,
)
from orchestrator.models.heuristic.nethack.view import Place
from orchestrator.models.heuristic.nethack.ways import Ways
from tests.support.dungeons import draw, stand


def kind_at(level: Level, x: int, y: int) -> int:
    return level.squares[number((x, y))]


def far(ways: Ways, place: Place) -> int | None:
    return ways.distance.get(number(place))


def walked(start: Place, path: Iterable[str]) -> list[Place]:
    places = [start]
    for word in path:
        dx, dy = STEPS[word]
        places.append((places[-1][0] + dx, places[-1][1] + dy))
    return places


def test_squares_have_numbers_and_numbers_squares() -> None:
    for place in ((0, 0), (78, 20), (1, 0), (40, 11)):
        assert place_of(number(place)) == place
    assert number((5, 7)) + 1 == number((6, 7))


@pytest.mark.parametrize(
    ("name", "glyph", "kind"),
    [
        ("doorway", ".", DOOR),
        ("open door", "|", DOOR),
        ("broken door", ".", DOOR),
        ("closed door", "+", CLOSED),
        ("staircase down", ">", FREE),
        ("staircase up", "<", FREE),
        ("trap door", "^", FREE),
        ("lawful altar", "_", FREE),
        ("fountain", "{", FREE),
        ("grave", "|", FREE),
        ("ice", ".", FREE),
        ("water", "}", BLOCKED),
        ("molten lava", "}", BLOCKED),
        ("iron bars", "#", BLOCKED),
        ("tree", "#", BLOCKED),
        ("raised drawbridge", "+", BLOCKED),
        ("boulder", "`", ROCK),
        ("squeaky board trap", "^", RISKY),
        ("spiked pit", "^", RISKY),
        ("land mine", "^", RISKY),
        ("magic portal", "^", RISKY),
        ("anti-magic field", "^", RISKY),
        ("dagger", ")", FREE),
        ("spellbook", "+", FREE),
        ("tame kitten called Tom", "f", PET),
        ("peaceful dwarf", "h", BLOCKED),
        ("a statue of a giant rat", "r", FREE),
        ("jackal", "d", FREE),
    ],
)
def test_what_has_a_name_is_known_by_it(name: str, glyph: str, kind: int) -> None:
    level = survey(draw("@X", legend={"X": (glyph, name)}))
    assert kind_at(level, 11, 5) == kind


def test_what_has_none_is_known_by_its_character() -> None:
    level = survey(draw("-.#\n|@}\n  ."))
    assert [kind_at(level, x, 5) for x in (9, 10, 11, 12, 13)] == [
        UNKNOWN, BLOCKED, FREE, FREE, UNKNOWN,
    ]  # fmt: skip
    assert [kind_at(level, x, 6) for x in (10, 11, 12)] == [BLOCKED, FREE, BLOCKED]
    assert [kind_at(level, x, 7) for x in (10, 11, 12)] == [UNKNOWN, UNKNOWN, FREE]


def test_of_a_river_of_lava_only_four_squares_are_named_and_all_are_shut() -> None:
    view = draw("@.}}\n..}}\n..}}\n..}}")
    assert len(view.things["molten lava"]) == 4
    level = survey(view)
    assert {kind_at(level, x, y) for x in (12, 13) for y in (5, 6, 7, 8)} == {BLOCKED}


@pytest.mark.parametrize(
    ("drawing", "kind"),
    [("-\n@\n-", DOOR), ("|@|", DOOR), ("-.\n@.\n..", FREE), ("|.\n@.\n..", FREE)],
)
def test_the_players_sign_hides_a_doorway_that_walls_give_away(drawing: str, kind: int) -> None:
    level = survey(draw(drawing))
    assert level.squares[level.here] == kind


def test_creatures_are_hostile_unless_tame_peaceful_or_of_stone() -> None:
    level = survey(draw("@rdws\n.eFIn"))
    assert level.hostile == {
        (11, 5): "giant rat",
        (11, 6): "floating eye",
        (12, 6): "lichen",
        (13, 6): "remembered, unseen, creature",
        (14, 6): "newt",
    }


def test_a_thing_is_no_creature_whatever_its_name() -> None:
    view = draw("@X", legend={"X": ("%", "giant rat corpse")})
    assert survey(view).hostile == {}


def test_ways_down_come_nearest_first() -> None:
    signs = {"h": ("^", "hole"), "l": (">", "ladder down")}
    level = survey(draw(">...@.l\n......h\n..<....", legend=signs))
    assert level.down == ((16, 5), (16, 6), (10, 5))


# Row 5 is the upper wall; the two rooms are joined by the doorway at (16, 8).
ROOMS = """
    ------------
    |@....|....|
    |.....|....|
    |....._....|
    ------------
"""


def test_distances_through_a_doorway_are_those_of_a_player_who_turns_there() -> None:
    ways = stand(ROOMS).ways
    assert far(ways, (11, 6)) == 0
    assert far(ways, (15, 8)) == 4  # two diagonals, two east
    assert far(ways, (16, 8)) == 5  # into the doorway from the west only
    assert far(ways, (17, 8)) == 6
    assert far(ways, (17, 7)) == 7  # not diagonally out of it
    assert far(ways, (20, 6)) == 9
    assert far(ways, (16, 7)) is None
    path = ways.path(number((16, 8)))
    assert len(path) == 5
    assert walked((11, 6), path)[-2:] == [(15, 8), (16, 8)]


def test_nobody_leaves_a_doorway_diagonally() -> None:
    ways = stand("|....\n@....\n|....").ways
    assert far(ways, (11, 6)) == 1
    assert far(ways, (11, 5)) == far(ways, (11, 7)) == 2


def test_a_closed_door_is_entered_straight_and_counts_four() -> None:
    ways = stand(ROOMS.replace("_", "+")).ways
    assert far(ways, (16, 8)) == 8
    assert far(ways, (17, 8)) == 9
    assert far(ways, (17, 7)) == 10
    beside = stand("@.\n.+\n..").ways
    assert far(beside, (11, 6)) == 5


def test_boulders_are_passed_by_and_pushed_only_when_asked() -> None:
    ways, pushing = stand("#@0#").ways, stand("#@0#").pushing
    assert far(ways, (12, 5)) is None
    assert far(ways, (13, 5)) is None
    assert far(pushing, (12, 5)) == 8
    assert far(pushing, (13, 5)) == 9
    assert far(stand("@.\n.0").pushing, (11, 6)) == 9
    stuck = Facts(blocked=frozenset({(12, 5)}))
    assert far(stand("#@0#", stuck).pushing, (13, 5)) is None


def test_what_is_to_be_avoided_costs_more_than_a_way_round() -> None:
    assert far(stand("@^.").ways, (12, 5)) == 13
    assert far(stand("@^.\n...").ways, (12, 5)) == 2
    assert far(stand("@d.").ways, (12, 5)) == 3


def test_deadly_creatures_shut_a_way_and_sessile_ones_make_it_risky() -> None:
    assert far(stand("@e.").ways, (12, 5)) is None
    assert far(stand("@F.").ways, (12, 5)) == 13
    assert far(stand("@r.").ways, (12, 5)) == 2
    assert far(stand("@w.").ways, (12, 5)) is None
    assert far(stand("@s.").ways, (12, 5)) == 2  # a statue is walked over


def test_the_unknown_is_not_walked_on() -> None:
    ways = stand("@. .").ways
    assert set(ways.distance) == {number((10, 5)), number((11, 5))}
    assert ways.path(number((13, 5))) == []
    assert ways.path(number((10, 5))) == []


def test_every_path_is_as_long_as_its_distance_and_keeps_to_free_squares() -> None:
    scene = stand(ROOMS)
    for square, distance in scene.ways.distance.items():
        places = walked((11, 6), scene.ways.path(square))
        assert places[-1] == place_of(square)
        assert len(places) == distance + 1
        assert all(kind_at(scene.level, *place) in (FREE, DOOR) for place in places)


def test_a_player_who_can_only_go_straight_is_given_no_diagonal() -> None:
    scene = stand("@.\n..", can=frozenset({"north", "east", "south", "west", "escape"}))
    assert far(scene.ways, (11, 6)) == 2
    assert set(scene.ways.path(number((11, 6)))) == {"south", "east"}


@pytest.mark.parametrize(
    "message",
    ["It's a wall.", "It's solid stone.", "You stop.  Rex is in the way.",
     "You try to move the boulder, but in vain.", "You can't move diagonally out of a doorway."],
)  # fmt: skip
def test_a_move_that_was_refused_is_not_tried_again(message: str) -> None:
    scene = stand(".@.\n...", last="far_east", message=message)
    assert scene.refused
    assert scene.heading == "east"
    assert far(scene.ways, (12, 5)) is None
    assert far(scene.ways, (10, 5)) == 1
    moved = stand(".@.\n...", last="east", message="You see here a dagger.")
    assert far(moved.ways, (12, 5)) == 1


def test_an_action_that_is_no_move_has_no_heading() -> None:
    assert stand("@.", last="search").heading == ""
    assert stand("@.").heading == ""


def test_openings_and_the_unseen_are_counted_around_a_square() -> None:
    scene = stand("-----\n|..@.\n|.0.\n-----")
    assert scene.openings[number((11, 6))] == 3  # (12, 6), (11, 7), and the boulder
    assert scene.unknown[number((11, 6))] == 0
    assert scene.unknown[number((13, 6))] == 1  # (14, 7)
    assert scene.unknown[number((14, 6))] == 4  # (15, 5), (15, 6), (15, 7), (14, 7)


def test_what_lies_off_the_map_is_not_unseen() -> None:
    scene = stand("@.", corner=(0, 0))
    assert scene.unknown[number((0, 0))] == 2  # (0, 1) and (1, 1)
    corner = stand(".@", corner=(77, 20))
    assert corner.unknown[number((78, 20))] == 2  # (77, 19) and (78, 19)


def test_whims_hold_for_a_spell_and_then_change() -> None:
    def moods(turns: range) -> set[int]:
        return {stand("@.", turn=turn).mood(24, 1000) for turn in turns}

    assert len(moods(range(240, 264))) == 1
    assert len(moods(range(0, 2400, 24))) > 80
    assert stand("@.", turn=240).mood(24, 0) == 0
    one: Scene = stand("@.", turn=250)
    assert one.whim(7, 24) == stand("@.", turn=263).whim(7, 24) != one.whim(8, 24)


def test_without_a_vocabulary_everything_can_be_done() -> None:
    assert stand("@.").can("zap")
    assert not stand("@.", can=frozenset({"north"})).can("zap")
