"""Reading observations: real ones against the numbers they were made from, and drawn ones."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.minihack import boxoban
from envs.minihack.environment import MiniHackEnvironment
from envs.minihack.tasks import TASKS
from envs.nethack.environment import NetHackEnvironment
from envs.nethack.keyed import KeyedEnvironment
from envs.nethack.kinds import CROWDED, PLAIN
from envs.nethack.native import nethack
from envs.nethack.screen import Screen
from orchestrator.models.heuristic.nethack.view import (
    OBSERVATION,
    UnreadableObservation,
    View,
    parse_view,
)
from tests.envs.levels import published
from tests.support.dungeons import ROGUE, draw, observation

STEPS = 250
FINAL = frozenset({"save", "quit", "S"})
"""Left out, for they end the game."""


class _Raw:
    """Keeps the screen that an observation was made from."""

    screen: Screen

    def _taken_in(self, screen: Screen) -> object:
        self.screen = screen
        return super()._taken_in(screen)  # type: ignore[misc]


class RawNetHack(_Raw, NetHackEnvironment): ...


class RawMiniHack(_Raw, MiniHackEnvironment): ...


@pytest.fixture(params=["nethack-v1", *TASKS])
def raw(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[KeyedEnvironment]:
    monkeypatch.setenv(boxoban.DATA_VARIABLE, str(tmp_path / "data"))
    if request.param.startswith("boxoban"):
        boxoban.add(published(tmp_path / "copy"))
    name = request.param
    environment = RawNetHack() if name == "nethack-v1" else RawMiniHack(task=name)
    yield environment
    environment.close()


def name_at(screen: Screen, x: int, y: int) -> str:
    return bytes(screen.descriptions[y, x]).split(b"\0")[0].decode("latin-1")


def named_squares(screen: Screen, here: tuple[int, int]) -> dict[str, set[tuple[int, int]]]:
    found: dict[str, set[tuple[int, int]]] = {}
    for y, x in zip(*(~PLAIN[screen.glyphs]).nonzero(), strict=True):
        name = name_at(screen, int(x), int(y))
        if (x, y) != here and name:
            found.setdefault(name, set()).add((int(x), int(y)))
    return found


def check_against(view: View, screen: Screen) -> None:
    status = screen.status
    here = status[nethack.NLE_BL_X], status[nethack.NLE_BL_Y]
    assert view.here == here
    assert view.cursor == (screen.cursor if screen.cursor != here else None)
    assert (view.asked, view.typing) == (screen.question, screen.line and not screen.question)
    assert view.menu == screen.menu.strip()
    assert view.message == ("\n".join(screen.said).strip() or "nothing")
    assert (view.health, view.most_health) == (
        status[nethack.NLE_BL_HP],
        status[nethack.NLE_BL_HPMAX],
    )
    assert view.turn == status[nethack.NLE_BL_TIME]
    assert view.level == status[nethack.NLE_BL_DEPTH]
    assert view.dungeon == "the Dungeons of Doom"
    assert view.inventory == screen.inventory
    whole = [[" "] * 79 for _ in range(21)]
    for y, row in enumerate(view.rows, view.corner[1]):
        whole[y][view.corner[0] : view.corner[0] + len(row)] = row
    assert ["".join(row) for row in whole] == [bytes(row).decode("latin-1") for row in screen.chars]
    for x, y in [here, *(place for places in view.things.values() for place in places)]:
        assert view.glyph((x, y)) == chr(screen.chars[y, x])
    squares = named_squares(screen, here)
    assert view.things.keys() == squares.keys()
    for name, places in view.things.items():
        assert len(places) == len(set(places))
        assert set(places) <= squares[name]
        if name not in CROWDED:
            assert set(places) == squares[name]
        else:
            assert len(places) == min(4, len(squares[name]))


def test_everything_is_read_from_real_observations(raw: KeyedEnvironment) -> None:
    """Keys at random, so that menus, questions, lines of text and the cursor come up as well."""
    seed, choices = 1, random.Random(1)
    actions = [action for action in raw.actions if action not in FINAL]
    seen: list[View] = []
    text = raw.reset(seed).text
    for _ in range(STEPS):
        view = parse_view(text)
        check_against(view, raw.screen)  # type: ignore[attr-defined]
        seen.append(view)
        # Every third key leaves what is open, or one menu would be all that is seen.
        step = raw.step("escape" if choices.random() < 0.3 else choices.choice(actions))
        text = step.observation.text if not step.done else raw.reset(seed := seed + 1).text
    if raw.id == "nethack-v1":
        assert any(view.menu for view in seen)
        assert any(view.asked for view in seen)
        assert any(view.typing for view in seen)
        assert any(view.cursor for view in seen)
    assert len({view.here for view in seen}) > 1


ROOM = """
    -----
    |..._
    |.@.|
    |r.>|
    -----
"""


def test_what_is_drawn_is_read() -> None:
    view = draw(
        ROOM,
        message="Really attack?\nNo.",
        cursor=(13, 8),
        level=3,
        dungeon="the Gnomish Mines",
        hit_points=(-2, 15),
        turn=4711,
        state="weak, burdened, blind",
        inventory=ROGUE,
    )
    assert view.message == "Really attack?\nNo."
    assert view.here == (12, 7)
    assert view.cursor == (13, 8)
    assert (view.level, view.dungeon) == (3, "the Gnomish Mines")
    assert view.things == {
        "doorway": ((14, 6),),
        "giant rat": ((11, 8),),
        "staircase down": ((13, 8),),
    }
    assert (view.health, view.most_health, view.turn) == (-2, 15, 4711)
    assert view.state == {"weak", "burdened", "blind"}
    assert view.inventory == ROGUE
    assert view.glyph((12, 7)) == "@"
    assert view.glyph((10, 5)) == "-"
    assert view.glyph((9, 5)) == view.glyph((10, 4)) == view.glyph((15, 5)) == " "
    assert not (view.asked)
    assert not (view.typing)
    assert not (view.menu)


def test_menus_questions_and_lines_of_text_are_told_apart() -> None:
    menu = "Weapons\na - a +0 short sword\n(end)"
    assert draw(ROOM, menu=menu).menu == menu
    asked = draw(ROOM, message="What do you want to eat? [b or ?*]", asked=True)
    assert (asked.asked, asked.typing) == (True, False)
    assert asked.message == "What do you want to eat? [b or ?*]"
    typing = draw(ROOM, message="Call it:", typing=True)
    assert (typing.asked, typing.typing) == (False, True)


ODD = (
    ("$", "37 gold pieces"),
    ("a", "a scroll labeled FOO - BAR: 2 (1 north)"),
    ("#", "an orange called Inventory: nothing"),
    ("z", "a p\xe9ch\xe9 \x85 {0:1}"),
)
SHOWN = [
    observation(ROOM),
    observation(ROOM, inventory=ROGUE),
    observation(ROOM, inventory=ODD, message="a - b\nInventory of the shop."),
    observation(ROOM, menu="Inventory\n\na - x\n$ - y\n(1 of 2)", inventory=ODD[:1]),
    observation("@", message="You die...", hit_points=(0, 9)),
]
PROMPTS = {
    "window": "".join(f"Observation:\n{one}\nAction: north\n\n" for one in SHOWN[:-1])
    + f"Your last action: north\nYou see now:\n{SHOWN[-1]}\n\nChoose the next action",
    "log": "\n".join(
        f"Before your last action you saw:\n{one}\n\nYour last action: east\n" for one in SHOWN
    ),
    "notes": "\n".join(
        f"You see:\n{one}\nVisited on level 1: (5, 7)\nKnown places: dead end at (1, 2) on level 1"
        for one in SHOWN
    ),
}


@pytest.mark.parametrize("prompt", PROMPTS.values(), ids=PROMPTS)
def test_observations_inside_a_prompt_are_found_whole(prompt: str) -> None:
    assert OBSERVATION.findall(prompt) == SHOWN


def test_inventory_lines_with_odd_characters_are_read_as_they_are() -> None:
    assert parse_view(SHOWN[2]).inventory == ODD


@given(st.text(max_size=300))
def test_any_other_text_is_refused(text: str) -> None:
    with pytest.raises(UnreadableObservation):
        parse_view(text)


@pytest.mark.parametrize("line", ["You (human rogue) are at", "Status: "])
def test_an_observation_without_place_or_status_is_refused(line: str) -> None:
    kept = [one for one in SHOWN[1].split("\n") if not one.startswith(line)]
    with pytest.raises(UnreadableObservation, match="this is no observation of NetHack"):
        parse_view("\n".join(kept))


@given(st.data())
def test_a_damaged_observation_is_refused_or_read_but_never_breaks(data: st.DataObject) -> None:
    lines = SHOWN[2].split("\n")
    drop = data.draw(st.sets(st.integers(0, len(lines) - 1), max_size=4))
    try:
        view = parse_view("\n".join(line for n, line in enumerate(lines) if n not in drop))
    except UnreadableObservation:
        return
    assert (view.here, view.health) == ((12, 7), 12)
