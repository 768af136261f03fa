"""What a step leaves in the notes."""

from __future__ import annotations

import pytest

from orchestrator.models.heuristic.game import News
from orchestrator.models.heuristic.nethack.facts import Facts
from orchestrator.models.heuristic.nethack.news import news
from orchestrator.models.heuristic.nethack.view import View
from tests.support.dungeons import draw

HALL = """
    .....
    .%s.
    .....
"""


def hall(row: str = ".@.", **rest: object) -> View:
    """A lit hall in which (12, 6) is in the middle."""
    return draw(HALL.replace("%s", row), **rest)


def told(before: View, action: str, after: View, facts: Facts | None = None) -> News:
    return news(before, action, after, facts or Facts())


def test_a_move_says_what_was_done_and_where_that_led() -> None:
    assert told(hall(), "east", hall("..@")) == News(("east", "was at (13, 6) on level 1"), (), ())


def test_a_search_is_noted_where_it_was_made() -> None:
    assert told(hall(), "search", hall()).sights == ("searched at (12, 6) on level 1",)
    assert told(hall(), "wait", hall()).sights == ()
    # whoever is moved while searching, by a trap say, has not searched there
    assert told(hall(), "search", hall("@..")).sights == ()


DEAD_END = "---\n..@|\n---"
"""A corridor between walls, as the player stands at its end, (12, 6)."""


def test_a_dead_end_is_noted_once() -> None:
    before, after = draw("...\n.@.\n..."), draw(" ---\n##@\n ---".replace("-", " "))
    assert told(before, "east", after).sights == ("dead end at (12, 6) on level 1",)
    known = Facts(dead_ends=frozenset({(12, 6)}))
    assert told(before, "east", after, known).sights == ()


def test_a_corridor_that_goes_on_and_a_doorway_are_no_dead_ends() -> None:
    before = hall()
    assert told(before, "east", draw("##@##")).sights == ()
    assert told(before, "east", draw("-\n@.\n-")).sights == ()


def test_a_boulder_that_does_not_move_is_noted() -> None:
    stuck = hall(".@0", message="You try to move the boulder, but in vain.")
    assert told(hall(".@0"), "east", stuck).sights == ("blocked at (13, 6) on level 1",)
    moved = hall("..@", message="With great effort you move the boulder.")
    assert told(hall(".@0"), "east", moved).sights == ()
    diagonal = hall(message="However, you can squeeze... Perhaps that's why you cannot move past.")
    assert told(hall(), "northwest", diagonal).sights == ("blocked at (11, 5) on level 1",)
    assert told(hall(), "search", stuck).sights == ("searched at (12, 6) on level 1",)


@pytest.mark.parametrize(
    ("message", "achieved"),
    [
        ("You begin praying to Mitra.\nYou feel much better.", ("prayed on turn 903",)),
        ("You are surrounded by a shimmering light.", ("prayed on turn 903",)),
        ("You hear a door open.", ()),
    ],
)
def test_a_prayer_is_noted_with_its_turn(message: str, achieved: tuple[str, ...]) -> None:
    after = hall(message=message, turn=903)
    assert told(hall(turn=900), "y", after).achieved == achieved


def test_a_new_level_is_noted_by_its_name_and_only_on_the_way_down() -> None:
    first, third = hall(level=1), hall(level=3, dungeon="the Gnomish Mines")
    found = told(first, "down", third)
    assert found.achieved == ("reached level 3 of the Gnomish Mines",)
    assert found.line == ("down", "was at (12, 6) on level 3 of the Gnomish Mines")
    assert told(third, "up", first).achieved == ()


def test_stairs_are_noted_when_they_come_into_sight() -> None:
    seen = hall(".@>")
    note = ("way down at (13, 6) on level 1",)
    assert told(hall(), "east", seen).sights == note
    assert told(seen, "search", seen).sights == ("searched at (12, 6) on level 1",)
    # the same square of another level is another staircase
    deeper = hall(".@>", level=2)
    assert told(seen, "down", deeper).sights == ("way down at (13, 6) on level 2",)
