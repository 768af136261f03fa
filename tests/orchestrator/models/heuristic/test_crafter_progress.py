"""What two observations in a row prove."""

from __future__ import annotations

import pytest

from orchestrator.models.heuristic.crafter import detect, moved
from tests.support.scenes import MEADOW, draw


def meadow_with(glyph: str, row: int = 4, column: int = 4) -> str:
    """The meadow with one cell changed; by default the one below the player."""
    rows = [list(line.strip()) for line in MEADOW.strip().splitlines()]
    rows[row][column] = glyph
    return "\n".join("".join(line) for line in rows)


@pytest.mark.parametrize("glyph", list(".:_"))
def test_a_step_onto_free_ground_is_taken(glyph: str) -> None:
    before = draw(meadow_with(glyph))
    assert moved(before, "move_down", before)


@pytest.mark.parametrize("glyph", list("~#TcidtfCZKpPX<"))
def test_a_step_against_anything_else_only_turns(glyph: str) -> None:
    before = draw(meadow_with(glyph))
    assert not moved(before, "move_down", before)


def test_nobody_walks_asleep_until_energy_is_full() -> None:
    tired = draw(MEADOW, asleep=True, vitals=(9, 9, 9, 8))
    rested = draw(MEADOW, asleep=True, vitals=(9, 9, 9, 9))
    assert not moved(tired, "move_up", tired)
    assert moved(rested, "move_up", rested)


def test_doing_is_not_walking() -> None:
    view = draw(MEADOW)
    assert not moved(view, "do", view)


def test_wood_is_collected_when_there_is_more_of_it() -> None:
    before = draw(meadow_with("T"), carrying="wood 1")
    after = draw(MEADOW, carrying="wood 2")
    assert detect(before, "do", after) == {"collect_wood"}


def test_looking_for_a_sapling_in_vain_is_nothing() -> None:
    view = draw(MEADOW)
    assert detect(view, "do", view) == frozenset()
    assert detect(view, "do", draw(MEADOW, carrying="sapling 1")) == {"collect_sapling"}


def test_drinking_counts_even_when_not_thirsty() -> None:
    view = draw(meadow_with("~"))
    assert detect(view, "do", view) == {"collect_drink"}


def test_a_cow_is_eaten_when_food_rises_or_when_it_is_gone() -> None:
    before = draw(meadow_with("C"), vitals=(9, 3, 9, 9))
    assert detect(before, "do", draw(MEADOW, vitals=(9, 9, 9, 9))) == {"eat_cow"}
    full = draw(meadow_with("C"))
    assert detect(full, "do", draw(MEADOW)) == {"eat_cow"}


def test_a_cow_that_walked_on_was_not_eaten() -> None:
    before = draw(meadow_with("C"))
    after = draw(meadow_with("C", row=5))
    assert detect(before, "do", after) == frozenset()


@pytest.mark.parametrize(("glyph", "name"), [("Z", "defeat_zombie"), ("K", "defeat_skeleton")])
def test_an_enemy_struck_and_gone_is_defeated(glyph: str, name: str) -> None:
    before = draw(meadow_with(glyph))
    assert detect(before, "do", draw(MEADOW)) == {name}
    assert detect(before, "do", before) == frozenset()
    assert detect(before, "noop", draw(MEADOW)) == frozenset()


def test_a_ripe_plant_that_is_a_sapling_again_was_eaten() -> None:
    before = draw(meadow_with("P"), vitals=(9, 4, 9, 9))
    assert detect(before, "do", draw(meadow_with("p"), vitals=(9, 8, 9, 9))) == {"eat_plant"}


@pytest.mark.parametrize(
    ("action", "before", "after"),
    [
        ("place_table", "wood 3", "wood 1"),
        ("place_stone", "stone 1", "nothing"),
        ("place_plant", "sapling 1", "nothing"),
        ("place_furnace", "stone 5", "stone 1"),
        ("make_wood_pickaxe", "wood 2", "wood 1, wood_pickaxe 1"),
        ("make_iron_sword", "wood 1, coal 1, iron 1", "iron_sword 1"),
    ],
)
def test_placing_and_making_show_in_the_inventory(action: str, before: str, after: str) -> None:
    assert detect(draw(MEADOW, carrying=before), action, draw(MEADOW, carrying=after)) == {action}
    same = draw(MEADOW, carrying=before)
    assert detect(same, action, same) == frozenset()


def test_waking_up_rested_counts_and_being_hurt_awake_does_not() -> None:
    rested = draw(MEADOW, asleep=True, vitals=(9, 9, 9, 9))
    assert detect(rested, "noop", draw(MEADOW)) == {"wake_up"}
    tired = draw(MEADOW, asleep=True, vitals=(9, 9, 9, 5))
    assert detect(tired, "noop", draw(MEADOW, vitals=(2, 9, 9, 5))) == frozenset()
