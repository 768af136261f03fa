"""SmolLM2-135M plays: real weights, the real server and player, two processes that share it."""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import psutil
import pytest

from orchestrator.config import Config
from orchestrator.episodes.job import EpisodeJob, run_job
from orchestrator.episodes.planner import EpisodePlanner
from orchestrator.episodes.trajectory import Trajectory
from orchestrator.models.base import Message
from orchestrator.models.config import ModelConfig
from orchestrator.models.errors import PromptTooLong
from orchestrator.models.local import launch
from orchestrator.models.local.client import LocalClient
from orchestrator.models.local.weights import find
from orchestrator.scaffolds.trees import tree_of_folder
from tests.support.local_model import real_model_or_skip

pytestmark = [pytest.mark.slow, pytest.mark.local_model, pytest.mark.xdist_group("local-model")]

SCAFFOLD = Path(__file__).parents[3] / "scaffolds" / "no-memory"
GAMES = ("crafter-v1", "minihack/mazewalk-9x9-v1", "nethack-v1")
STEPS = 2
ANSWER_TOKENS = 24
END_S = 120.0


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache of these tests' own; what was started from it is gone when they are done."""
    real_model_or_skip()
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(launch.CACHE, str(folder))
        yield folder
        for process in launch._ours:
            process.terminate()
            process.wait(END_S)


def server_pid() -> int | None:
    """The process of the server that can be found now."""
    state = launch.home(find("smollm2-135m")) / "server.json"
    return int(json.loads(state.read_text())["pid"]) if state.exists() else None


def play_one(job: EpisodeJob) -> tuple[dict[str, dict[str, float]], str, int | None]:
    """In a process of its own: usage and trajectory of an episode, and the server's process."""
    result = run_job(job)
    return result.usage, result.trajectory, server_pid()


def plan(artifacts: Path, game: str) -> EpisodeJob:
    model = ModelConfig(provider="local", max_tokens=ANSWER_TOKENS)
    config = Config(sandbox="process", models={"action": model})
    planner = EpisodePlanner.make(config, artifacts, game, steps=STEPS)
    (job,) = planner.jobs(SCAFFOLD, tree_of_folder(SCAFFOLD), [7], author="")
    return job


def test_it_plays_every_game_from_one_server_that_ends(cache: Path, tmp_path: Path) -> None:
    jobs = [plan(tmp_path, game) for game in GAMES]
    assert server_pid() is None  # planning needs the model's name, not the model
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=spawn) as pool:
        played = list(pool.map(play_one, jobs))
        (pid,) = {found for _, _, found in played}
        assert pid is not None
        server = psutil.Process(pid)
        assert server.is_running()
    # Its two users are gone, and this process never was one.
    psutil.wait_procs([server], timeout=END_S)
    assert not psutil.pid_exists(pid)
    assert server_pid() is None

    served = launch.home(find("smollm2-135m"))
    calls = 0
    for job, (usage, trajectory, _) in zip(jobs, played, strict=True):
        assert job.spec.models["action"].startswith(f"local:{find('smollm2-135m').digest[:16]}:")
        said = list(turns(tmp_path / trajectory))
        spent = usage["action"]
        assert spent["calls"] == len(said) >= STEPS
        # The server's count of the prompts is that of a tokenizer that has not seen its template.
        assert spent["input_tokens"] == sum(
            tokens_of(served / "smollm2-135m", messages) for messages, _ in said
        )
        assert 0 < spent["output_tokens"] <= ANSWER_TOKENS * len(said)
        assert any(answer.strip() for _, answer in said)
        calls += len(said)
    log = (served / "server.log").read_text()
    assert log.count("[Request received] Model: smollm2-135m") == calls
    assert log.count("Started server process") == 1


def test_it_answers_a_question_and_refuses_what_does_not_fit(cache: Path) -> None:
    client = LocalClient(ModelConfig(provider="local", temperature=0, max_tokens=12))
    try:
        question = "What is the capital of France?"
        first, second = (client.attempt(ask(question), seconds=300) for _ in range(2))
        assert "Paris" in first.text
        assert first == second
        assert first.model == "smollm2-135m"
        with pytest.raises(PromptTooLong, match="maximum context length is 8192 tokens"):
            client.attempt(ask("far " * 8192), seconds=300)
        assert "Paris" in client.attempt(ask(question), seconds=300).text
    finally:
        client.close()


def test_it_samples_at_a_temperature(cache: Path) -> None:
    client = LocalClient(ModelConfig(provider="local", temperature=1.5, max_tokens=16))
    try:
        told = {client.attempt(ask("Tell me a story."), seconds=300).text for _ in range(3)}
    finally:
        client.close()
    assert len(told) > 1


def ask(text: str) -> list[Message]:
    return [{"role": "user", "content": text}]


def turns(path: Path) -> Iterator[tuple[list[dict[str, str]], str]]:
    """The conversation and the answer of every call."""
    trajectory = Trajectory(path)
    for step in trajectory.steps():
        for turn in trajectory.turns(step):
            yield turn.messages, turn.completion


def tokens_of(folder: Path, messages: list[dict[str, str]]) -> int:
    """The tokens of a conversation in ChatML, the format SmolLM2 was tuned on."""
    from tokenizers import Tokenizer

    text = "".join(f"<|im_start|>{one['role']}\n{one['content']}<|im_end|>\n" for one in messages)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    return len(tokenizer.encode(f"{text}<|im_start|>assistant\n", add_special_tokens=False).ids)
