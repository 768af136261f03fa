"""Episodes as jobs: played once, kept by key, missing when the machinery fails."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import Response

from orchestrator.config import BudgetConfig, Config
from orchestrator.episodes.job import (
    OUTSIDE_NIGHTS,
    EpisodeJob,
    read_scaffold,
    run_job,
    stored_result,
)
from orchestrator.episodes.planner import EpisodePlanner
from orchestrator.episodes.spec import EpisodeResult
from orchestrator.episodes.store import EpisodeStore
from orchestrator.episodes.trajectory import Trajectory
from orchestrator.files import DiskFull
from orchestrator.models.config import ModelConfig
from orchestrator.models.errors import BudgetExhausted, ModelFailure, ModelUnreachable
from orchestrator.models.heuristic import HeuristicClient
from orchestrator.models.ledger import SpendLedger
from orchestrator.sandbox.base import SandboxFailure, SandboxLimits
from orchestrator.sandbox.choice import Unsandboxed
from tests.support.crafter_parts import PATIENT, ROOT, SCAFFOLD, CrafterStage, RecordingClient
from tests.support.episode_parts import partial_of
from tests.support.openai_server import OpenAIServer, answer, closed_port, status

STEPS = 40
TREE = "0" * 40
PROCESS = Config(sandbox="process")


def plan(
    artifacts: Path,
    *,
    config: Config | None = None,
    scaffold: Path = SCAFFOLD,
    seed: int = 7,
    steps: int = STEPS,
    limits: SandboxLimits = PATIENT,
    night: str = "",
) -> EpisodeJob:
    planner = EpisodePlanner.make(
        config or PROCESS,
        artifacts,
        "crafter",
        steps=steps,
        night=night,
        started_at=time.time() if night else None,
    )
    (job,) = planner.jobs(scaffold, TREE, [seed], author="")
    return job.model_copy(update={"spec": job.spec.model_copy(update={"limits": limits})})


class Played:
    """Counts the steps that a job really plays."""

    def __init__(self) -> None:
        self.steps = 0

    def __call__(self, done: int) -> None:
        self.steps += 1


# --- an episode -------------------------------------------------------------------------------


def test_a_crafter_episode_through_the_real_sandbox(artifacts: Path) -> None:
    job = plan(artifacts)
    result = run_job(job)
    assert result.key == job.spec.key
    assert (result.environment, result.seed, result.tree) == ("crafter-v1", 7, TREE)
    assert result.outcome == "step_limit"
    assert result.steps == STEPS
    assert result.progression * 22 == pytest.approx(round(result.progression * 22))
    assert result.metrics["progression"] == 100 * result.progression
    calls = result.metrics["model_calls_per_step"]
    assert calls is not None
    assert result.usage["action"]["calls"] == calls * STEPS
    assert result.money_usd == 0.0
    assert result.tokens > 0
    trajectory = Trajectory(artifacts / result.trajectory)
    steps = list(trajectory.steps())
    assert len(steps) == STEPS
    assert trajectory.end["digest"] == result.digest
    assert trajectory.header["spec"] == job.spec.model_dump(mode="json")
    assert "noop" in trajectory.header["instructions"]
    assert not [path for path in artifacts.rglob("*") if ".partial" in path.name]


def test_the_same_episode_twice_is_the_same(artifacts: Path, crafter: CrafterStage) -> None:
    job = plan(artifacts)
    first = run_job(job)
    EpisodeStore(artifacts).forget(job.spec.key)
    second = run_job(job)
    varying = {"seconds"}
    assert first.model_dump(exclude=varying) == second.model_dump(exclude=varying)
    again, _ = crafter.play(SCAFFOLD, seed=7, steps=STEPS)
    assert again.digest == first.digest


def test_every_prompt_of_crafter_is_reconstructed_exactly(crafter: CrafterStage) -> None:
    client = RecordingClient()
    _, path = crafter.play(seed=7, steps=STEPS, client=client)
    trajectory = Trajectory(path)
    turns = [turn for step in trajectory.steps() for turn in trajectory.turns(step)]
    assert [turn.messages for turn in turns] == client.asked
    assert [turn.completion for turn in turns] == client.said


# Without faketime the child moves Python's own clocks before anything else is imported; neither
# Crafter nor the host reads another one while it plays.
OTHER_DAY = """
import time
shift = 4 * 365 * 86400 + 12345
now, now_ns = time.time, time.time_ns
time.time = lambda: now() + shift
time.time_ns = lambda: now_ns() + shift * 10**9
"""
ALONE = """
import sys
from pathlib import Path

ballast = [bytearray(64 + n % 977) for n in range(int(sys.argv[2]))]
del ballast[::3]
from orchestrator.episodes.job import run_job
from test_job import plan

print(run_job(plan(Path(sys.argv[1]), steps=int(sys.argv[3]))).digest)
"""


@pytest.mark.slow
def test_three_processes_and_two_dates_give_one_digest(
    tmp_path: Path, crafter: CrafterStage
) -> None:
    steps = 300
    played, _ = crafter.play(SCAFFOLD, seed=7, steps=steps)
    faketime = shutil.which("faketime")
    other_day = (
        {"wrapper": (faketime, "2031-02-13 23:59:50")} if faketime else {"before": OTHER_DAY}
    )
    digests = {
        _alone(tmp_path / "1", steps, ballast=0, hash_seed="0"),
        _alone(tmp_path / "2", steps, ballast=50_003, hash_seed="1", **other_day),  # type: ignore[arg-type]
        _alone(tmp_path / "3", steps, ballast=200_017, hash_seed="random"),
    }
    assert digests == {played.digest}


def _alone(
    artifacts: Path,
    steps: int,
    *,
    ballast: int,
    hash_seed: str,
    wrapper: tuple[str, ...] = (),
    before: str = "",
) -> str:
    """The digest of an episode played by a process of its own, from an empty folder."""
    script = before + ALONE
    here = Path(__file__).parent
    done = subprocess.run(
        [*wrapper, sys.executable, "-c", script, str(artifacts), str(ballast), str(steps)],
        env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": f"{ROOT}:{here}"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


# --- played once ------------------------------------------------------------------------------


def test_a_finished_key_is_never_played_again(artifacts: Path) -> None:
    job, first, second = plan(artifacts, steps=5), Played(), Played()
    result = run_job(job, first)
    assert run_job(job, second) == result
    assert (first.steps, second.steps) == (5, 0)


def test_another_process_finds_the_result_too(artifacts: Path) -> None:
    job = plan(artifacts, steps=5)
    result = run_job(job)
    assert EpisodeStore(artifacts).get(job.spec.key) == result
    assert list(EpisodeStore(artifacts).results()) == [result]


@pytest.mark.parametrize("harm", ["no trajectory", "cut", "empty", "other fields", "no json"])
def test_a_result_that_is_not_whole_is_played_again(artifacts: Path, harm: str) -> None:
    job = plan(artifacts, steps=5)
    result = run_job(job)
    path = artifacts / "episodes" / job.spec.key[:2] / f"{job.spec.key}.json"
    text = path.read_text()
    if harm == "no trajectory":
        (artifacts / result.trajectory).unlink()
    else:
        record = {**json.loads(text), "score": 1}
        harmed = {
            "cut": text[: len(text) // 2],
            "empty": "",
            "other fields": json.dumps(record),
            "no json": "\x00\xff",
        }
        path.write_text(harmed[harm])
    played = Played()
    again = run_job(job, played)
    assert played.steps == 5
    assert again.digest == result.digest
    assert EpisodeStore(artifacts).get(job.spec.key) == again


def test_what_a_killed_run_left_is_removed(artifacts: Path) -> None:
    job = plan(artifacts, steps=5)
    path = EpisodeStore(artifacts).trajectory_path(job.spec.key)
    path.parent.mkdir(parents=True)
    with subprocess.Popen([sys.executable, "-c", ""]) as killed:
        killed.wait()
    old = path.with_name(f"{path.name}.{killed.pid}.partial")
    alive = path.with_name(f"{path.name}.{os.getppid()}.partial")
    for left in (old, alive, partial_of(path)):
        left.write_bytes(b"half a frame")
    run_job(job)
    assert not old.exists()
    assert not partial_of(path).exists()
    assert alive.exists(), "another process may be playing the same episode"


# --- missing ----------------------------------------------------------------------------------


def openai(url: str, **settings: Any) -> Config:
    model = ModelConfig(
        provider="openai", model="tiny-1", base_url=url, max_retries=0, timeout_s=20, **settings
    )
    return Config(sandbox="process", models={"action": model})


def assert_missing(artifacts: Path, job: EpisodeJob) -> None:
    """There is no result, and what was recorded is marked as not whole."""
    assert EpisodeStore(artifacts).get(job.spec.key) is None
    assert list(artifacts.glob("episodes/??/*.json")) == []
    path = EpisodeStore(artifacts).trajectory_path(job.spec.key)
    assert not path.exists()
    partial = Trajectory(partial_of(path))
    assert all("action" in step for step in partial.steps())
    assert partial.end["complete"] is False


def test_a_model_out_of_reach_makes_the_episode_missing(artifacts: Path) -> None:
    with closed_port() as url:
        job = plan(artifacts, config=openai(url), steps=5)
        with pytest.raises(ModelUnreachable):
            run_job(job)
    assert_missing(artifacts, job)


async def heuristic(request: Request) -> Response:
    """The heuristic player behind the server."""
    messages = json.loads(await request.body())["messages"]
    return await answer(HeuristicClient().complete(messages).text)(request)


def test_an_episode_that_broke_off_goes_on_and_pays_only_for_the_rest(
    artifacts: Path, openai_server: OpenAIServer, crafter: CrafterStage
) -> None:
    steps, before = 6, 7
    job = plan(artifacts, config=openai(openai_server.url), steps=steps)
    openai_server.play(*[heuristic] * before, status(500))
    with pytest.raises(ModelFailure):
        run_job(job)
    assert_missing(artifacts, job)
    openai_server.play(*[heuristic] * 100)
    result = run_job(job)
    calls = result.usage["action"]["calls"]
    assert len(openai_server.bodies) == calls - before
    # Nothing of the breaking off shows, and the same words make the same game.
    played, _ = crafter.play(SCAFFOLD, seed=7, steps=steps)
    assert result.digest == played.digest
    assert list(artifacts.glob("journal/*")) == []


def kept_answers(job: EpisodeJob) -> Path:
    return job.artifacts / "journal" / f"{job.spec.key}.jsonl"


def test_answers_left_by_a_kill_behind_the_result_are_deleted(artifacts: Path) -> None:
    job, other = plan(artifacts, steps=5), plan(artifacts, steps=5, seed=8)
    result = run_job(job)
    for one in (job, other):
        kept_answers(one).parent.mkdir(exist_ok=True)
        kept_answers(one).write_text("{}\n")
    assert run_job(job) == result
    assert not kept_answers(job).exists()
    assert stored_result(other) is None
    assert kept_answers(other).exists(), "that episode has no result yet"


# --- who pays ---------------------------------------------------------------------------------

PAID = {"price_input": 1, "price_output": 1}


@pytest.mark.parametrize(("night", "account"), [("", OUTSIDE_NIGHTS), ("n1", "n1")])
def test_paid_calls_are_entered_inside_a_night_and_outside(
    artifacts: Path, openai_server: OpenAIServer, night: str, account: str
) -> None:
    config = openai(openai_server.url, **PAID).model_copy(
        update={"budget": BudgetConfig(money_usd=Decimal(5), hours=1)}
    )
    openai_server.play(*[heuristic] * 100)
    result = run_job(plan(artifacts, config=config, steps=2, night=night))
    totals = SpendLedger(artifacts / "ledger.db").totals(account)
    calls = result.usage["action"]["calls"]
    assert totals.calls == calls == len(openai_server.bodies)
    assert totals.tokens == calls * (11 + 7)
    assert totals.money_usd == int(calls) * Decimal(18) / 1_000_000


@pytest.mark.parametrize("night", ["", "n1"])
@pytest.mark.parametrize("budget", [{"money_usd": Decimal("0.000001")}, {"tokens": 10}])
def test_the_budget_binds_inside_a_night_and_outside(
    artifacts: Path, openai_server: OpenAIServer, night: str, budget: dict[str, Any]
) -> None:
    config = openai(openai_server.url, **PAID).model_copy(update={"budget": BudgetConfig(**budget)})
    with pytest.raises(BudgetExhausted):
        run_job(plan(artifacts, config=config, steps=2, night=night))
    assert openai_server.bodies == []


def test_a_remote_model_is_counted_even_without_price_and_limit(
    artifacts: Path, openai_server: OpenAIServer
) -> None:
    openai_server.play(*[heuristic] * 100)
    result = run_job(plan(artifacts, config=openai(openai_server.url), steps=2))
    totals = SpendLedger(artifacts / "ledger.db").totals(OUTSIDE_NIGHTS)
    assert (totals.calls, totals.tokens) == (result.usage["action"]["calls"], result.tokens)


def test_a_model_that_costs_nothing_here_leaves_no_ledger(artifacts: Path) -> None:
    run_job(plan(artifacts, steps=2))
    assert not (artifacts / "ledger.db").exists()


# --- what may be played -----------------------------------------------------------------------


def written_by(job: EpisodeJob, author: str, *, allowed: bool = False) -> EpisodeJob:
    return job.model_copy(update={"author": author, "allow_unsandboxed": allowed})


def test_a_models_code_is_not_played_in_a_plain_process(artifacts: Path) -> None:
    job, played = written_by(plan(artifacts, steps=3), "anthropic:x"), Played()
    with pytest.raises(Unsandboxed, match="anthropic:x wrote this scaffold's code"):
        run_job(job, played)
    assert played.steps == 0
    assert list(artifacts.glob("episodes/**/*")) == []


def test_with_leave_it_is_played_and_a_persons_always(artifacts: Path) -> None:
    job = plan(artifacts, steps=3)
    result = run_job(written_by(job, "anthropic:x", allowed=True))
    assert result.steps == 3
    # Neither the author nor the leave decides the result: it is found again, and nothing runs.
    assert run_job(written_by(job, "anthropic:x")) == result
    EpisodeStore(artifacts).forget(job.spec.key)
    assert run_job(job).digest == result.digest


def test_the_planner_hands_on_who_wrote_it_and_the_leave(artifacts: Path) -> None:
    for allowed in (False, True):
        planner = EpisodePlanner.make(
            PROCESS, artifacts, "crafter", steps=3, allow_unsandboxed=allowed
        )
        (job,) = planner.shorter(2).jobs(SCAFFOLD, TREE, [7], author="anthropic:x")
        assert (job.author, job.allow_unsandboxed) == ("anthropic:x", allowed)
        assert (job.sandbox, job.docker) == ("process", PROCESS.docker)


# --- a sandbox or a disk that fails -----------------------------------------------------------


def test_a_sandbox_that_does_not_come_up_makes_the_episode_missing(artifacts: Path) -> None:
    job = plan(artifacts, steps=5, limits=SandboxLimits(start_seconds=0.001))
    with pytest.raises(SandboxFailure):
        run_job(job)
    assert_missing(artifacts, job)


def test_a_full_disk_is_said_and_leaves_no_result(artifacts: Path) -> None:
    job = plan(artifacts, steps=5)
    path = EpisodeStore(artifacts).trajectory_path(job.spec.key)
    path.parent.mkdir(parents=True)
    partial = partial_of(path)
    partial.symlink_to("/dev/full")
    with pytest.raises(
        DiskFull, match=r"The disk is full: .*\.jsonl\.zst could not be written"
    ) as full:
        run_job(job)
    assert "Free some space and run the same command again" in str(full.value)
    assert EpisodeStore(artifacts).get(job.spec.key) is None
    partial.unlink()
    assert run_job(job).steps == 5


# --- scaffolds --------------------------------------------------------------------------------


def test_a_scaffold_is_read_without_importing_it(tmp_path: Path) -> None:
    folder = tmp_path / "scaffold"
    shutil.copytree(SCAFFOLD, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "hooks.py").write_text("raise SystemExit('imported')")
    (folder / "memory" / "plan.txt").write_text("Öl\n", encoding="utf-8")
    manifest, memory = read_scaffold(folder)
    assert manifest.scaffold.name == "crafter"
    assert sorted(memory) == ["actions_log", "plan", "strategy"]
    assert memory["plan"] == "Öl\n"
    assert "hooks" not in sys.modules
    shutil.rmtree(folder / "memory")
    assert read_scaffold(folder)[1] == {}


def test_a_broken_scaffold_keeps_its_score_and_is_stored(artifacts: Path, tmp_path: Path) -> None:
    folder = tmp_path / "scaffold"
    shutil.copytree(SCAFFOLD, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "hooks.py").write_text("def on_start(context):\n    return context.nothing\n")
    job = plan(artifacts, scaffold=folder, steps=5)
    result = run_job(job)
    assert (result.outcome, result.steps) == ("scaffold_fault", 0)
    assert "hooks.py:2" in str(result.details["fault"])
    assert run_job(job, Played()) == result


def test_a_result_survives_its_file(artifacts: Path) -> None:
    result = run_job(plan(artifacts, steps=5))
    assert EpisodeResult.model_validate_json(result.model_dump_json()) == result
