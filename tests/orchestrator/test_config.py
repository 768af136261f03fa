"""`slowwave.toml`: steps by family, and a sentence with file, line and mend for what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from envs import registry
from envs.registry import EnvironmentSpec
from orchestrator.config import FIRST_CONFIG, Config, ConfigError, read_config

MODEL = '[models.action]\nprovider = "heuristic"\n'
"""Two lines that every configuration needs."""


def written(folder: Path, text: str) -> Path:
    path = folder / "slowwave.toml"
    path.write_text(text)
    return path


def fault(folder: Path, text: str) -> str:
    path = written(folder, text)
    with pytest.raises(ConfigError) as caught:
        read_config(path)
    assert caught.value.exit_code == 2
    return str(caught.value).replace(str(path), "slowwave.toml")


def test_steps_are_read_by_family(tmp_path: Path) -> None:
    text = MODEL + "[night]\ncandidates = 2\n[night.steps]\nminihack = 40\nnethack = 500\n"
    night = read_config(written(tmp_path, text)).night
    assert (night.candidates, night.steps) == (2, {"minihack": 40, "nethack": 500})
    inline = MODEL + "[night]\nsteps = { crafter = 7 }\n"
    assert read_config(written(tmp_path, inline)).night.steps == {"crafter": 7}


def test_left_out_they_are_the_environments_own(tmp_path: Path) -> None:
    assert read_config(written(tmp_path, MODEL)).night.steps == {}
    assert Config().night.steps == {}


def test_the_first_configuration_has_a_line_for_every_family(tmp_path: Path) -> None:
    found = read_config(written(tmp_path, FIRST_CONFIG.format(root_seed=5)))
    assert found.night.steps == {"crafter": 600, "minihack": 100, "nethack": 2000}


def test_a_family_of_ones_own_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = EnvironmentSpec("ladder/tall-v1", "ladder", "Ladder", "ladder")
    monkeypatch.setattr(registry, "SPECS", {**registry.SPECS, mine.id: mine})
    text = MODEL + "[night.steps]\nladder = 9\n"
    assert read_config(written(tmp_path, text)).night.steps == {"ladder": 9}


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (
            # As it was written when there was one family.
            "[night]\ncandidates = 3\nsteps = 600\n",
            "slowwave.toml:5: 'night.steps': steps are set for each family of environments; write a"
            " table [night.steps] and in it crafter = 600. Correct the value.",
        ),
        (
            "[night.steps]\ncrafter = 10\nminihack = 0\n",
            "slowwave.toml:5: 'night.steps.minihack': Input should be greater than or equal to 1."
            " Correct the value.",
        ),
        (
            '[night.steps]\nnethack = "many"\n',
            "slowwave.toml:4: 'night.steps.nethack': Input should be a valid integer."
            " Correct the value.",
        ),
        (
            "[night.steps]\nnethack = 2.5\n",
            "slowwave.toml:4: 'night.steps.nethack': Input should be a valid integer",
        ),
        (
            "[night.steps]\ncrafter = 10\ncraftr = 10\n",
            "slowwave.toml:5: 'night.steps.craftr': no family of environments; known are crafter,"
            " minihack, nethack. Correct the name.",
        ),
        (
            # A task is no family: all of a suite are played with one limit.
            '[night.steps]\n"minihack/quest-easy-v1" = 10\n',
            "slowwave.toml:4: 'night.steps.minihack/quest-easy-v1': no family of environments",
        ),
        ("[night]\nsteps = true\n", "slowwave.toml:4: 'night.steps': Input should be a valid"),
        ('[night]\nsteps = "600"\n', "slowwave.toml:4: 'night.steps': Input should be a valid"),
    ],
)
def test_wrong_steps_are_named_with_line_and_mend(tmp_path: Path, lines: str, said: str) -> None:
    assert said in fault(tmp_path, MODEL + lines)


def test_a_misspelt_role_is_named_like_a_key(tmp_path: Path) -> None:
    said = fault(tmp_path, MODEL + '[models.acton]\nprovider = "heuristic"\n')
    assert "slowwave.toml:3: 'models.acton': Input should be 'action'" in said
    assert said.endswith("Correct the name.")
