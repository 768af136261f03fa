"""`docs/environments.md` shows what is there."""

from pathlib import Path

import pytest

from envs.base import OUTCOMES
from envs.minihack.boxoban import DATA_VARIABLE
from envs.registry import SPECS, make
from tests.support.markdown import document

PAGE = document("docs/environments.md")


def test_every_environment_has_its_row(
    data_with_levels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(DATA_VARIABLE, str(data_with_levels))
    rows = {row[0].strip("`"): row[1:3] for row in list(PAGE.rows("What there is"))[1:]}
    made = {name: make(name) for name in SPECS}
    assert rows == {
        name: [str(len(one.actions)), f"{one.default_steps:,}"] for name, one in made.items()
    }
    for one in made.values():
        one.close()


def test_the_observation_that_is_shown_is_real() -> None:
    (shown,) = [block.text for block in PAGE.blocks if block.language == "text"]
    environment = make("nethack-v1")
    assert environment.reset(0).text == shown.rstrip("\n")
    environment.close()


def test_the_outcomes_are_those_of_the_code() -> None:
    rows = [row[0].strip("`") for row in list(PAGE.rows("How an episode ends"))[1:]]
    assert set(rows) == OUTCOMES | {"step_limit"}
