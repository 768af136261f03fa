"""The passive checker: every broken promise is an error, and nothing else is touched."""

import ast
import inspect
import math
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from envs import registry
from envs.base import Environment, JsonValue, Observation, Step
from envs.checker import Checked
from envs.errors import EnvironmentBroken, EpisodeNotRunning, InvalidAction
from envs.registry import EnvironmentSpec, make


class Ladder:
    """Climbs a rung a step and is won on the third. What a test changes is a plain attribute."""

    id = "ladder-v1"
    actions: Any = ("up", "wait")
    idle_actions = frozenset({"wait"})
    default_action = "wait"
    instructions = "Climb."
    default_steps = 10
    versions: Mapping[str, str] = MappingProxyType({"rules": "1"})

    def __init__(self, *, world_cache: object = None) -> None:
        self.at = 0
        self.closed = False
        self.see: Callable[[int], Any] = lambda at: f"You stand on rung {at}."
        self.score: Callable[[int], Any] = lambda at: at / 3
        self.end: Callable[[int], Any] = lambda at: (at == 3, "won" if at == 3 else None)

    @property
    def progression(self) -> float:
        return self.score(self.at)

    def reset(self, seed: int) -> Observation:
        self.at = 0
        return Observation(self.see(0))

    def step(self, action: str) -> Step:
        if action not in self.actions:
            raise InvalidAction("No.")
        self.at += action == "up"
        done, outcome = self.end(self.at)
        return Step(Observation(self.see(self.at)), done, outcome)

    def details(self) -> dict[str, JsonValue]:
        return {"rung": self.at}

    def render(self, size: tuple[int, int] = (8, 4)) -> Any:
        return np.zeros((size[1], size[0], 3), np.uint8)

    def close(self) -> None:
        self.closed = True


def broken(how: str) -> Any:
    return pytest.raises(EnvironmentBroken, match=rf"^ladder-v1 breaks its contract: {how}")


def test_a_sound_environment_passes_unchanged() -> None:
    inside = Ladder()
    checked: Environment = Checked(inside)
    for name in ("id", "actions", "idle_actions", "default_action", "default_steps"):
        assert getattr(checked, name) == getattr(inside, name)
    assert (checked.instructions, checked.versions) == ("Climb.", {"rules": "1"})
    assert checked.reset(0) == Observation("You stand on rung 0.")
    assert checked.step("wait") == Step(Observation("You stand on rung 0."), False, None)
    assert checked.step("up") == Step(Observation("You stand on rung 1."), False, None)
    assert checked.progression == 1 / 3
    assert checked.details() == {"rung": 1}
    assert checked.render().shape == (4, 8, 3)
    assert checked.render((5, 6)).shape == (6, 5, 3)
    checked.step("up")
    assert checked.step("up").outcome == "won"
    assert checked.progression == 1.0
    assert checked.reset(1).text == "You stand on rung 0."  # and its progression is 0 again
    assert checked.progression == 0.0
    checked.close()
    assert inside.closed


def test_refusals_are_no_faults() -> None:
    with pytest.raises(InvalidAction):
        Checked(Ladder()).step("down")


def test_everything_the_protocol_asks_for_is_passed_on() -> None:
    asked = {name for name in vars(Environment) if not name.startswith("_")}
    assert asked <= set(dir(Checked(Ladder())))
    assert len(asked) == 13


@pytest.mark.parametrize(
    ("name", "value", "how"),
    [
        ("actions", (), "its vocabulary is empty"),
        ("actions", ("up", "up", "wait"), "its vocabulary is empty or names an action twice"),
        ("default_action", "sleep", "its default action 'sleep' cannot be played"),
    ],
)
def test_what_is_said_once_is_looked_at_once(
    monkeypatch: pytest.MonkeyPatch, name: str, value: object, how: str
) -> None:
    monkeypatch.setattr(Ladder, name, value)
    with broken(how):
        Checked(Ladder())


@pytest.mark.parametrize("text", ["", "A line.\n", None, b"bytes", 7])
@pytest.mark.parametrize("when", ["reset", "step"])
def test_a_text_that_is_none(text: object, when: str) -> None:
    inside = Ladder()
    checked = Checked(inside)
    if when == "step":
        checked.reset(0)
    inside.see = lambda at: text
    with broken("an observation is no text, empty, or ends in a newline"):
        checked.reset(0) if when == "reset" else checked.step("up")


@pytest.mark.parametrize("score", [-0.1, 1.0001, math.nan, math.inf, -math.inf, None, "0.5", 1j])
@pytest.mark.parametrize("when", ["reset", "step", "asked"])
def test_a_progression_outside_its_range(score: object, when: str) -> None:
    inside = Ladder()
    checked = Checked(inside)
    if when != "reset":
        checked.reset(0)
    inside.score = lambda at: score
    with broken(f"its progression went from 0.0 to {re.escape(str(score))}"):
        if when == "reset":
            checked.reset(0)
        elif when == "step":
            checked.step("wait")
        else:
            _ = checked.progression


def test_a_progression_that_falls() -> None:
    inside = Ladder()
    checked = Checked(inside)
    checked.reset(0)
    checked.step("up")
    inside.score = lambda at: 0.25
    with broken("its progression went from 0.333"):
        checked.step("wait")
    assert checked.reset(0).text  # a new episode begins at 0.25, which is not less than 0


@pytest.mark.parametrize(
    ("done", "outcome"),
    [
        (True, None),
        (False, "won"),
        (True, "victory"),
        (True, "step_limit"),
        (True, ""),
        (1, "won"),
        (None, None),
        (0, None),
    ],
)
def test_an_end_that_is_none(done: object, outcome: object) -> None:
    inside = Ladder()
    checked = Checked(inside)
    checked.reset(0)
    inside.end = lambda at: (done, outcome)
    with broken(f"a step is done={done} with the outcome {outcome!r}"):
        checked.step("up")


@pytest.mark.parametrize("what", [None, "You fell.", ("text", False, None)])
def test_an_answer_of_another_shape(monkeypatch: pytest.MonkeyPatch, what: object) -> None:
    checked = Checked(Ladder())
    checked.reset(0)
    monkeypatch.setattr(Ladder, "step", lambda self, action: what)
    with broken(f"a step gave {type(what).__name__} and no Step"):
        checked.step("up")
    monkeypatch.setattr(Ladder, "reset", lambda self, seed: what)
    with broken("an observation is no text"):
        checked.reset(0)


def test_the_mend_names_the_command() -> None:
    inside = Ladder()
    inside.see = lambda at: ""
    with pytest.raises(EnvironmentBroken) as caught:
        Checked(inside).reset(0)
    assert caught.value.mend == (
        "Its scores count for nothing until this is mended; try slowwave envs check ladder-v1."
    )


def test_the_registry_puts_it_around_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = EnvironmentSpec("ladder-v1", __name__, "Ladder", "ladder")
    monkeypatch.setattr(registry, "SPECS", {"ladder-v1": spec})
    found = make("ladder")
    assert isinstance(found, Checked)
    inside = found.inside
    assert isinstance(inside, Ladder)
    found.reset(0)
    inside.end = lambda at: (True, "lost")
    with broken("a step is done=True"):
        found.step("up")


def test_it_plays_nothing_of_its_own() -> None:
    """Each call goes through once: a checker that played would change the game."""
    calls: list[str] = []

    class Counting(Ladder):
        def step(self, action: str) -> Step:
            calls.append(action)
            return super().step(action)

    checked = Checked(Counting())
    checked.reset(0)
    for action in ("up", "wait"):
        checked.step(action)
    assert calls == ["up", "wait"]
    assert "random" not in {
        name.name
        for node in ast.walk(ast.parse(inspect.getsource(inspect.getmodule(Checked))))
        if isinstance(node, ast.Import)
        for name in node.names
    }


def test_a_game_that_is_not_running_is_the_environments_matter() -> None:
    class Strict(Ladder):
        def step(self, action: str) -> Step:
            raise EpisodeNotRunning("No game.")

    with pytest.raises(EpisodeNotRunning):
        Checked(Strict()).step("up")


def test_what_an_environment_may_not_raise_becomes_a_sentence_with_its_name() -> None:
    class Failing(Ladder):
        def step(self, action: str) -> Step:
            raise KeyError("left")

    checked = Checked(Failing())
    checked.reset(1)
    with pytest.raises(EnvironmentBroken, match=r"failed with KeyError: 'left'") as caught:
        checked.step(checked.default_action)
    assert checked.id in str(caught.value)


def test_a_full_disk_is_not_the_environments_fault() -> None:
    class Failing(Ladder):
        def step(self, action: str) -> Step:
            raise OSError(28, "No space left on device")

    checked = Checked(Failing())
    checked.reset(1)
    with pytest.raises(OSError, match="No space"):
        checked.step(checked.default_action)


def test_a_file_that_an_environment_misses_is_its_own_fault() -> None:
    class Failing(Ladder):
        def reset(self, seed: int) -> Observation:
            raise FileNotFoundError(2, "No such file", "quest.des")

    with pytest.raises(EnvironmentBroken, match=r"failed with FileNotFoundError: .*quest\.des"):
        Checked(Failing()).reset(1)


@pytest.mark.parametrize("name", ["progression", "instructions", "versions", "details"])
def test_whatever_is_asked_of_an_environment_may_only_fail_with_a_sentence(name: str) -> None:
    def boom(self: object) -> object:
        raise KeyError("boom")

    members = {name: boom if name == "details" else property(boom)}
    checked = Checked(type("Failing", (Ladder,), members)())
    with pytest.raises(EnvironmentBroken, match=r"failed with KeyError: 'boom'"):
        _ = checked.details() if name == "details" else getattr(checked, name)
