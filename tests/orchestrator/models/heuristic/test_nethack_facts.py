"""What notes and trackers say, level by level."""

from __future__ import annotations

import pytest

from orchestrator.models.heuristic.nethack import NetHackPlayer
from orchestrator.models.heuristic.nethack.facts import Facts, level_name, read_facts
from tests.support.dungeons import draw, observation

MINES = "the Gnomish Mines"
NOW = observation("@.", level=3)
IN_MINES = observation("@.", level=3, dungeon=MINES)
PLACE = (5, 7)


def on_level_3(text: str) -> Facts:
    return read_facts(text, [NOW])


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("was at (5, 7) on level 3", Facts(visited=frozenset({PLACE}))),
        ("Visited on level 3: (5, 7) (6, 7)", Facts(visited=frozenset({PLACE, (6, 7)}))),
        ("dead end at (5, 7) on level 3", Facts(dead_ends=frozenset({PLACE}))),
        ("Dead ends on level 3: (5, 7)", Facts(dead_ends=frozenset({PLACE}))),
        ("searched at (5, 7) on level 3", Facts(searched={PLACE: 1})),
        ("Searched on level 3: (5, 7) 12 times", Facts(searched={PLACE: 12})),
        ("blocked at (5, 7) on level 3", Facts(blocked=frozenset({PLACE}))),
        ("way down at (5, 7) on level 3", Facts(ways_down=(PLACE,))),
        ("prayed on turn 812", Facts(prayed=812)),
        ("going round in circles", Facts(warning=True)),
        ("dead end, at (5, 7) on level 3; visited on level 3", Facts()),
    ],
)
def test_every_sentence_of_the_table_is_a_fact(text: str, facts: Facts) -> None:
    assert on_level_3(text) == facts
    assert on_level_3(f"step 9: east; {text}; step 10\nmore") in (facts, Facts())


def test_a_line_of_a_diary_holds_several_facts() -> None:
    facts = on_level_3(
        "step 41: search; was at (5, 7) on level 3; searched at (5, 7) on level 3;"
        " dead end at (5, 7) on level 3; way down at (9, 2) on level 3\n"
        "step 42: search; was at (5, 7) on level 3; searched at (5, 7) on level 3; prayed on turn 9"
    )
    assert facts.visited == facts.dead_ends == {PLACE}
    assert facts.searched == {PLACE: 2}
    assert facts.ways_down == ((9, 2),)
    assert facts.prayed == 9


def test_searches_noted_and_searches_counted_are_added_up() -> None:
    text = "searched at (5, 7) on level 3\nSearched on level 3: (5, 7) 3 times (6, 7) 2 times"
    assert on_level_3(text).searched == {PLACE: 4, (6, 7): 2}


@pytest.mark.parametrize("level", ["1", "13", "33", "-3", "3 of the Gnomish Mines", "3 of Sokoban"])
def test_a_note_of_another_level_does_not_count(level: str) -> None:
    text = (
        f"was at (5, 7) on level {level}; dead end at (5, 7) on level {level};"
        f" searched at (5, 7) on level {level}; blocked at (5, 7) on level {level};"
        f" way down at (5, 7) on level {level}\n"
        f"Visited on level {level}: (5, 7)\nDead ends on level {level}: (5, 7)\n"
        f"Searched on level {level}: (5, 7) 12 times"
    )
    assert on_level_3(text) == Facts()


@pytest.mark.parametrize(
    "dungeon",
    [
        *("Gehennom", MINES, "the Quest", "Sokoban", "Fort Ludios", "Vlad's Tower"),
        "the Elemental Planes",
    ],
)
def test_every_branch_of_the_dungeon_has_levels_of_its_own(dungeon: str) -> None:
    level = f"3 of {dungeon}"
    view = draw("@.", level=3, dungeon=dungeon)
    assert level_name(view) == level
    text = (
        f"was at (5, 7) on level {level}; was at (6, 7) on level 3\n"
        f"Visited on level {level}: (8, 7)\nVisited on level 3: (9, 7)"
    )
    there = read_facts(text, [observation("@.", level=3, dungeon=dungeon)])
    assert there.visited == {PLACE, (8, 7)}
    assert on_level_3(text).visited == {(6, 7), (9, 7)}


def test_the_main_dungeon_is_not_named() -> None:
    assert level_name(draw("@.", level=3)) == "3"
    assert level_name(draw("@.", level=-2, dungeon="the Elemental Planes")) == (
        "-2 of the Elemental Planes"
    )


def test_the_last_prayer_counts() -> None:
    assert on_level_3("prayed on turn 812; prayed on turn 1903\nprayed on turn 95").prayed == 1903


def test_a_prayer_on_another_level_is_still_a_prayer() -> None:
    assert read_facts("prayed on turn 812; was at (1, 1) on level 1", [IN_MINES]).prayed == 812


def test_earlier_observations_count_as_visits_of_this_level_only() -> None:
    window = [
        observation("@..", level=3),
        observation(".@.", level=3),
        observation("..@", level=2),
        observation("..@", level=3, dungeon=MINES),
        observation("...@", level=3),
    ]
    assert read_facts("", window).visited == {(10, 5), (11, 5)}
    assert read_facts("", window[:1]).visited == set()


def test_without_an_observation_nothing_is_known() -> None:
    assert read_facts("was at (5, 7) on level 3", []) == Facts()


def test_the_player_reads_what_the_prompt_shows_and_what_memory_returns() -> None:
    facts = NetHackPlayer().facts(
        "Dead ends on level 3: (5, 7)\n", "step 1: was at (6, 7) on level 3", [NOW], None
    )
    assert facts == Facts(visited=frozenset({(6, 7)}), dead_ends=frozenset({PLACE}))
