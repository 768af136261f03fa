"""`crafter-v1` as its users meet it."""

import random
from collections.abc import Callable
from pathlib import Path

import crafter
import numpy as np
import pytest

from envs.crafter import creatures
from envs.crafter.creatures import DOWN, RIGHT
from envs.crafter.environment import CrafterEnvironment
from envs.crafter.game import Game
from envs.errors import EpisodeNotRunning, InvalidAction, InvalidSeed
from envs.versions import source_digest

HandGame = Callable[..., Game]


@pytest.fixture
def environment() -> CrafterEnvironment:
    return CrafterEnvironment()


def test_the_vocabulary_is_crafters_and_all_of_it_can_be_played(
    environment: CrafterEnvironment,
) -> None:
    assert environment.actions == tuple(crafter.constants.actions)
    assert len(environment.actions) == 17
    assert environment.idle_actions == {"noop"}
    assert environment.default_action in environment.actions
    environment.reset(0)
    for action in environment.actions:
        assert not environment.step(action).done


def test_a_wrong_action_names_the_nearest_and_moves_nothing(
    environment: CrafterEnvironment,
) -> None:
    environment.reset(0)
    with pytest.raises(InvalidAction) as caught:
        environment.step("move_lft")
    assert str(caught.value) == (
        "crafter-v1 has no action 'move_lft'. Did you mean 'move_left'? Its actions are noop, "
        "move_left, move_right, move_up, move_down, do, sleep, place_stone, place_table, "
        "place_furnace, place_plant, make_wood_pickaxe, make_stone_pickaxe, make_iron_pickaxe, "
        "make_wood_sword, make_stone_sword, make_iron_sword."
    )
    assert environment.details()["steps"] == 0


def test_a_word_like_no_action_gets_no_guess(environment: CrafterEnvironment) -> None:
    environment.reset(0)
    with pytest.raises(InvalidAction) as caught:
        environment.step("")
    assert "Did you mean" not in str(caught.value)


def test_no_step_before_reset(environment: CrafterEnvironment) -> None:
    with pytest.raises(EpisodeNotRunning, match="no episode has begun"):
        environment.step("noop")
    with pytest.raises(EpisodeNotRunning, match="no episode has begun"):
        environment.render()
    assert environment.details() == {}
    assert environment.progression == 0.0


def test_death_ends_the_episode_and_reset_begins_another(environment: CrafterEnvironment) -> None:
    first = environment.reset(0)
    environment._game.world[environment._game.player.pos + RIGHT] = "lava"
    step = environment.step("move_right")
    assert (step.done, step.outcome) == (True, "died")
    assert step.observation.text.startswith("You stand on lava")
    details = environment.details()
    assert details["cause_of_death"] == "lava"
    assert details["died_asleep"] is False
    assert details["steps"] == 1
    with pytest.raises(EpisodeNotRunning, match="the player has died"):
        environment.step("noop")
    assert environment.reset(0) == first
    assert environment.details()["cause_of_death"] is None


@pytest.mark.parametrize("seed", [-1, 2**31, 1.0, "7", True, None])
def test_a_seed_is_a_whole_number_in_range(environment: CrafterEnvironment, seed: object) -> None:
    with pytest.raises(InvalidSeed, match="from 0 to 2147483647"):
        environment.reset(seed)  # type: ignore[arg-type]


def test_achievements_count_once_with_the_step_of_the_first_time(
    environment: CrafterEnvironment,
) -> None:
    environment.reset(0)
    player = environment._game.player
    environment._game.world[player.pos + DOWN] = "water"
    player.facing = DOWN
    for action in ("noop", "do", "do"):
        environment.step(action)
    assert environment.progression == 1 / 22
    assert environment.details()["achievements"] == {"collect_drink": {"first_step": 2, "count": 2}}
    player.inventory["sapling"] = 1
    environment._game.world[player.pos + DOWN] = "grass"
    environment.step("place_plant")
    assert environment.progression == 2 / 22
    details = environment.details()
    assert details["unlocked"] == 2
    assert list(details["achievements"].items())[1] == (  # type: ignore[union-attr]
        "place_plant",
        {"first_step": 4, "count": 1},
    )
    assert details["inventory"] == {}
    assert details["vitals"] == {"health": 9, "food": 9, "drink": 9, "energy": 9}
    assert details["position"] == [32, 32]


def test_crafters_own_limit_does_not_end_the_game(environment: CrafterEnvironment) -> None:
    environment.reset(0)
    environment._game._step = 9_999
    assert not environment.step("noop").done
    assert environment.details()["steps"] == 10_000


def _die_of(game: Game, action: str = "noop", steps: int = 3) -> str | None:
    for _ in range(steps):
        if game.player.health > 0:
            game.advance(action)
    return game.player.killer


def test_a_zombie_is_blamed(hand_game: HandGame) -> None:
    game = hand_game((20, 20))
    game.world.add(creatures.Zombie(game.world, (21, 20), game.player))
    game.player.health = 2
    assert _die_of(game, steps=20) == "zombie"


def test_an_arrow_is_blamed(hand_game: HandGame) -> None:
    game = hand_game((20, 20))
    game.world.add(creatures.Arrow(game.world, (18, 20), RIGHT))
    game.player.health = 2
    assert _die_of(game) == "arrow"


@pytest.mark.parametrize(
    ("empty", "cause"),
    [
        (("food",), "hunger"),
        (("drink",), "thirst"),
        (("energy",), "exhaustion"),
        (("food", "drink"), "hunger and thirst"),
    ],
)
def test_an_empty_vital_is_blamed(hand_game: HandGame, empty: tuple[str, ...], cause: str) -> None:
    game = hand_game((20, 20))
    game.player.health = 1
    game.player.inventory.update(dict.fromkeys(empty, 0))
    # Crafter takes one health when its counter falls below -15: in the sixteenth step.
    assert _die_of(game, steps=15) is None
    assert _die_of(game, steps=1) == cause


def test_a_player_healed_in_the_fatal_step_has_no_killer(hand_game: HandGame) -> None:
    game = hand_game((20, 20), {(21, 20): "lava"})
    game.player._recover = 25
    game.advance("move_right")
    assert game.player.health == 1
    assert game.player.killer is None


def test_a_picture_is_crafters_and_leaves_the_game_alone(environment: CrafterEnvironment) -> None:
    environment.reset(4)
    reference = crafter.Env(seed=4)
    expected = reference.reset()
    assert (environment.render((64, 64)) == expected).all()
    other = CrafterEnvironment()
    other.reset(4)
    draw = random.Random(1)
    awake = [action for action in environment.actions if action != "sleep"]
    for _ in range(200):
        action = draw.choice(awake)
        for played in (environment, other):
            played._game.player.health = 9
        picture = environment.render((90, 99))
        assert environment.step(action) == other.step(action)
    assert picture.shape == (99, 90, 3)
    assert picture.dtype == np.uint8
    assert "night" in environment.step("noop").observation.text


def test_playing_loads_no_texture(
    environment: CrafterEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a texture was loaded")

    monkeypatch.setattr("envs.crafter.native.Textures", refuse)
    environment.reset(0)
    environment.step("noop")
    with pytest.raises(AssertionError, match="a texture was loaded"):
        environment.render()


def test_versions_name_what_the_stream_depends_on(environment: CrafterEnvironment) -> None:
    named = {"crafter", "opensimplex", "numpy", "python", "crafter-rules", "envs.crafter"}
    assert named <= set(environment.versions)
    assert environment.versions["crafter"] == "1.8.3"


def test_any_change_of_the_sources_is_another_version(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1")
    (tmp_path / "b.py").write_text("")
    found = [source_digest(tmp_path)]
    (tmp_path / "data.txt").write_text("no source")
    assert source_digest(tmp_path) == found[0]
    (tmp_path / "a.py").write_text("x = 2")
    found.append(source_digest(tmp_path))
    (tmp_path / "b.py").rename(tmp_path / "c.py")
    found.append(source_digest(tmp_path))
    assert len(set(found)) == 3


def test_the_rules_state_the_installed_amounts(environment: CrafterEnvironment) -> None:
    text = environment.instructions
    rules = crafter.constants
    wood, stone = rules.place["table"]["uses"]["wood"], rules.place["furnace"]["uses"]["stone"]
    for line in (
        f"- place_table: uses {wood} wood; on grass, sand or path",
        f"- place_furnace: uses {stone} stone; on grass, sand or path",
        "- make_iron_pickaxe: uses 1 wood, 1 coal, 1 iron; near a table and furnace",
        "- iron: gives 1 iron, needs stone_pickaxe, leaves path",
        "- grass: gives 1 sapling with a chance of 10 in 100",
        "- water: gives 1 drink",
    ):
        assert line in text.splitlines()
    for name in (*rules.achievements, *rules.actions):
        assert name in text
    assert "{" not in text
