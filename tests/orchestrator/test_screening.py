"""What a candidate is refused for before anything expensive, each reason by a real scaffold."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator import screening
from orchestrator.config import Config
from orchestrator.editors.rules.catalogue import read_catalogue
from orchestrator.episodes.job import run_job
from orchestrator.episodes.planner import EpisodePlanner, check_scaffold_folder
from orchestrator.episodes.spec import EpisodeResult, MissingEpisode
from orchestrator.episodes.trajectory import TrajectoryError
from orchestrator.outage import Outage
from orchestrator.scaffolds.errors import NoStore
from orchestrator.scaffolds.fault import BrokenScaffold
from orchestrator.screening import PlaySmoke
from tests.support.crafter_parts import EDITS, ROOT, SCAFFOLD, edited_scaffold

CEILING = 0.1
CATALOGUE = {edit.name: edit for edit in read_catalogue(EDITS, "crafter")}


@pytest.fixture
def candidate(tmp_path: Path) -> Path:
    folder = tmp_path / "candidate"
    shutil.copytree(SCAFFOLD, folder, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def smoke(folder: Path, artifacts: Path, steps: int = 10) -> Callable[[], EpisodeResult]:
    """Plays the smoke episode for real."""

    def play() -> EpisodeResult:
        planner = EpisodePlanner.make(Config(sandbox="process"), artifacts, "crafter", steps=steps)
        (job,) = planner.jobs(folder, "0" * 40, [7], author="")
        return run_job(job)

    return play


def never() -> EpisodeResult:
    raise AssertionError("a smoke episode was played")


def refusal_of(
    folder: Path,
    play: PlaySmoke,
    artifacts: Path,
    ceiling: float,
    champion: PlaySmoke = never,
) -> str:
    return screening.try_out(folder, play, artifacts, ceiling, play_champion=champion).refusal


def test_a_sound_candidate_goes_to_the_gate(candidate: Path, artifacts: Path) -> None:
    assert refusal_of(candidate, smoke(candidate, artifacts), artifacts, CEILING) == ""


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(CATALOGUE))
def test_a_shipped_edit_is_not_refused(tmp_path: Path, artifacts: Path, name: str) -> None:
    folder = edited_scaffold(tmp_path / "edited", *_with_needs(name))
    assert refusal_of(folder, smoke(folder, artifacts, 60), artifacts, CEILING) == ""


def _with_needs(name: str) -> list[str]:
    """An edit behind those that it builds on."""
    needs = [each for need in CATALOGUE[name].text.requires for each in _with_needs(need)]
    return list(dict.fromkeys([*needs, name]))


@pytest.mark.parametrize(
    ("path", "text", "says"),
    [
        ("hooks.py", "def on_start(context:\n", "hooks.py:1"),
        ("hooks.py", "import socket\n", "imports socket, which a scaffold may not use"),
        ("prompts/log.j2", "{% if %}\n", "prompts/log.j2:1"),
        ("scaffold.toml", '[scaffold]\nname = "x"\nenvironmnt = "y"\n', "scaffold.toml:"),
        ("evil.sh", "#!/bin/sh\n", "evil.sh"),
    ],
)
def test_a_static_fault_is_refused_unplayed(
    candidate: Path, artifacts: Path, path: str, text: str, says: str
) -> None:
    (candidate / path).write_text(text)
    assert says in refusal_of(candidate, never, artifacts, CEILING)
    with pytest.raises(BrokenScaffold, match=path.replace(".", r"\.")):
        check_scaffold_folder(candidate)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(NoStore, match=r"There is no scaffold folder at .*nowhere"):
        check_scaffold_folder(tmp_path / "nowhere")


MISSING = MissingEpisode(
    key="k", environment="crafter-v1", seed=7, error="ModelTimeout", message="The server is slow."
)


def test_a_smoke_episode_that_anyone_loses_is_nobodys_fault(
    candidate: Path, artifacts: Path
) -> None:
    with pytest.raises(Outage, match="The server is slow"):
        refusal_of(candidate, lambda: MISSING, artifacts, CEILING, lambda: MISSING)


def test_a_smoke_episode_that_only_the_candidate_loses_refuses_it(
    candidate: Path, artifacts: Path
) -> None:
    """Or it would stop this night, and every night that goes on with it."""
    champion = smoke(SCAFFOLD, artifacts)
    refusal = refusal_of(candidate, lambda: MISSING, artifacts, CEILING, champion)
    assert refusal == (
        "The smoke episode was lost, and the champion's was not: The server is slow."
    )


def test_a_full_disk_stops_the_night_whoever_meets_it(candidate: Path, artifacts: Path) -> None:
    full = MISSING.model_copy(update={"error": "DiskFull", "message": "The disk is full."})
    with pytest.raises(Outage, match="The disk is full"):
        refusal_of(candidate, lambda: full, artifacts, CEILING, smoke(SCAFFOLD, artifacts))


def test_a_scaffold_that_breaks_is_refused_with_its_fault(candidate: Path, artifacts: Path) -> None:
    (candidate / "hooks.py").write_text(
        "def on_observation(context):\n    if context.step == 3:\n        return 1 / 0\n"
    )
    refusal = refusal_of(candidate, smoke(candidate, artifacts), artifacts, CEILING)
    assert refusal.startswith("The smoke episode failed: The scaffold failed at hooks.py:3")


def test_a_scaffold_that_plays_by_itself_is_refused(candidate: Path, artifacts: Path) -> None:
    (candidate / "hooks.py").write_text(
        "def before_act(context, action):\n"
        "    return 'sleep' if context.step % 5 == 0 else action\n"
    )
    play = smoke(candidate, artifacts)
    refusal = refusal_of(candidate, play, artifacts, CEILING)
    assert refusal == (
        "Code overrode the model in 20% of the steps, and 10% is allowed: a scaffold that plays by"
        " itself is not a memory scaffold."
    )
    assert refusal_of(candidate, play, artifacts, 0.2) == ""


def test_a_scaffold_that_takes_memory_from_the_model_is_refused(artifacts: Path) -> None:
    folder = ROOT / "scaffolds" / "no-memory"
    refusal = refusal_of(folder, smoke(folder, artifacts), artifacts, CEILING)
    assert refusal == ("The model chose no memory command in any episode: they must stay its own.")


def test_a_memory_command_that_was_refused_is_none(candidate: Path, artifacts: Path) -> None:
    """The prompts send the model to a file that is not there."""
    shutil.rmtree(candidate / "memory")
    (candidate / "hooks.py").unlink()
    for name in ("log", "plan"):
        path = candidate / "prompts" / f"{name}.j2"
        path.write_text(path.read_text().replace("actions_log", "diary"))
    refusal = refusal_of(candidate, smoke(candidate, artifacts), artifacts, CEILING)
    assert "chose no memory command" in refusal


def test_a_smoke_episode_whose_trajectory_is_damaged_is_not_judged(
    candidate: Path, artifacts: Path
) -> None:
    result = smoke(candidate, artifacts)()
    (artifacts / result.trajectory).write_bytes(b"")
    with pytest.raises(TrajectoryError, match="damaged or cut off"):
        refusal_of(candidate, lambda: result, artifacts, CEILING)
