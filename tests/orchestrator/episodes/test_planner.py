"""From a configuration to jobs: one environment or a suite, and what a broken one costs."""

from __future__ import annotations

from pathlib import Path

import pytest

from envs import registry
from envs.errors import EnvironmentUnavailable, UnknownEnvironment
from envs.minihack import boxoban
from orchestrator.config import Config
from orchestrator.episodes.job import EnvironmentFailure, run_job
from orchestrator.episodes.planner import EpisodePlanner
from orchestrator.episodes.spec import EpisodeResult, MissingEpisode
from orchestrator.episodes.store import EpisodeStore
from orchestrator.episodes.trajectory import Trajectory
from orchestrator.workspace import seed_scaffolds
from tests.envs.levels import published
from tests.support import small_suite
from tests.support.episode_parts import partial_of
from tests.support.serial import play_serially
from tests.support.small_suite import BREAKS, BREAKS_AT, BROKEN_SEED, SENTENCE, SOUND

TREE = "0" * 40
PROCESS = Config(sandbox="process")
SCAFFOLD = seed_scaffolds() / "minihack"
SUITE = ("minihack/mazewalk-9x9-v1", "nethack-v1", "crafter-v1")


def planner(
    folder: Path, environments: str | tuple[str, ...], steps: int | None = None
) -> EpisodePlanner:
    return EpisodePlanner.make(PROCESS, folder, environments, steps=steps)


def test_jobs_come_seed_by_seed_on_each_environment(tmp_path: Path) -> None:
    jobs = planner(tmp_path, SUITE, 7).jobs(SCAFFOLD, TREE, [5, 2], author="rules", replicate=3)
    specs = [job.spec for job in jobs]
    assert [(spec.seed, spec.environment) for spec in specs] == [
        (seed, name) for seed in (5, 2) for name in SUITE
    ]
    assert len({spec.key for spec in specs}) == 6
    for spec in specs:
        assert (spec.steps, spec.tree, spec.replicate) == (7, TREE, 3)
        game = registry.make(spec.environment)
        assert spec.versions == dict(game.versions)
        game.close()
    assert {job.author for job in jobs} == {"rules"}
    assert {job.scaffold for job in jobs} == {SCAFFOLD}


def test_without_a_limit_each_environment_has_its_own(tmp_path: Path) -> None:
    found = planner(tmp_path, SUITE)
    by_name = {job.spec.environment: job.spec.steps for job in found.jobs(
        SCAFFOLD, TREE, [1], author="")}  # fmt: skip
    assert by_name == {
        "minihack/mazewalk-9x9-v1": 100,
        "nethack-v1": 100_000,
        "crafter-v1": 2_000,
    }
    assert found.steps == 100_000


def test_a_job_of_a_suite_is_the_job_of_its_environment_alone(tmp_path: Path) -> None:
    together = planner(tmp_path, SUITE, 7).jobs(SCAFFOLD, TREE, [5], author="")
    alone = [
        job for name in SUITE for job in planner(tmp_path, name, 7).jobs(
            SCAFFOLD, TREE, [5], author="")
    ]  # fmt: skip
    assert [job.spec.key for job in together] == [job.spec.key for job in alone]


def test_a_shorter_plan_plays_the_first_environment_alone(tmp_path: Path) -> None:
    whole = planner(tmp_path, SUITE)
    short = whole.shorter(12)
    (job,) = short.jobs(SCAFFOLD, TREE, [5], author="")
    assert (job.spec.environment, job.spec.steps) == (SUITE[0], 12)
    assert short.steps == 12
    assert len(whole.games) == 3


def test_levels_are_part_of_an_episodes_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLOWWAVE_DATA", str(tmp_path / "data"))
    name = "minihack/boxoban-hard-v1"
    with pytest.raises(EnvironmentUnavailable, match="needs the Boxoban levels"):
        planner(tmp_path, name)
    levels = published(tmp_path / "levels")
    boxoban.add(levels)
    before = planner(tmp_path, name).jobs(SCAFFOLD, TREE, [5], author="")[0].spec
    file = levels / "hard" / "000.txt"
    file.write_text(file.read_text().replace("#@       #", "# @      #"))
    boxoban.add(levels)
    after = planner(tmp_path, name).jobs(SCAFFOLD, TREE, [5], author="")[0].spec
    assert before.versions != after.versions
    assert before.key != after.key


def test_no_environment_of_that_name(tmp_path: Path) -> None:
    with pytest.raises(UnknownEnvironment, match="is a suite"):
        planner(tmp_path, "minihack")
    with pytest.raises(UnknownEnvironment, match="no environment 'maze-v1'"):
        planner(tmp_path, (SUITE[0], "maze-v1"))


def test_an_environment_that_breaks_in_a_game_loses_that_game(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "SPECS", small_suite.SPECS)
    jobs = planner(tmp_path, (SOUND, BREAKS), 6).jobs(
        SCAFFOLD, TREE, [BROKEN_SEED, BROKEN_SEED + 1], author=""
    )
    with pytest.raises(EnvironmentFailure) as caught:
        run_job(jobs[1])
    assert str(caught.value) == SENTENCE
    outcomes = play_serially(jobs)
    kinds = [type(one) for one in outcomes]
    assert kinds == [EpisodeResult, MissingEpisode, EpisodeResult, EpisodeResult]
    assert outcomes[1] == MissingEpisode(
        key=jobs[1].spec.key,
        environment=BREAKS,
        seed=BROKEN_SEED,
        error="EnvironmentFailure",
        message=SENTENCE,
    )
    # It has no result, so that it is played again once the environment is mended; how far it came
    # can be looked at.
    assert EpisodeStore(tmp_path).get(jobs[1].spec.key) is None
    partial = Trajectory(partial_of(EpisodeStore(tmp_path).trajectory_path(jobs[1].spec.key)))
    assert len(list(partial.steps())) == BREAKS_AT
    assert partial.end["complete"] is False
    assert partial.end["reason"].startswith("EnvironmentBroken")
