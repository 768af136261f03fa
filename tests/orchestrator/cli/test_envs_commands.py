"""``slowwave envs``: what is here, what holds, and a sentence for every wrong input."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from envs import minihack, registry
from envs.determinism import DeterminismCheck
from envs.errors import BadLevels, EnvironmentFault, EnvironmentUnavailable, UnknownEnvironment
from envs.registry import EnvironmentSpec
from orchestrator.cli import envs as commands
from orchestrator.cli.app import app, main

LEVEL = "; 0\n#####\n#@$.#\n#####\n"


@pytest.fixture(autouse=True)
def no_levels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place for added data in which there is nothing yet."""
    monkeypatch.setenv("SLOWWAVE_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["envs", *words])


def answer(*words: str, status: int = 0) -> Any:
    done = run(*words, "--json")
    assert done.exit_code == status, done.output
    (line,) = done.stdout.splitlines()
    return json.loads(line)


# --- list ----------------------------------------------------------------------------------------


def test_the_list_names_what_is_missing_and_why() -> None:
    found = {one["id"]: one for one in answer("list")["environments"]}
    assert list(found) == list(registry.SPECS)
    assert found["crafter-v1"] == {
        "id": "crafter-v1",
        "suites": [],
        "default_steps": 2_000,
        "actions": 17,
        "reason": None,
        "available": True,
    }
    assert found["nethack-v1"]["default_steps"] == 100_000
    assert found["minihack/quest-easy-v1"]["default_steps"] == 100
    away = [one["id"] for one in found.values() if not one["available"]]
    assert away == ["minihack/boxoban-medium-v1", "minihack/boxoban-hard-v1"]
    assert found["minihack/boxoban-hard-v1"]["suites"] == ["minihack"]
    assert "add-boxoban PATH" in found["minihack/boxoban-hard-v1"]["reason"]


def test_the_list_for_a_person(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands.screen, "_width", 100)
    done = run("list")
    assert done.exit_code == 0
    lines = {line.split()[0]: line.split() for line in done.output.splitlines() if line.split()}
    assert lines["nethack-v1"][1:4] == ["yes", "–", "100,000"]
    assert "minihack/boxoban-hard-v1 needs the Boxoban levels, which are not here." in done.output


# --- add-boxoban ---------------------------------------------------------------------------------


def test_added_levels_make_the_task_available(tmp_path: Path) -> None:
    (tmp_path / "hard").mkdir()
    (tmp_path / "hard" / "000.txt").write_text(LEVEL)
    (added,) = answer("add-boxoban", str(tmp_path))["sets"]
    assert (added["name"], added["levels"], len(added["digest"])) == ("hard", 1, 12)
    assert Path(added["path"]).is_file()
    here = {one["id"]: one["available"] for one in answer("list")["environments"]}
    assert here["minihack/boxoban-hard-v1"] is True
    assert here["minihack/boxoban-medium-v1"] is False
    said = run("add-boxoban", str(tmp_path)).output
    assert "minihack/boxoban-hard-v1 has 1 levels" in said
    assert "none for minihack/boxoban-medium-v1" in said


def test_faulty_levels_are_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "hard").mkdir()
    path = tmp_path / "hard" / "000.txt"
    path.write_text(LEVEL.replace("@", " "))
    refused = run("add-boxoban", str(tmp_path))
    assert isinstance(refused.exception, BadLevels)
    assert refused.exception.message == (
        f"{path}:4: the level that ends here is faulty: it has 0 players."
    )


def test_a_place_without_levels_is_a_sentence(tmp_path: Path) -> None:
    refused = run("add-boxoban", str(tmp_path / "nowhere"))
    assert isinstance(refused.exception, BadLevels)
    assert "medium/train" in str(refused.exception.mend)


def test_levels_without_minihack_are_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(minihack, "boxoban", raising=False)
    monkeypatch.setitem(sys.modules, "envs.minihack.boxoban", None)
    refused = run("add-boxoban", str(tmp_path))
    assert isinstance(refused.exception, EnvironmentUnavailable)
    assert refused.exception.mend == "Install it: pip install minihack."


# --- show ----------------------------------------------------------------------------------------


def test_show_is_what_an_agent_is_told() -> None:
    found = answer("show", "NetHack", "--seed", "3")
    assert found["id"] == "nethack-v1"
    assert found["observation"].startswith("Message: Hello Agent, welcome to NetHack!")
    assert "You are lucky!  Full moon tonight." in found["observation"]
    assert found["default_action"] in found["actions"]
    said = run("show", "nethack", "--seed", "3").output
    assert found["observation"] in said
    assert found["instructions"].strip() in said
    assert "196 actions" in said


def test_a_suite_has_no_first_observation() -> None:
    refused = run("show", "minihack")
    assert isinstance(refused.exception, UnknownEnvironment)
    assert refused.exception.message == (
        "'minihack' is a suite, and one environment is asked for here."
    )


# --- check ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_sound_environment() -> None:
    found = answer("check", "nethack", "--steps", "30", "--seed", "2")
    assert (found["name"], found["ok"], found["seed"], found["steps"]) == (
        "nethack-v1",
        True,
        2,
        30,
    )
    (one,) = found["environments"]
    assert (one["id"], one["ok"], one["faults"], one["unavailable"]) == (
        "nethack-v1",
        True,
        [],
        None,
    )
    assert one["determinism"] == (
        "nethack-v1: 2 processes gave the same stream over 30 steps from seed 2."
    )


SICK = '''
"""Environments that break their contract, each in its own way."""
from envs.crafter.environment import CrafterEnvironment
from envs.base import Step

class Falling(CrafterEnvironment):
    id = "sick/falling-v1"
    falls = 0.9
    @property
    def progression(self):
        self.falls -= 0.001
        return self.falls

class Deaf(CrafterEnvironment):
    id = "sick/deaf-v1"
    idle_actions = frozenset({"sing"})
    def step(self, action):
        return super().step(action if action in self.actions else "noop")

class Raising(CrafterEnvironment):
    id = "sick/raising-v1"
    def reset(self, seed):
        raise ZeroDivisionError("float division by zero")

class Healthy(CrafterEnvironment):
    id = "sick/healthy-v1"

class Stillborn(CrafterEnvironment):
    id = "sick/stillborn-v1"
    actions = ()

class Unmade(CrafterEnvironment):
    id = "sick/unmade-v1"
    def __init__(self, **options):
        raise KeyError("digest")
'''


@pytest.fixture
def sick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A suite of six, of which one is sound and one is not there."""
    module = ModuleType("sick_environments")
    exec(SICK, module.__dict__)
    monkeypatch.setitem(sys.modules, "sick_environments", module)
    kinds = ("Falling", "Deaf", "Raising", "Stillborn", "Unmade", "Healthy")
    specs = {
        spec.id: spec
        for spec in (
            *(EnvironmentSpec(f"sick/{kind.lower()}-v1", module.__name__, kind, "s")
              for kind in kinds),
            EnvironmentSpec("sick/away-v1", "no_such_module_here", "Away", "away-game"),
        )
    }  # fmt: skip
    monkeypatch.setattr(registry, "SPECS", MappingProxyType(specs))
    suites = MappingProxyType({"sick": tuple(specs)})
    for place in (registry, commands):
        monkeypatch.setattr(place, "SUITES", suites)

    def alike(name: str, **asked: int) -> DeterminismCheck:
        """The processes would not know the suite; one is said to differ."""
        ok = name != "sick/deaf-v1"
        return DeterminismCheck(name, ok, (), f"{name}: {'alike' if ok else 'different streams'}.")

    monkeypatch.setattr(commands, "check_determinism", alike)


@pytest.mark.usefixtures("sick")
def test_a_broken_environment_does_not_stop_the_others() -> None:
    found = answer("check", "Sick", "--steps", "20", status=1)
    assert (found["name"], found["ok"]) == ("sick", False)
    told = {one["id"].split("/")[1]: one for one in found["environments"]}
    assert [name for name, one in told.items() if one["ok"]] == ["healthy-v1", "away-v1"]
    assert "The progression went from" in told["falling-v1"]["faults"][0]
    assert "An idle action is not in the vocabulary." in told["deaf-v1"]["faults"]
    assert "An unknown action is not refused with InvalidAction." in told["deaf-v1"]["faults"]
    assert told["deaf-v1"]["faults"][-1] == "sick/deaf-v1: different streams."
    assert told["raising-v1"]["faults"] == [
        "sick/raising-v1 broke off with ZeroDivisionError: float division by zero"
    ]
    assert told["stillborn-v1"]["faults"] == [
        "sick/stillborn-v1 breaks its contract: its vocabulary is empty or names an action twice."
    ]
    assert told["unmade-v1"]["faults"] == [
        "sick/unmade-v1 cannot be made: it failed with KeyError: 'digest'."
    ]
    assert "pip install away-game" in told["away-v1"]["unavailable"]
    assert told["away-v1"]["determinism"] is None


@pytest.mark.usefixtures("sick")
def test_a_check_for_a_person() -> None:
    done = run("check", "sick", "--steps", "20")
    assert done.exit_code == 1
    assert "ok sick/healthy-v1: alike. Its contract holds. (" in done.output
    assert "no sick/deaf-v1: An idle action is not in the vocabulary.\n" in done.output
    assert "–  sick/away-v1 cannot be used here: No module named 'no_such_module_here'." in (
        done.output
    )
    assert done.output.splitlines()[-1] == (
        "sick: 1 of 7 environments are sound, 1 cannot be played here, something is wrong with"
        " sick/falling-v1, sick/deaf-v1, sick/raising-v1, sick/stillborn-v1, sick/unmade-v1."
    )


@pytest.mark.usefixtures("sick")
def test_one_that_is_asked_for_by_name_must_be_there() -> None:
    refused = run("check", "sick/away")
    assert isinstance(refused.exception, EnvironmentUnavailable)
    assert "pip install away-game" in str(refused.exception)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("check", "craftr"), "Did you mean 'crafter'?"),
        (("check", "mini-hack"), "Did you mean 'minihack'?"),
        (("check", "minihack/boxoban-hard"), "slowwave envs add-boxoban PATH."),
        (("show", "minihack/quest-hard"), "There is no environment 'minihack/quest-hard'."),
        (("show", "minihack/boxoban-medium"), "needs the Boxoban levels"),
    ],
)
def test_a_wrong_name_is_a_sentence(words: tuple[str, ...], says: str) -> None:
    refused = run(*words)
    assert isinstance(refused.exception, EnvironmentFault)
    assert says in str(refused.exception)


@pytest.mark.parametrize(
    "words",
    [
        ("check",),
        ("check", "crafter", "--steps", "0"),
        ("check", "crafter", "--steps", "many"),
        ("check", "crafter", "--processes", "1"),
        ("check", "crafter", "--processes", "4"),
        ("check", "crafter", "--seed", "-1"),
        ("show", "crafter", "--seed", "2147483648"),
        ("add-boxoban",),
    ],
)
def test_a_wrong_word_ends_with_status_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    monkeypatch.setattr(sys, "argv", ["slowwave", "envs", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith("Error: ")
    assert "Traceback" not in said
