"""The MiniHack tasks as their users meet them."""

import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from envs.errors import EpisodeNotRunning, InvalidAction
from envs.minihack.environment import MiniHackEnvironment
from envs.minihack.native import task_class
from envs.minihack.tasks import TASKS
from envs.nethack.game import Game, exact
from envs.nethack.keys import KEYS
from envs.nethack.native import NLE

ROOT = Path(__file__).resolve().parents[3]
PLAYABLE = [name for name, task in TASKS.items() if not task.levels]
EIGHT = ("north", "east", "south", "west", "northeast", "southeast", "southwest", "northwest")


@pytest.fixture
def maze() -> Iterator[MiniHackEnvironment]:
    environment = MiniHackEnvironment(task="mazewalk-9x9")
    yield environment
    environment.close()


def test_the_tasks_are_those_that_were_asked_for() -> None:
    assert [task.id for task in TASKS.values()] == [
        "minihack/mazewalk-9x9-v1",
        "minihack/mazewalk-15x15-v1",
        "minihack/corridor-r3-v1",
        "minihack/corridorbattle-dark-v1",
        "minihack/quest-easy-v1",
        "minihack/quest-medium-v1",
        "minihack/boxoban-medium-v1",
        "minihack/boxoban-hard-v1",
    ]


def _fresh(script: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stderr == ""
    return done.stdout


def test_minihack_is_loaded_in_silence_and_without_its_reader_of_wikis() -> None:
    """Importing inflect takes three seconds; whoever wants it can still import it afterwards."""
    said = _fresh(
        "import sys, envs.minihack.native\n"
        "print('inflect' in sys.modules, 'minihack.wiki' in sys.modules)\n"
        "import minihack.wiki; print(minihack.wiki.PREPROCESSING_ALLOWED)"
    )
    assert said == "False True\nFalse\n"


@pytest.mark.parametrize("name", PLAYABLE)
def test_what_minihack_lets_one_do_can_be_done_and_escape(name: str) -> None:
    task = TASKS[name]
    environment = MiniHackEnvironment(task=name)
    keys = {KEYS[action] for action in environment.actions}
    native = exact(task_class(task.module, task.kind))
    assert {int(key) for key in native.actions} <= keys | {KEYS["enter"]}
    native.close()
    assert "escape" in environment.actions
    assert environment.default_steps == 100


# Where a task lets one act on things, what is asked for is answered by a character.
@pytest.mark.slow
@pytest.mark.parametrize("name", PLAYABLE)
def test_every_action_can_be_played(name: str) -> None:
    environment = MiniHackEnvironment(task=name)
    states = [(), ("zap",), ("apply",), ("drop",)] if "zap" in environment.actions else [()]
    for state in states:
        for action in environment.actions:
            environment.reset(1)
            for earlier in state:
                if earlier in environment.actions:
                    environment.step(earlier)
            step = environment.step(action)
            assert step.observation.text.startswith("Message: ")
            assert step.done is (step.outcome is not None)
    environment.close()


def test_an_action_of_another_task_is_refused(maze: MiniHackEnvironment) -> None:
    maze.reset(0)
    with pytest.raises(InvalidAction) as caught:
        maze.step("pray")
    assert str(caught.value).startswith("minihack/mazewalk-9x9-v1 has no action 'pray'.")
    assert str(caught.value).endswith(f"Its actions are {', '.join((*EIGHT, 'escape'))}.")
    assert maze.details()["steps"] == 0


# --- winning -------------------------------------------------------------------------------------


def _move(seed: int, task: str = "mazewalk-9x9") -> str:
    """The step that leads from the start of this maze onto the stairs beside it."""
    probe = MiniHackEnvironment(task=task)
    text = probe.reset(seed).text
    probe.close()
    line = next(line for line in text.splitlines() if line.startswith("- staircase down: 1 ("))
    way = line.partition("(")[2].rstrip(")").split(", ")
    return "".join(part.split()[1] for part in way)


def _beside_the_stairs() -> Iterator[int]:
    """Seeds whose maze begins beside the stairs, as the text has it."""
    probe = MiniHackEnvironment(task="mazewalk-9x9")
    for seed in range(200):
        if "\n- staircase down: 1 (" in probe.reset(seed).text:
            yield seed
    probe.close()


def test_the_stairs_win(maze: MiniHackEnvironment) -> None:
    seed = next(_beside_the_stairs())
    maze.reset(seed)
    assert (maze.progression, maze.details()["success"]) == (0.0, False)
    step = maze.step(_move(seed))
    assert (step.done, step.outcome, maze.progression) == (True, "won", 1.0)
    assert maze.details()["success"] is True
    with pytest.raises(EpisodeNotRunning, match="the game is over"):
        maze.step("north")
    maze.reset(seed)
    assert (maze.progression, maze.details()["success"]) == (0.0, False)


class _Charged(MiniHackEnvironment):
    """The task with a penalty on every step, also on the one that wins."""

    def _load(self) -> Game:
        kind = task_class(self._task.module, self._task.kind)
        return Game(exact(kind, actions=self._keys, penalty_mode="always"), self._keys)


def test_a_win_that_pays_less_than_one_is_a_win() -> None:
    seed = next(_beside_the_stairs())
    environment = _Charged(task="mazewalk-9x9")
    environment.reset(seed)
    paid: list[float] = []
    native = environment._game._native  # type: ignore[union-attr]
    played = native.step
    native.step = lambda key: paid.append((found := played(key))[1]) or found
    assert environment.step(_move(seed)).outcome == "won"
    assert paid == [pytest.approx(0.99)]
    assert environment.progression == 1.0
    environment.close()


class _Paying(NLE):  # type: ignore[misc]
    """Pays for every step and never says that anything was reached."""

    def _reward_fn(self, *_: object) -> float:
        return 1.0


def test_pay_alone_is_no_win() -> None:
    class Paid(MiniHackEnvironment):
        def _load(self) -> Game:
            return Game(exact(_Paying, actions=self._keys), self._keys)

    environment = Paid(task="mazewalk-9x9")
    environment.reset(0)
    for _ in range(20):
        assert not environment.step("north").done
    assert environment.progression == 0.0
    environment.close()


def test_to_die_is_no_win() -> None:
    """Into the lava that crosses the quest."""
    environment = MiniHackEnvironment(task="quest-easy")
    for seed in range(20):
        environment.reset(seed)
        for _ in range(60):
            step = environment.step("far_east" if "far_east" in environment.actions else "east")
            if "\nNetHack waits for a character" in step.observation.text:
                step = environment.step("y")
            if step.done:
                break
        if step.outcome == "died":
            break
    assert (step.done, step.outcome, environment.progression) == (True, "died", 0.0)
    assert environment.details()["cause_of_death"]
    assert environment.details()["success"] is False
    environment.close()


# --- the rest ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PLAYABLE)
def test_a_seed_names_the_level(name: str) -> None:
    environment = MiniHackEnvironment(task=name)
    starts = [environment.reset(seed).text for seed in (0, 1, 2, 0, 1, 2)]
    assert starts[:3] == starts[3:]
    assert len(set(starts)) == 3
    environment.close()


def test_the_character_does_not_depend_on_the_day(maze: MiniHackEnvironment) -> None:
    # MiniHack's own: a rogue in mazes; its strength and things follow from the seed.
    text = maze.reset(0).text
    assert text.startswith("Message: Hello Agent, welcome to NetHack!")
    assert "\nYou (human rogue) are at (36, 9) on level 1 of the Dungeons of Doom.\n" in text


def test_nothing_can_be_done_before_reset(maze: MiniHackEnvironment) -> None:
    with pytest.raises(EpisodeNotRunning, match="no episode has begun"):
        maze.step("north")
    with pytest.raises(EpisodeNotRunning, match="no episode has begun"):
        maze.render()
    assert maze.details() == {}
    assert maze.progression == 0.0


def test_a_picture_leaves_the_game_alone(maze: MiniHackEnvironment) -> None:
    other = MiniHackEnvironment(task="mazewalk-9x9")
    assert maze.reset(3) == other.reset(3)
    draw = random.Random(3)
    for _ in range(30):
        picture = maze.render((120, 60))
        assert (picture.shape, picture.dtype) == ((60, 120, 3), np.uint8)
        action = EIGHT[int(draw.random() * 8)]
        step = maze.step(action)
        assert step == other.step(action)
        if step.done:
            break
    other.close()


def test_things_are_picked_up_by_walking_in_a_quest() -> None:
    environment = MiniHackEnvironment(task="quest-easy")
    first = environment.reset(3).text
    # The horn and the wand lie where the player begins and are picked up as the game begins.
    assert "f - a horn.  g - a steel wand." in first
    assert "\nf - a horn\n" in first
    environment.close()


@pytest.mark.parametrize("name", PLAYABLE)
def test_the_goal_is_told(name: str) -> None:
    environment = MiniHackEnvironment(task=name)
    assert TASKS[name].goal in environment.instructions
    assert "staircase down (>)" in environment.instructions
    assert {"nle", "minihack", "numpy", "python", "envs.minihack", "envs.nethack"} <= set(
        environment.versions
    )
    environment.close()
