"""An observation, against what a person would write down from the same screen."""

import re
from dataclasses import replace

import numpy as np
import pytest

from envs.nethack.environment import NetHackEnvironment
from envs.nethack.native import nethack
from envs.nethack.screen import read_page, read_screen
from envs.nethack.text import describe
from tests.envs.nethack.conftest import STATUS, Draw, symbol

MONSTER, THING = int(nethack.GLYPH_MON_OFF), int(nethack.GLYPH_OBJ_OFF)
STRENGTH, HUNGER, LOAD, DUNGEON, CONDITIONS, ALIGNMENT = 3, 21, 22, 23, 25, 26


def status_with(**changes: int) -> tuple[int, ...]:
    """The status numbers with some changed, by position: `at3=118`."""
    numbers = list(STATUS)
    for position, number in changes.items():
        numbers[int(position.removeprefix("at"))] = number
    return tuple(numbers)


def test_a_whole_observation(draw: Draw) -> None:
    wall, floor = symbol("wall"), symbol("floor of a room")
    fountain, water = symbol("fountain"), symbol("water")
    things = {
        (8, 4): ("|", "wall", wall),
        (9, 5): (".", "floor of a room", floor),
        (10, 5): ("@", "human priest called Agent", MONSTER + 300),
        (7, 9): ("d", "jackal", MONSTER + 12),
        (10, 2): ("{", "fountain", fountain),
        (14, 5): ("{", "fountain", fountain),
        (9, 4): (")", "dagger", THING + 1),
        **{(x, 6): ("}", "water", water) for x in range(20, 26)},
    }
    screen = draw(
        things,
        said=("You hear a door open.", "The jackal bites!"),
        inventory=(("a", "a blessed +1 mace (weapon in hand)"), ("d", "4 potions of water")),
    )
    assert describe(screen) == (
        "Message: You hear a door open.\n"
        "The jackal bites!\n"
        "You (human priest) are at (10, 5) on level 3 of the Gnomish Mines.\n"
        "In view:\n"
        "- dagger: 1 (1 north, 1 west)\n"
        "- fountain: 3 (3 north); 4 (4 east)\n"
        "- jackal: 4 (4 south, 3 west)\n"
        "- water: 10 (1 south, 10 east); 11 (1 south, 11 east); 12 (1 south, 12 east);"
        " 13 (1 south, 13 east); 2 more\n"
        "Map (columns 7 to 25, rows 2 to 9; you are @):\n"
        "   {\n"
        "\n"
        " |)\n"
        "  .@   {\n"
        "             }}}}}}\n"
        "\n"
        "\n"
        "d\n"
        "Status: hit points 13/16, power 7/8, armor class 4, experience level 2 (21 points),"
        " gold 25, turn 1234, not hungry.\n"
        "Attributes: strength 18/50, dexterity 12, constitution 13, intelligence 11, wisdom 17,"
        " charisma 9, lawful.\n"
        "Inventory:\n"
        "a - a blessed +1 mace (weapon in hand)\n"
        "d - 4 potions of water"
    )


def test_what_waits_for_an_answer_is_said(draw: Draw) -> None:
    asked = describe(draw({}, said=("Really quit? [yn] (n)",), question=True))
    assert asked.startswith(
        "Message: Really quit? [yn] (n)\n"
        "NetHack waits for a character that answers the question.\n"
        "You are at (10, 5)"
    )
    typed = describe(draw({}, said=("Call a bell:",), line=True))
    assert "\nNetHack waits for a line of text, ended with enter.\nYou are at" in typed
    menu = describe(draw({}, menu="Weapons\na - a mace\n(end)", cursor=None))
    assert re.search(r"\nMenu \(.*\):\nWeapons\na - a mace\n\(end\)\nYou are at", menu)


def test_an_empty_scene(draw: Draw) -> None:
    text = describe(draw({}))
    assert text.startswith("Message: nothing\nYou are at (10, 5)")
    assert "\nIn view:\n- nothing\nMap: nothing\nStatus:" in text
    assert text.endswith("\nInventory: nothing")


def test_the_cursor_is_told_only_when_it_has_left_you(draw: Draw) -> None:
    assert "cursor" not in describe(draw({}))
    assert "cursor" not in describe(draw({}, cursor=None))
    assert "\nThe cursor is at (74, 11).\nIn view:" in describe(draw({}, cursor=(74, 11)))


# NetHack: 3 to 18, 18/01 to 18/99, 18/** for 18/100, then 19 to 25. NLE: 19 is 18/01, 118 is
# 18/100, 119 is 19, 125 is 25.
@pytest.mark.parametrize(
    ("number", "written"),
    [(3, "3"), (18, "18"), (19, "18/01"), (28, "18/10"), (117, "18/99"), (118, "18/**"),
     (119, "19"), (125, "25")],
)  # fmt: skip
def test_strength_is_written_as_nethack_writes_it(draw: Draw, number: int, written: str) -> None:
    text = describe(draw({}, status=status_with(at3=number)))
    assert f"\nAttributes: strength {written}, dexterity 12," in text


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"at21": 0}, "turn 1234, satiated."),
        ({"at21": 4, "at22": 1}, "turn 1234, fainting, burdened."),
        ({"at22": 5}, "turn 1234, not hungry, overloaded."),
        ({"at25": 0x20 | 0x80}, "turn 1234, not hungry, blind, stunned."),
        ({"at25": 0x1 | 0x400}, "turn 1234, not hungry, turning to stone, levitating."),
        ({"at25": 0x1FFF}, "turn 1234, not hungry, turning to stone, turning to slime, being"
         " strangled, food poisoned, terminally ill, blind, deaf, stunned, confused,"
         " hallucinating, levitating, flying, riding."),
    ],
)  # fmt: skip
def test_states_are_put_into_words(draw: Draw, changes: dict[str, int], words: str) -> None:
    assert words in describe(draw({}, status=status_with(**changes)))


@pytest.mark.parametrize(("number", "word"), [(-1, "chaotic"), (0, "neutral"), (1, "lawful")])
def test_alignment(draw: Draw, number: int, word: str) -> None:
    assert f"charisma 9, {word}.\n" in describe(draw({}, status=status_with(at26=number)))


def test_a_number_beyond_the_table_is_told_as_a_number(draw: Draw) -> None:
    text = describe(draw({}, status=status_with(at21=9, at23=12)))
    assert "level 3 of dungeon 12." in text
    assert "turn 1234, state 9." in text


def test_every_name_of_a_crowd_is_kept_when_there_are_few(draw: Draw) -> None:
    tree = symbol("tree")
    text = describe(draw({(x, 5): ("#", "tree", tree) for x in (11, 12, 13, 14)}))
    assert "- tree: 1 (1 east); 2 (2 east); 3 (3 east); 4 (4 east)\n" in text


def test_creatures_are_never_cut_short(draw: Draw) -> None:
    rats = {(x, 5): ("r", "giant rat", MONSTER + 85) for x in range(11, 19)}
    line = next(line for line in describe(draw(rats)).splitlines() if "giant rat" in line)
    assert line.count("east") == 8
    assert "more" not in line


def test_what_the_map_alone_shows_is_no_line(draw: Draw) -> None:
    plain = ("wall", "floor of a room", "dark part of a room", "corridor", "lit corridor")
    things = {(20 + x, 5): (".", name, symbol(name)) for x, name in enumerate(plain)}
    assert "In view:\n- nothing\n" in describe(draw(things))


def test_a_real_first_screen(game: NetHackEnvironment) -> None:
    """Every distance, direction and square of a real game, read off the map again."""
    for seed in range(20):
        text = game.reset(seed).text
        x, y = map(int, re.search(r"are at \((\d+), (\d+)\)", text).groups())  # type: ignore[union-attr]
        head = re.search(r"Map \(columns (\d+) to (\d+), rows (\d+) to (\d+);.*\n", text)
        assert head is not None
        left, _, top, bottom = map(int, head.groups())
        rows = text[head.end() :].splitlines()[: bottom - top + 1]
        assert rows[y - top][x - left] == "@"
        seen = text.partition("In view:\n")[2].partition("\nMap (")[0]
        for away, way in re.findall(r"(\d+) \(([^)]*)\)", seen):
            steps = {part.split()[1]: int(part.split()[0]) for part in way.split(", ")}
            dx = steps.get("east", 0) - steps.get("west", 0)
            dy = steps.get("south", 0) - steps.get("north", 0)
            assert int(away) == max(abs(dx), abs(dy))
            assert rows[y + dy - top][x + dx - left] not in " ", (seed, way)


# --- the terminal, read ------------------------------------------------------------------------


def terminal(*rows: str, cursor: tuple[int, int], message: str = "", waits: int = 0) -> dict:
    """NLE's observations of a terminal with these rows."""
    chars = np.full((24, 80), ord(" "), np.uint8)
    for number, row in enumerate(rows):
        chars[number, : len(row)] = np.frombuffer(row.encode("latin-1"), np.uint8)
    said = np.zeros(256, np.uint8)
    said[: len(message)] = np.frombuffer(message.encode("latin-1"), np.uint8)
    return {
        "tty_chars": chars,
        "tty_cursor": np.array(cursor),
        "message": said,
        "internal": np.array([0, 0, 0, waits, 0]),
    }


def test_a_message_on_one_row() -> None:
    row = "You hear a door open.--More--"
    page = read_page(terminal(row, cursor=(0, len(row)), message="You hear a door open.", waits=1))
    assert (page.text, page.more, page.menu) == ("You hear a door open.", True, "")


def test_a_window_over_a_part_of_the_map() -> None:
    rows = (
        "                    Things that are here:",
        "|.....@...|         a long sword",
        "|.........|         2 daggers",
        "-----------         --More--",
    )
    page = read_page(terminal(*rows, cursor=(3, 28), waits=1))
    assert page.text == "Things that are here:\na long sword\n2 daggers"
    assert page.more


def test_a_window_over_the_whole_screen_keeps_its_indents() -> None:
    rows = ("  Chapter one", "", "    It was dark.", " --More--")
    page = read_page(terminal(*rows, cursor=(3, 9), waits=1))
    assert page.text == "  Chapter one\n\n    It was dark."


def test_a_menu_is_cut_from_the_map_beside_it() -> None:
    rows = ("                Weapons", "|..@..|         a - a mace", "-------         (end) ")
    page = read_page(terminal(*rows, cursor=(2, 22), waits=1))
    assert (page.text, page.more) == ("", False)
    assert page.menu == "Weapons\na - a mace\n(end)"


def test_only_a_cursor_on_the_map_is_one(game: NetHackEnvironment) -> None:
    game.reset(0)
    native = game._game._native  # type: ignore[union-attr]
    observed = dict(native.observed(native.last_observation))
    for row, expected in ((0, None), (1, (7, 0)), (21, (7, 20)), (22, None)):
        observed["tty_cursor"] = np.array([row, 7])
        assert read_screen(observed, (), "").cursor == expected
    observed["tty_cursor"] = np.array([5, 7])
    assert read_screen(observed, (), "a menu").cursor is None


def test_a_screen_belongs_to_its_moment(draw: Draw) -> None:
    screen = draw({})
    assert describe(replace(screen, said=("Hello.",))).startswith("Message: Hello.\n")
