"""Reading observations."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.models.heuristic.crafter import parse_view
from orchestrator.models.heuristic.crafter.view import UnreadableObservation

TEXT = """You are asleep.
You stand on sand and face tree (left).
It is night.
Next to you: up grass, right sand, down water, left tree.
Nearest:
- tree: 1 step (1 left)
- water: 1 step (1 down)
- cow: 3 steps (2 right, 1 up)
- iron: 7 steps (4 left, 3 down)
Map (you are @):
.........
.........
......C..
...T@:...
....~....
.........
i........
Status: health 7, food 6, drink 5, energy 4.
Inventory: sapling 1, wood 3, wood_pickaxe 1."""


def test_everything_in_the_text_is_read() -> None:
    view = parse_view(TEXT)
    assert view.asleep
    assert view.night
    assert view.standing == "sand"
    assert view.faced == "tree"
    assert (view.health, view.food, view.drink, view.energy) == (7, 6, 5, 4)
    assert view.inventory == {"sapling": 1, "wood": 3, "wood_pickaxe": 1}
    assert view.cells("cow") == ((2, -1),)
    assert view.cells("iron") == ((-4, 3),)
    assert view.cells("arrow") == ()


def test_an_empty_inventory_is_empty() -> None:
    text = TEXT.replace("sapling 1, wood 3, wood_pickaxe 1", "nothing")
    assert parse_view(text).inventory == {}


def test_without_a_map_the_list_of_nearest_things_is_used() -> None:
    start, rest = TEXT.split("Map (you are @):\n")
    view = parse_view(start + "\n".join(rest.splitlines()[-2:]))
    assert view.cells("cow") == ((2, -1),)
    assert view.cells("iron") == ((-4, 3),)
    assert view.cells("tree") == ((-1, 0),)
    assert view.cells("water") == ((0, 1),)
    assert len(view.cells("unknown")) == 62 - 6


@given(st.text(max_size=300))
def test_any_other_text_is_refused(text: str) -> None:
    with pytest.raises(UnreadableObservation):
        parse_view(text)


@given(st.data())
def test_a_damaged_observation_is_refused_or_read_but_never_breaks(data: st.DataObject) -> None:
    lines = TEXT.splitlines()
    drop = data.draw(st.sets(st.integers(0, len(lines) - 1), max_size=4))
    try:
        view = parse_view("\n".join(line for n, line in enumerate(lines) if n not in drop))
    except UnreadableObservation:
        return
    assert len(view.grid) == 63
