from pathlib import Path

import pytest

from envs.base import Step
from envs.conformance import faults_of
from envs.crafter.environment import CrafterEnvironment
from envs.minihack.boxoban import DATA_VARIABLE
from envs.registry import available, make


@pytest.mark.parametrize("environment_id", available())
def test_every_environment_conforms(
    environment_id: str, data_with_levels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(DATA_VARIABLE, str(data_with_levels))
    environment = make(environment_id)
    assert faults_of(environment, steps=300) == ()
    environment.close()


class _Sloppy(CrafterEnvironment):
    id = "Sloppy"
    default_action = "wait"
    _moves = 0

    def step(self, action: str) -> Step:
        self._moves += 1
        return super().step(self.actions[self._moves % 5] if action not in self.actions else action)


def test_faults_are_said() -> None:
    faults = faults_of(_Sloppy(), steps=5)
    assert "The id 'Sloppy' is not lower case with a version at its end." in faults
    assert "The default action 'wait' cannot be played." in faults
    assert "An unknown action is not refused with InvalidAction." in faults
    assert "An action that was refused moved the game." in faults
