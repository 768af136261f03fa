"""Games that are played, and screens that are written by hand."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest

from envs.base import Observation
from envs.nethack.environment import NetHackEnvironment
from envs.nethack.game import Game, exact
from envs.nethack.native import NLE, nethack
from envs.nethack.screen import Screen

LEVEL_TELEPORT, WISH, MAP = 0x16, 0x17, 0x06
"""The keys ^V, ^W and ^F, which NetHack's debug mode has and no player."""

# NLE's 27 numbers, written out: place, strength twice, the other attributes, score, hit points,
# depth, gold, power, armor class, monster level, experience level and points, turn, hunger, load,
# dungeon, level of it, conditions, alignment.
STATUS = (
    10, 5, 18, 68, 12, 13, 11, 17, 9, 450, 13, 16, 3, 25, 7, 8, 4, 0, 2, 21, 1234, 1, 0, 2, 1, 0, 1,
)  # fmt: skip

Square = tuple[int, int]
Draw = Callable[..., Screen]


def symbol(name: str) -> int:
    """The glyph of a map symbol, by what NetHack calls it."""
    for number in range(nethack.GLYPH_EXPLODE_OFF - nethack.GLYPH_CMAP_OFF):
        if nethack.symdef.from_idx(number).explanation == name:
            return int(nethack.GLYPH_CMAP_OFF + number)
    raise AssertionError(name)


@pytest.fixture
def draw() -> Draw:
    """A screen from things on squares, by column and row: character, name, glyph."""

    def make(things: dict[Square, tuple[str, str, int]], **changes: object) -> Screen:
        chars = np.full((21, 79), ord(" "), np.uint8)
        glyphs = np.full((21, 79), nethack.GLYPH_CMAP_OFF, np.int16)  # stone
        names = np.zeros((21, 79, 80), np.uint8)
        for (x, y), (char, name, glyph) in things.items():
            chars[y, x], glyphs[y, x] = ord(char), glyph
            names[y, x, : len(name)] = np.frombuffer(name.encode(), np.uint8)
        plain = Screen(
            said=(),
            menu="",
            question=False,
            line=False,
            cursor=(10, 5),
            status=STATUS,
            inventory=(),
            glyphs=glyphs,
            chars=chars,
            descriptions=names,
        )
        return replace(plain, **changes)

    return make


@pytest.fixture
def game() -> Iterator[NetHackEnvironment]:
    environment = NetHackEnvironment()
    yield environment
    environment.close()


class Debugged(NetHackEnvironment):
    """NetHack's own debug mode, to be somewhere or someone without playing there.

    Args:
        seeds: Arguments for NLE's `seed` in the place of ours.
    """

    def __init__(self, **seeds: object) -> None:
        super().__init__()
        self._keys = (*self._keys, LEVEL_TELEPORT, WISH, MAP)
        self._seeds = seeds

    def _load(self) -> Game:
        native = exact(NLE, actions=self._keys, character="@", wizard=True)
        ours = native.seed
        native.seed = lambda **given: ours(**{**given, **self._seeds})
        return Game(native, self._keys)

    def press(self, key: int) -> Observation:
        assert self._game is not None
        return self._taken_in(self._game.press(key))

    def go_to(self, depth: int) -> None:
        self.press(LEVEL_TELEPORT)
        self.type(str(depth))

    def become(self, experience_level: int) -> None:
        self.step("extended_command")
        self.type("levelchange")
        self.type(str(experience_level))

    def wish(self, thing: str) -> None:
        self.press(WISH)
        self.type(thing)

    def type(self, line: str) -> None:
        for character in line:
            self.step("space" if character == " " else character)
        self.step("enter")


@pytest.fixture
def debugged() -> Iterator[Debugged]:
    environment = Debugged()
    yield environment
    environment.close()
