"""``eval``: one environment, a suite, scaffolds side by side, and a sentence for wrong input.

Episodes are played in this process; tests/flows plays them in parallel ones.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from envs import registry
from orchestrator.cli import evaluate
from orchestrator.cli.app import app
from orchestrator.episodes.job import EpisodeJob
from orchestrator.episodes.spec import EpisodeResult, MissingEpisode
from orchestrator.workspace import Workspace, seed_scaffolds
from tests.support import small_suite
from tests.support.serial import play_serially
from tests.support.small_suite import AWAY, BREAKS, BROKEN_SEED, SENTENCE, SOUND
from tests.support.workspaces import small_workspace

PROCESS = ("--sandbox", "process")
ASKED = ("--seeds", "1-4", "--steps", "30", *PROCESS)
NO_LEVELS = f"{AWAY} needs the Boxoban levels, which are not here."


class Plays:
    """Plays what ``eval`` wants, and keeps what that was."""

    def __init__(self) -> None:
        self.jobs: list[EpisodeJob] = []

    def __call__(
        self, place: Workspace, jobs: list[EpisodeJob], label: str, workers: int | None = None
    ) -> Sequence[EpisodeResult | MissingEpisode]:
        self.jobs = jobs
        return play_serially(jobs)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all tests share, so that no episode is played twice."""
    return tmp_path_factory.mktemp("eval")


@pytest.fixture(autouse=True)
def plays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, stored: Path) -> Plays:
    """Where people call it: a folder without a workspace, Boxoban's levels not added."""
    runner = Plays()
    monkeypatch.setattr(evaluate, "play_jobs", runner)
    monkeypatch.setattr(evaluate.screen, "_width", 160)
    monkeypatch.delenv("SLOWWAVE_WORKSPACE", raising=False)
    monkeypatch.setenv("SLOWWAVE_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(stored)
    return runner


@pytest.fixture
def suite(monkeypatch: pytest.MonkeyPatch) -> None:
    """`minihack` with a sound task, one that breaks in the game of seed 2, and one unavailable."""
    monkeypatch.setattr(registry, "SPECS", small_suite.SPECS)
    monkeypatch.setattr(registry, "SUITES", small_suite.SUITES)


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["eval", *words])


def answer(*words: str) -> Any:
    done = run(*words, "--json")
    assert done.exit_code == 0, done.output
    (line,) = done.stdout.splitlines()
    return json.loads(line)


def rows(text: str) -> dict[str, list[str]]:
    """The cells of every table row, by the first."""
    lines = [[cell.strip() for cell in re.split("[│┃]", line)[1:-1]] for line in text.splitlines()]
    return {cells[0]: cells[1:] for cells in lines if cells}


def scores(episodes: list[dict[str, Any]]) -> dict[tuple[int, str], float]:
    return {(one["seed"], one["environment"]): one["progression"] for one in episodes}


# --- one environment -------------------------------------------------------------------------


def test_one_environment_is_averaged_over_its_seeds(plays: Plays) -> None:
    found = answer("minihack/mazewalk-9x9", *ASKED)
    assert found["environment"] == SOUND
    assert found["environments"] == [SOUND]
    assert found["unavailable"] == {}
    assert found["sandbox"] == "process"
    assert [one["seed"] for one in found["episodes"]] == [1, 2, 3, 4]
    won = [one["progression"] for one in found["episodes"]]
    assert set(won) == {0.0, 1.0}
    mean = sum(won) / 4
    assert found["mean"] == pytest.approx(mean)
    assert found["stderr"] == pytest.approx((sum((one - mean) ** 2 for one in won) / 3 / 4) ** 0.5)
    assert found["missing"] == []
    assert found["metrics"]["progression"] == pytest.approx(100 * mean)
    assert {job.spec.tree for job in plays.jobs} == {found["tree"]}
    done = run("minihack/mazewalk-9x9", *ASKED)
    table = rows(done.stdout)
    for one in found["episodes"]:
        shown = f"{100 * one['progression']:.1f}%"
        assert table[str(one["seed"])] == [shown, str(one["steps"]), one["outcome"]]
    assert f"mean progression {100 * mean:.1f}%" in done.stdout
    assert "0 missing" in done.stdout


# --- a suite ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("suite")
class TestSuite:
    def test_what_cannot_be_played_is_named_and_the_broken_game_is_missing(self) -> None:
        found = answer("minihack", *ASKED)
        assert found["environment"] == "minihack"
        assert found["environments"] == [SOUND, BREAKS]
        assert list(found["unavailable"]) == [AWAY]
        assert found["unavailable"][AWAY].startswith(NO_LEVELS)
        assert "slowwave envs add-boxoban PATH" in found["unavailable"][AWAY]
        (missing,) = found["missing"]
        assert (missing["environment"], missing["seed"]) == (BREAKS, BROKEN_SEED)
        assert (missing["error"], missing["message"]) == ("EnvironmentFailure", SENTENCE)
        by_game = scores(found["episodes"])
        wanted = [(seed, name) for seed in (1, 2, 3, 4) for name in (SOUND, BREAKS)]
        assert list(by_game) == [one for one in wanted if one != (BROKEN_SEED, BREAKS)]
        whole = [(by_game[seed, SOUND] + by_game[seed, BREAKS]) / 2 for seed in (1, 3, 4)]
        assert found["mean"] == pytest.approx(sum(whole) / 3)

    def test_for_people(self) -> None:
        done = run("minihack", *ASKED)
        assert done.exit_code == 0
        assert f"Not played: {NO_LEVELS}" in done.stderr
        assert f"1 missing: {BREAKS}: {SENTENCE}" in done.stderr
        assert "1 missing" in done.stdout
        table, found = rows(done.stdout), answer("minihack", *ASKED)
        by_game = scores(found["episodes"])
        for name in (SOUND, BREAKS):
            won = [score for (_, at), score in by_game.items() if at == name]
            assert table[name] == [f"{100 * sum(won) / len(won):.1f}%"]

    def test_what_never_gives_an_episode_is_in_no_mean_and_said(self) -> None:
        asked = ("minihack", "--seeds", str(BROKEN_SEED), "--steps", "30", *PROCESS)
        found = answer(*asked)
        (episode,) = found["episodes"]
        assert (found["environments"], found["left_out"]) == ([SOUND, BREAKS], [BREAKS])
        assert found["mean"] == episode["progression"]
        done = run(*asked)
        assert f"{BREAKS} gave no episode at all and is in no mean" in done.stderr
        assert f"mean progression {100 * episode['progression']:.1f}%" in done.stdout
        both = answer(*asked, "--compare", "v0,window")
        assert both["left_out"] == [BREAKS]
        assert both["scaffolds"][0]["mean"] == episode["progression"]
        assert both["scaffolds"][1]["difference"]["pairs"] == 1
        assert answer("minihack", *ASKED)["left_out"] == []

    def test_a_suite_of_which_nothing_can_be_played(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(registry, "SUITES", {"minihack": (AWAY, "minihack/boxoban-hard-v1")})
        done = run("minihack", *ASKED)
        assert "Nothing in the suite 'minihack' can be played here" in str(done.exception)
        assert "add-boxoban" in str(done.exception)


# --- side by side ----------------------------------------------------------------------------


@pytest.mark.usefixtures("suite")
class TestCompare:
    NAMES = ("no-memory", "window", "v0")

    def test_differences_are_paired_by_seed_and_against_the_first(self) -> None:
        found = answer("minihack", "--compare", "no-memory, window,v0", *ASKED)
        assert found["against"] == "no-memory"
        assert [one["scaffold"] for one in found["scaffolds"]] == list(self.NAMES)
        assert len({one["tree"] for one in found["scaffolds"]}) == 3
        alone = {name: self._alone(name) for name in self.NAMES}
        for one in found["scaffolds"]:
            by_game = alone[one["scaffold"]]
            for name in (SOUND, BREAKS):
                won = [score for (_, at), score in by_game.items() if at == name]
                assert one["environments"][name] == pytest.approx(sum(won) / len(won))
            (missing,) = one["missing"]
            assert (missing["environment"], missing["seed"]) == (BREAKS, BROKEN_SEED)
            assert one["mean"] == pytest.approx(sum(self._whole(by_game).values()) / 3)
        first, *others = found["scaffolds"]
        assert "difference" not in first
        assert any(one["difference"]["effect"] for one in others), "nothing would be shown"
        base = self._whole(alone["no-memory"])
        for one in others:
            gains = [100 * (score - base[seed]) for seed, score in
                     self._whole(alone[one["scaffold"]]).items()]  # fmt: skip
            difference = one["difference"]
            assert difference["pairs"] == 3
            assert difference["effect"] == pytest.approx(sum(gains) / 3)
            assert difference["low"] <= difference["effect"] <= difference["high"]
            # Of the eight patterns of signs, those that lie as far from zero.
            patterns = [
                sum(gain * sign for gain, sign in zip(gains, signs, strict=True))
                for signs in [(a, b, c) for a in (1, -1) for b in (1, -1) for c in (1, -1)]
            ]
            far = [one for one in patterns if abs(one) >= abs(sum(gains)) - 1e-9]
            assert difference["p"] == len(far) / 8

    def _alone(self, name: str) -> dict[tuple[int, str], float]:
        """What the scaffold scores when it is not compared."""
        folder = "minihack" if name == "v0" else name
        found = answer("minihack", "--scaffold", str(seed_scaffolds() / folder), *ASKED)
        return scores(found["episodes"])

    def _whole(self, by_game: dict[tuple[int, str], float]) -> dict[int, float]:
        """Suite means of the seeds of which nothing is missing."""
        return {seed: (by_game[seed, SOUND] + by_game[seed, BREAKS]) / 2 for seed in (1, 3, 4)}

    def test_for_people_it_is_one_table_and_one_by_environment(self) -> None:
        words = ("minihack", "--compare", ",".join(self.NAMES), *ASKED)
        done, found = run(*words), answer(*words)
        assert done.exit_code == 0
        by_scaffold, _, by_environment = done.stdout.partition("environment")
        assert "difference to no-memory" in by_scaffold
        table = rows(by_scaffold)
        assert [name for name in table if name in self.NAMES] == list(self.NAMES)
        for one in found["scaffolds"]:
            mean = f"{100 * one['mean']:.1f}% ± {100 * one['stderr']:.1f}"
            if "difference" not in one:
                assert table[one["scaffold"]] == [mean, "", "", "", ""]
                continue
            difference = one["difference"]
            assert table[one["scaffold"]] == [
                mean,
                f"{difference['effect']:+.1f} points",
                f"[{difference['low']:+.1f}, {difference['high']:+.1f}]",
                f"{difference['p']:.3g}",
                "3",
            ]
        shown = rows(f"environment{by_environment}")
        for name in (SOUND, BREAKS):
            means = [one["environments"][name] for one in found["scaffolds"]]
            assert shown[name] == [f"{100 * mean:.1f}%" for mean in means]
        # Each reason once, however many scaffolds it hit.
        assert done.stderr.count(SENTENCE) == 1
        assert f"3 missing: {BREAKS}: {SENTENCE}" in done.stderr

    def test_folders_revisions_and_names_stand_side_by_side(
        self, tmp_path: Path, plays: Plays
    ) -> None:
        place = small_workspace(tmp_path / "lab")
        mine = tmp_path / "mine"
        shutil.copytree(seed_scaffolds() / "minihack", mine)
        (mine / "README.md").write_text("Mine.\n")
        names = ("minihack/v0", str(mine), "v0", "window-cot")
        found = answer(
            "minihack", "--compare", ",".join(names), "--seeds", "1", "--steps", "3", *PROCESS,
            "-w", str(place.root),
        )  # fmt: skip
        assert [one["scaffold"] for one in found["scaffolds"]] == list(names)
        revision, folder, seed, _ = (one["tree"] for one in found["scaffolds"])
        assert revision == seed == place.scaffolds.champion("minihack").tree
        assert folder != revision
        # The seed scaffold against the revision that it became: the same episodes.
        twin = found["scaffolds"][2]
        assert twin["difference"] == {
            "effect": 0.0, "low": None, "high": None, "p": None, "pairs": 1,
        }  # fmt: skip
        assert twin["metrics"] == found["scaffolds"][0]["metrics"]

    def test_without_a_pair_there_is_a_dash(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(registry, "SUITES", {"minihack": (BREAKS, AWAY)})
        words = ("minihack", "--compare", "window,v0", "--seeds", str(BROKEN_SEED), *PROCESS)
        done = run(*words, "--steps", "30")
        assert rows(done.stdout)["v0"] == ["–", "– points", "[–, –]", "–", "0"]
        found = answer(*words, "--steps", "30")
        assert found["scaffolds"][1]["environments"] == {BREAKS: None}
        assert found["left_out"] == []  # of nothing else there is a mean

    def test_a_folder_is_meant_where_there_is_one_of_a_baselines_name(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        shutil.copytree(seed_scaffolds() / "window", tmp_path / "window")
        (tmp_path / "window" / "README.md").write_text("Mine.\n")
        words = ("minihack/mazewalk-9x9", "--seeds", "1", "--steps", "3", *PROCESS)
        mine = answer(*words, "--compare", "window,window-cot")["scaffolds"][0]["tree"]
        shipped = answer(*words, "--scaffold", str(seed_scaffolds() / "window"))["tree"]
        assert mine != shipped


# --- wrong input -----------------------------------------------------------------------------

WRONG = [
    (("minihack", "--compare", "v0"), "'v0' names no two scaffolds."),
    (("minihack", "--compare", "v0,,v0 "), "'v0,,v0 ' names no two scaffolds."),
    (("minihack", "--compare", ""), "'' names no two scaffolds."),
    (
        ("minihack", "--compare", "window,v0", "--scaffold", "x"),
        "--compare and --scaffold cannot go together.",
    ),
    (
        ("minihack", "--compare", "v0,windo"),
        "There is no scaffold folder and no revision 'windo'.",
    ),
    (("minihack", "--scaffold", "nowhere"), "no scaffold folder and no revision 'nowhere'."),
    (("minihak",), "There is no environment 'minihak'. Did you mean 'minihack'?"),
    (("minihack/mazewalk-9x8",), "Did you mean 'minihack/mazewalk-9x9'?"),
    (("minihack/boxoban-hard",), "minihack/boxoban-hard-v1 needs the Boxoban levels"),
    (
        ("crafter", "--scaffold", str(seed_scaffolds() / "minihack")),
        "is for the environment 'minihack', not for crafter-v1.",
    ),
    (
        ("minihack", "--compare", f"v0,{seed_scaffolds() / 'nethack'}"),
        "is for the environment 'nethack', not for minihack.",
    ),
    (("minihack", "--seeds", "5-1"), "'5-1' is no list of seeds. Write 1-10 or 1,5,8-9."),
    (("minihack", "--seeds", "one"), "'one' is no list of seeds."),
    (("minihack", "--steps", "0"), "Invalid value for '--steps'"),
    (("minihack", "--workers", "0"), "Invalid value for '--workers'"),
]


@pytest.mark.parametrize(("words", "sentence"), WRONG, ids=[" ".join(one) for one, _ in WRONG])
def test_wrong_input_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    plays: Plays,
    words: tuple[str, ...],
    sentence: str,
) -> None:
    from orchestrator.cli.app import main

    monkeypatch.setattr("sys.argv", ["slowwave", "eval", *words, *PROCESS])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr()
    assert ended.value.code == 2, said.err
    errors = " ".join(said.err.split()).partition("Error: ")[2]
    assert sentence in errors
    assert "Traceback" not in said.err
    assert said.out == ""
    assert plays.jobs == [], "something was played"
