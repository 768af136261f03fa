"""Ways and rooms in scenes drawn by hand."""

from __future__ import annotations

import pytest

from orchestrator.models.heuristic.crafter.navigate import FAR, Ways, enclosed
from orchestrator.models.heuristic.crafter.view import CENTRE
from tests.support.scenes import MEADOW, draw

WALLED = """
    .........
    .........
    ...###...
    ...#@#...
    ...###...
    .........
    .........
"""


def test_free_ground_is_as_far_as_the_steps_to_it() -> None:
    ways = Ways(draw(MEADOW), pickaxe=0)
    corner = 0
    assert ways.distance[corner] == 4 + 3


def test_rock_is_a_way_only_with_a_pickaxe() -> None:
    view = draw(WALLED)
    assert Ways(view, pickaxe=0).distance[0] == FAR
    assert Ways(view, pickaxe=1).distance[CENTRE + 2] == 2 + 1


def test_lava_is_never_a_way() -> None:
    view = draw(WALLED.replace("#", "L"), carrying="stone 9, iron_pickaxe 1")
    assert Ways(view, pickaxe=3).distance[0] == FAR


def test_water_is_a_way_for_who_can_fill_it() -> None:
    view = draw(WALLED.replace("#", "~"), carrying="stone 1, wood_pickaxe 1", facing="right")
    ways = Ways(view, pickaxe=1)
    assert ways.onto(CENTRE + 2) == (5, "place_stone")
    assert Ways(draw(WALLED.replace("#", "~")), pickaxe=1).distance[CENTRE + 2] == FAR


def test_to_look_at_free_ground_one_has_to_arrive_in_its_direction() -> None:
    ways = Ways(draw(MEADOW, facing="right"), pickaxe=0)
    assert ways.facing_free(CENTRE + 1) == (0, "noop")
    # Two to the right: one step on, and it is ahead.
    assert ways.facing_free(CENTRE + 2) == (1, "move_right")
    # The cell behind: a step away from it, and back again.
    assert ways.facing_free(CENTRE - 1) == (2, "move_right")


@pytest.mark.parametrize(
    ("drawing", "closed"),
    [
        (WALLED, True),
        (WALLED.replace("...###...", "...#.#...", 1), False),
        (WALLED.replace("#", "T"), True),
        (MEADOW, False),
    ],
)
def test_a_room_is_closed_when_nothing_can_walk_in(drawing: str, closed: bool) -> None:
    assert enclosed(draw(drawing).grid, CENTRE) is closed


def test_a_stone_to_be_placed_counts_as_a_wall() -> None:
    grid = draw(WALLED.replace("...###...", "...#.#...", 1)).grid
    assert enclosed(grid, CENTRE, (CENTRE - 9,))


def test_arrows_fly_over_water_from_a_path() -> None:
    moat = """
        .........
        ....~....
        ...#~#...
        ...#@#...
        ...###...
        .........
        .........
    """
    assert enclosed(draw(moat).grid, CENTRE)
    path = moat.replace(".........", "...._....", 1)
    assert not enclosed(draw(path).grid, CENTRE)
