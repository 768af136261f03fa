"""`nethack-v1` as its users meet it."""

import csv
import random

import numpy as np
import pytest
from nle import nethack

from envs.errors import EpisodeNotRunning, InvalidAction, InvalidSeed
from envs.nethack.environment import STALL_STEPS, NetHackEnvironment
from envs.nethack.game import Game
from envs.nethack.keys import CHARACTERS, KEYS, NAMED
from envs.nethack.progression import TABLE, progression, shares
from envs.nethack.screen import Screen
from tests.envs.nethack.conftest import STATUS, Debugged, Draw

# --- the vocabulary ------------------------------------------------------------------------------


def test_every_key_of_the_challenge_has_an_action() -> None:
    # NetHackChallenge plays nle.nethack.ACTIONS.
    assert {int(key) for key in nethack.ACTIONS} <= set(KEYS.values())
    assert len(set(KEYS)) == len(KEYS) == len(NAMED) + len(CHARACTERS)


@pytest.mark.parametrize(
    ("action", "key"),
    [("north", "k"), ("southwest", "b"), ("far_east", "L"), ("down", ">"), ("wait", "."),
     ("search", "s"), ("escape", "\x1b"), ("enter", "\r"), ("kick", "\x04"), ("pray", "\xf0"),
     ("help", "?"), ("a", "a"), ("Z", "Z"), ("7", "7"), ("#", "#")],
)  # fmt: skip
def test_keys_are_nethacks(action: str, key: str) -> None:
    assert KEYS[action] == ord(key)


def test_what_a_prompt_may_ask_for_can_be_typed() -> None:
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    assert set(letters + "0123456789" + "*?$-+#.,:;\"'()[]=/!&^`%@_~") <= set(KEYS)


# Each brings the game into another state that waits for a key.
STATES = {
    "moving": (),
    "a menu": ("inventory",),
    "a menu to pick from": ("drop_type",),
    "a question": ("quit",),
    "a question for a thing": ("throw",),
    "a line": ("engrave", "-"),
    "an extended command": ("extended_command",),
    "a place": ("travel",),
    "a prefix": ("move_far",),
    "a number": ("2", "0"),
}
YES = {"y", "Y", "northwest", "far_northwest"}
"""What presses y or Y."""


@pytest.mark.slow
@pytest.mark.parametrize("state", STATES)
def test_every_action_can_be_played_in_every_state(game: NetHackEnvironment, state: str) -> None:
    ended = set()
    for action in game.actions:
        game.reset(0)
        for earlier in STATES[state]:
            assert not game.step(earlier).done
        step = game.step(action)
        assert step.observation.text.startswith("Message: ")
        assert game.details()["steps"] == len(STATES[state]) + 1
        if step.done:
            assert step.outcome == "left"
            ended.add(action)
    assert ended == (YES if state == "a question" else set())


def test_a_wrong_action_names_the_nearest_and_moves_nothing(game: NetHackEnvironment) -> None:
    game.reset(0)
    with pytest.raises(InvalidAction) as caught:
        game.step("noth")
    assert str(caught.value).startswith(
        "nethack-v1 has no action 'noth'. Did you mean 'north'? Its actions are north, east,"
    )
    assert f"and {len(game.actions) - 40} more." in str(caught.value)
    for number in ("00", "42", "99", ">", ""):  # a widely used wrapper takes the first three
        with pytest.raises(InvalidAction):
            game.step(number)
    assert game.details()["steps"] == 0


@pytest.mark.parametrize("seed", [-1, 2**31, 1.0, "7", True, None])
def test_a_seed_is_a_whole_number_in_range(game: NetHackEnvironment, seed: object) -> None:
    with pytest.raises(InvalidSeed, match="from 0 to 2147483647"):
        game.reset(seed)  # type: ignore[arg-type]


def test_the_largest_seed_is_played(game: NetHackEnvironment) -> None:
    assert game.reset(2**31 - 1) == game.reset(2**31 - 1) != game.reset(2**31 - 2)


def test_nothing_can_be_done_before_reset(game: NetHackEnvironment) -> None:
    with pytest.raises(EpisodeNotRunning, match="no episode has begun"):
        game.step("north")
    with pytest.raises(EpisodeNotRunning, match="no episode has begun"):
        game.render()
    assert game.details() == {}
    assert game.progression == 0.0


def test_seeds_bring_different_characters(game: NetHackEnvironment) -> None:
    roles = {game.reset(seed).text.partition("\nYou (")[2].partition(")")[0] for seed in range(30)}
    assert len(roles) > 8


# --- progression ---------------------------------------------------------------------------------


def test_the_table_is_that_of_the_file() -> None:
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows = {row["mark"]: float(row["percent"]) for row in csv.DictReader(file)}
    assert {f"{kind} {number}": share * 100 for (kind, number), share in shares().items()} == (
        pytest.approx(rows)
    )
    assert (rows["depth 1"], rows["depth 2"], rows["depth 10"]) == (0.0, 1.5392, 12.5586)
    assert {number for kind, number in shares() if kind == "experience_level"} == set(range(1, 31))


@pytest.mark.parametrize(
    ("depth", "level", "percent"),
    [(1, 1, 0.0), (2, 1, 1.5392), (10, 1, 12.5586), (10, 8, 12.5586), (-3, 0, 0.0)],
)
def test_progression_is_the_larger_share(depth: int, level: int, percent: float) -> None:
    assert progression(depth, level) == pytest.approx(percent / 100)


def test_past_the_table_its_last_row_counts() -> None:
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows = [
            (*row["mark"].rsplit(" ", 1), float(row["percent"])) for row in csv.DictReader(file)
        ]
    for kind, place in (("depth", 0), ("experience_level", 1)):
        last = max((int(number), share) for name, number, share in rows if name == kind)
        asked = [1, 1]
        asked[place] = last[0] + 5
        assert progression(*asked) == pytest.approx(last[1] / 100)
        assert last[1] < 100  # only ascension is 1


def _percent(mark: str) -> float:
    rows = csv.DictReader(TABLE.read_text(encoding="utf-8").splitlines())
    return next(float(row["percent"]) for row in rows if row["mark"] == mark)


def test_progression_is_the_most_the_game_has_been(debugged: Debugged) -> None:
    debugged.reset(0)
    assert debugged.progression == 0.0
    debugged.go_to(10)
    assert debugged.details()["depth"] == 10
    assert debugged.progression == pytest.approx(0.125586)
    debugged.go_to(2)
    assert (debugged.details()["depth"], debugged.details()["deepest"]) == (2, 10)
    assert debugged.progression == pytest.approx(0.125586)
    debugged.become(14)
    assert debugged.details()["experience_level"] == 14
    assert debugged.progression == pytest.approx(_percent("experience_level 14") / 100)
    debugged.become(3)
    details = debugged.details()
    assert (details["experience_level"], details["highest_experience_level"]) == (3, 14)
    assert debugged.progression == pytest.approx(_percent("experience_level 14") / 100)
    debugged.reset(1)
    assert debugged.progression == 0.0


class _Ascending(Game):
    """Whose next key is the last: NetHack's word for the end is what it would be after all."""

    def press(self, key: int) -> Screen:
        screen = super().press(key)
        self.over = True
        return screen

    def finish(self) -> tuple[str, str]:
        return "ascended", "ascended"


class _Lucky(NetHackEnvironment):
    def _load(self) -> Game:
        loaded = super()._load()
        return _Ascending(loaded._native, self._keys)


def test_ascension_is_one() -> None:
    environment = _Lucky()
    environment.reset(0)
    step = environment.step("north")
    assert (step.done, step.outcome, environment.progression) == (True, "won", 1.0)
    environment.reset(0)
    assert environment.progression == 0.0
    environment.close()


# --- ends ----------------------------------------------------------------------------------------


def test_a_clock_that_stands_still_ends_the_episode(game: NetHackEnvironment) -> None:
    game.reset(4)
    steps = [game.step("escape") for _ in range(150)]
    assert STALL_STEPS == 150
    assert [step.done for step in steps] == [False] * 149 + [True]
    assert steps[-1].outcome == "stalled"
    assert (game.details()["steps"], game.details()["turns"]) == (150, 1)
    with pytest.raises(EpisodeNotRunning, match="the game is over"):
        game.step("escape")
    game.reset(4)
    assert not game.step("escape").done


def test_a_tick_of_the_clock_begins_the_count_again(game: NetHackEnvironment) -> None:
    game.reset(4)
    for _ in range(149):
        assert not game.step("escape").done
    assert not game.step("search").done
    assert game.details()["turns"] == 2
    for _ in range(149):
        assert not game.step("escape").done
    assert game.step("escape").outcome == "stalled"


def test_to_quit_is_to_leave(game: NetHackEnvironment) -> None:
    game.reset(0)
    assert not game.step("quit").done
    step = game.step("y")
    assert (step.done, step.outcome) == (True, "left")
    assert (game.details()["ending"], game.details()["cause_of_death"]) == ("quit", "quit")
    with pytest.raises(EpisodeNotRunning, match="the game is over"):
        game.step("north")
    game.reset(0)
    assert game.details()["ending"] is None
    for action in ("quit", "n"):
        assert not game.step(action).done


# --- where you are -------------------------------------------------------------------------------


def test_travel_moves_the_cursor_and_then_you(game: NetHackEnvironment) -> None:
    # Seed 0: a room of rows 2 to 7; the player stands at (73, 3).
    where = "You (elven priest) are at (73, 3) on level 1 of the Dungeons of Doom."
    assert f"\n{where}\nIn view:" in game.reset(0).text
    assert f"\n{where}\nIn view:" in game.step("travel").observation.text
    moved = game.step("east").observation.text
    assert f"\n{where}\nThe cursor is at (74, 3).\nIn view:" in moved
    moved = game.step("south").observation.text
    assert f"\n{where}\nThe cursor is at (74, 4).\nIn view:" in moved
    assert game.details()["position"] == [73, 3]
    there = game.step(".").observation.text
    assert "You (elven priest) are at (74, 4) on level 1" in there
    assert "The cursor" not in there
    assert game.details()["position"] == [74, 4]


def test_travel_goes_back_to_the_stairs(game: NetHackEnvironment) -> None:
    game.reset(0)  # begins on the staircase up
    for action in ("south", "south", "west"):
        game.step(action)
    assert "- staircase up: 2 (2 north, 1 east)" in game.step("escape").observation.text
    game.step("travel")
    assert "The cursor is at (73, 3)." in game.step("up").observation.text
    assert "are at (73, 3) on level 1" in game.step(".").observation.text


# --- pictures ------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [(960, 480), (320, 200), (64, 64), (1, 1)])
def test_a_picture_has_the_size_that_was_asked_for(
    game: NetHackEnvironment, size: tuple[int, int]
) -> None:
    game.reset(0)
    picture = game.render(size)
    assert (picture.shape, picture.dtype) == ((size[1], size[0], 3), np.uint8)


def test_a_picture_shows_the_terminal_and_leaves_the_game_alone(game: NetHackEnvironment) -> None:
    other = NetHackEnvironment()
    assert game.reset(4) == other.reset(4)
    draw = random.Random(4)
    for _ in range(40):
        action = game.actions[int(draw.random() * 8)]
        before = game.render()
        assert before.any()
        assert (before == game.render()).all()
        assert game.step(action) == other.step(action)
        assert game.details() == other.details()
    other.close()
    # The player, at (x, y) of the map, is drawn in cell (x, y + 1) of 79 by 24 or so.
    x, y = game.details()["position"]
    cell = game.render((80 * 12, 24 * 20))[(y + 1) * 20 : (y + 2) * 20, x * 12 : (x + 1) * 12]
    assert cell.max() > 128


def test_versions_name_what_the_stream_depends_on(game: NetHackEnvironment) -> None:
    named = {"nle", "numpy", "python", "nethack-progression", "envs.nethack"}
    assert named <= set(game.versions)


def test_the_numbers_outside_a_game_are_not_taken_in(game: NetHackEnvironment, draw: Draw) -> None:
    """After the end NLE's numbers are all zero; what was known stays."""
    game.reset(0)
    before = game.details()
    game._taken_in(draw({}, status=(0,) * len(STATUS)))
    assert game.details() == before


def test_explore_mode_in_which_nobody_need_die_is_never_entered(game: NetHackEnvironment) -> None:
    game.reset(5)
    game.step("extended_command")
    for letter in "exploremode":
        game.step(letter)
    asked = game.step("enter").observation.text
    assert "Do you want to enter explore mode?" in asked
    told = game.step("y").observation.text
    assert "non-scoring explore mode" not in told
    assert not game.step("search").done  # and the game goes on as it was
    game.step("extended_command")
    for letter in "exploremode":
        game.step(letter)
    assert "Do you want to enter explore mode?" in game.step("enter").observation.text


def test_a_refused_seed_leaves_the_running_game_alone(game: NetHackEnvironment) -> None:
    game.reset(1)
    game._deepest = 5
    before = game.progression
    with pytest.raises(InvalidSeed):
        game.reset(-1)
    assert game.progression == before
    game.reset(1)
    assert game.progression < before


def test_the_rules_have_no_doubled_braces(game: NetHackEnvironment) -> None:
    assert "}}" not in game.instructions
    assert "{ fountain, } water or lava" in game.instructions
