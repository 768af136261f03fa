import pickle

import pytest

from envs import registry
from envs.errors import EnvironmentUnavailable, InvalidAction, UnknownEnvironment
from envs.registry import EnvironmentSpec, available, make, resolve


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
