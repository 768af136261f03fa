import pickle
import sys
from pathlib import Path
from types import ModuleType

import pytest

from envs import registry
from envs.base import Environment
from envs.errors import (
    EnvironmentBroken,
    EnvironmentFault,
    EnvironmentUnavailable,
    InvalidAction,
    UnknownEnvironment,
)
from envs.minihack import boxoban
from envs.registry import EnvironmentSpec, available, family, make, resolve, select
from tests.envs.levels import published

HARD, MEDIUM = "minihack/boxoban-hard-v1", "minihack/boxoban-medium-v1"
WITHOUT_LEVELS = [
    "minihack/mazewalk-9x9-v1",
    "minihack/mazewalk-15x15-v1",
    "minihack/corridor-r3-v1",
    "minihack/corridorbattle-dark-v1",
    "minihack/quest-easy-v1",
    "minihack/quest-medium-v1",
]


@pytest.fixture
def no_levels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A place for Boxoban's levels in which there are none."""
    monkeypatch.setenv("SLOWWAVE_DATA", str(tmp_path / "data"))


def test_a_name_without_a_version_means_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    assert resolve("crafter") == "crafter-v1"
    assert resolve(" Crafter-V1 ") == "crafter-v1"
    newer = {f"game-v{n}": EnvironmentSpec(f"game-v{n}", "m", "f", "p") for n in (2, 10, 9)}
    monkeypatch.setattr(registry, "SPECS", {**registry.SPECS, **newer})
    assert resolve("game") == "game-v10"


def test_a_wrong_name_gets_the_nearest() -> None:
    with pytest.raises(UnknownEnvironment) as caught:
        resolve("craftr")
    assert "There is no environment 'craftr'. Did you mean 'crafter'?" in str(caught.value)
    with pytest.raises(UnknownEnvironment) as caught:
        make("qqqq")
    assert "Did you mean" not in str(caught.value)
    assert "crafter-v1" in str(caught.value)


def test_every_environment_that_is_listed_can_be_made() -> None:
    assert "crafter-v1" in available()
    environment = make("crafter")
    assert environment.id == "crafter-v1"
    environment.close()


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = EnvironmentSpec("ghost-v1", "no_such_module_here", "Ghost", "ghost-game")
    monkeypatch.setattr(registry, "SPECS", {"ghost-v1": spec})
    with pytest.raises(EnvironmentUnavailable, match="pip install ghost-game"):
        make("ghost")


def test_an_error_keeps_its_mend_between_processes() -> None:
    error = pickle.loads(pickle.dumps(InvalidAction("It was wrong.", mend="Do right.")))
    assert isinstance(error, InvalidAction)
    assert str(error) == "It was wrong. Do right."
    assert (error.message, error.mend) == ("It was wrong.", "Do right.")


# --- families and suites ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("crafter-v1", "crafter"),
        ("crafter", "crafter"),
        ("nethack-v12", "nethack"),
        ("minihack", "minihack"),
        ("minihack/quest-easy-v1", "minihack"),
        ("minihack/corridor-r3", "minihack"),
        (" MiniHack/Quest-Easy ", "minihack"),
    ],
)
def test_a_family_is_what_stands_before_task_and_version(name: str, expected: str) -> None:
    assert family(name) == expected


def test_every_member_of_a_suite_is_an_environment() -> None:
    assert dict(registry.SUITES) == {"minihack": (*WITHOUT_LEVELS, MEDIUM, HARD)}
    assert set(registry.SUITES["minihack"]) <= set(registry.SPECS)
    assert {family(name) for name in registry.SPECS} == {"crafter", "minihack", "nethack"}


@pytest.mark.parametrize("name", ["crafter", "minihack/mazewalk-9x9", "NetHack-v1 "])
def test_selecting_an_environment_gives_it_alone(name: str) -> None:
    found = select(name)
    assert found.name == resolve(name)
    assert found.ids == (found.name,)
    assert found.unavailable == {}
    assert found.family == family(found.name)


@pytest.mark.usefixtures("no_levels")
def test_selecting_a_suite_names_what_cannot_be_played_and_why() -> None:
    found = select(" MiniHack")
    assert (found.name, found.family) == ("minihack", "minihack")
    assert list(found.ids) == WITHOUT_LEVELS
    assert list(found.unavailable) == [MEDIUM, HARD]
    for name, why in found.unavailable.items():
        assert why.startswith(f"{name} needs the Boxoban levels, which are not here.")
        assert why.endswith("slowwave envs add-boxoban PATH.")


@pytest.mark.usefixtures("no_levels")
def test_a_suite_has_what_has_been_added_since(tmp_path: Path) -> None:
    levels = published(tmp_path / "levels")
    (levels / "hard" / "000.txt").unlink()
    boxoban.add(levels)
    found = select("minihack")
    assert list(found.ids) == [*WITHOUT_LEVELS, MEDIUM]
    assert list(found.unavailable) == [HARD]


@pytest.mark.usefixtures("no_levels")
def test_one_environment_that_cannot_be_played_is_an_error() -> None:
    with pytest.raises(EnvironmentUnavailable, match="boxoban-hard-v1 needs the Boxoban levels"):
        select("minihack/boxoban-hard")


@pytest.mark.usefixtures("no_levels")
def test_a_suite_of_which_nothing_can_be_played_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(registry, "SUITES", {"puzzles": (HARD, MEDIUM)})
    with pytest.raises(EnvironmentUnavailable) as caught:
        select("puzzles")
    said = str(caught.value)
    assert said.startswith(f"Nothing in the suite 'puzzles' can be played here: {HARD} needs")
    assert "add-boxoban" in said


@pytest.mark.parametrize("wrong", ["minihak", "Minihackk", "mini-hack"])
def test_a_misspelt_suite_gets_the_nearest_name(wrong: str) -> None:
    for look_up in (select, resolve, make):
        with pytest.raises(UnknownEnvironment) as caught:
            look_up(wrong)
        said = str(caught.value)
        assert f"There is no environment {wrong!r}. Did you mean 'minihack'?" in said
        assert "minihack/quest-easy-v1" in said


def test_a_misspelt_task_gets_the_nearest_task() -> None:
    with pytest.raises(UnknownEnvironment, match=r"mean .minihack/quest-medium.\?"):
        select("minihack/quest-medum")


@pytest.mark.parametrize("name", ["minihack", " MINIHACK "])
def test_a_suite_where_one_environment_is_asked_for_lists_its_members(name: str) -> None:
    for look_up in (resolve, make):
        with pytest.raises(UnknownEnvironment) as caught:
            look_up(name)
        said = str(caught.value)
        assert said.startswith("'minihack' is a suite, and one environment is asked for here.")
        assert all(member in said for member in registry.SUITES["minihack"])


# --- environments that cannot be made -----------------------------------------------------------


class Importing:
    """Refuses to import one module, as a finder does for a package that is not installed."""

    def __init__(self, refused: str, missing: str) -> None:
        self._refused, self._missing = refused, missing

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == self._refused:
            words = f"No module named {self._missing!r}"
            raise ModuleNotFoundError(words, name=self._missing)


@pytest.mark.parametrize(
    ("missing", "install"),
    [
        # MiniHack is there and looks its files up through what a new setuptools lacks.
        ("pkg_resources", "pip install 'setuptools<81'."),
        ("minihack", "pip install minihack."),
    ],
)
def test_the_mend_names_the_package_that_is_really_missing(
    monkeypatch: pytest.MonkeyPatch, missing: str, install: str
) -> None:
    spec = EnvironmentSpec("minihack/maze-v1", "no_such_game", "Game", "minihack")
    monkeypatch.setattr(registry, "SPECS", {spec.id: spec})
    monkeypatch.setattr(sys, "meta_path", [Importing(spec.module, missing), *sys.meta_path])
    with pytest.raises(EnvironmentUnavailable) as caught:
        make(spec.id)
    said = str(caught.value)
    assert said.startswith(f"minihack/maze-v1 cannot be used here: No module named '{missing}'.")
    assert said.endswith(install)


def fails(error: Exception) -> EnvironmentSpec:
    """An environment that cannot be made, in a module of its own."""

    def factory(*, world_cache: Path | None) -> Environment:
        raise error

    module = ModuleType("game_that_fails")
    module.__dict__["Game"] = factory
    sys.modules[module.__name__] = module
    return EnvironmentSpec("minihack/fails-v1", module.__name__, "Game", "minihack")


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> EnvironmentSpec:
    monkeypatch.setitem(sys.modules, "game_that_fails", ModuleType("game_that_fails"))
    spec = fails(KeyError("spell"))
    monkeypatch.setattr(registry, "SPECS", {**registry.SPECS, spec.id: spec})
    suite = ("minihack/mazewalk-9x9-v1", spec.id)
    monkeypatch.setattr(registry, "SUITES", {"minihack": suite})
    return spec


def test_an_environment_that_fails_while_it_is_made_is_named(broken: EnvironmentSpec) -> None:
    with pytest.raises(EnvironmentBroken) as caught:
        make(broken.id)
    assert caught.value.message == (
        "minihack/fails-v1 cannot be made: it failed with KeyError: 'spell'."
    )
    assert "game_that_fails" in (caught.value.mend or "")


def test_a_suite_goes_on_without_the_task_that_cannot_be_made(broken: EnvironmentSpec) -> None:
    found = select("minihack")
    assert found.ids == ("minihack/mazewalk-9x9-v1",)
    assert "it failed with KeyError: 'spell'" in found.unavailable[broken.id]


@pytest.mark.usefixtures("broken")
@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), MemoryError(), EnvironmentFault("Ours.")]
)
def test_what_is_the_machines_or_ours_stays_what_it_is(error: Exception) -> None:
    fails(error)
    with pytest.raises(type(error)) as caught:
        make("minihack/fails-v1")
    assert caught.value is error
