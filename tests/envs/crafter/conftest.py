"""Worlds made by hand."""

from collections.abc import Callable, Mapping

import numpy as np
import pytest

from envs.crafter.game import Game
from envs.crafter.snapshot import Snapshot
from envs.crafter.world import AREA

Cell = tuple[int, int]
HandGame = Callable[..., Game]

GRASS = 2  # the second of crafter's materials, counted from 1


def make_game(at: Cell, ground: Mapping[Cell, str] | None = None, *, seed: int = 0) -> Game:
    """A game on grass with the player at a cell, and other ground where given."""
    state = np.random.RandomState(seed).get_state(legacy=False)["state"]
    meadow = Snapshot(
        materials=np.full(AREA, GRASS, np.uint8),
        objects=(),
        random_key=state["key"],
        random_position=state["pos"],
    )
    game = Game()
    game.begin(meadow)
    player = game.player
    if tuple(player.pos) != at:
        game.world.move(player, type(player.pos)(at))
    for cell, material in (ground or {}).items():
        game.world[cell] = material
    return game


@pytest.fixture
def hand_game() -> HandGame:
    return make_game
