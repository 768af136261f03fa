"""Finding and starting the server, with one that is not real; none needs torch."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from orchestrator.models.config import ModelConfig
from orchestrator.models.errors import ModelUnreachable
from orchestrator.models.local import launch
from orchestrator.models.local import weights as weights_module
from orchestrator.models.local.client import LocalClient
from orchestrator.models.local.launch import Served, ensure, home
from orchestrator.models.local.users import Users
from orchestrator.models.local.weights import Weights
from tests.support.local_model import SERVER, command, made_up
from tests.support.openai_server import OpenAIServer, answer

HELLO = [{"role": "user", "content": "hello"}]
START_S = 30.0


@pytest.fixture
def weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Weights]:
    """Weights of their own, and an end for every server that was started for them."""
    monkeypatch.setattr(weights_module, "PACKAGES", ())
    monkeypatch.setenv(launch.CACHE, str(tmp_path / "cache"))
    before = len(launch._ours)
    yield made_up(tmp_path)
    for process in launch._ours[before:]:
        process.kill()
        process.wait()
    del launch._ours[before:]


def start(weights: Weights, code: str = SERVER) -> Served:
    return ensure(weights, command=command(code), start_s=START_S)


def test_one_server_for_two_callers(weights: Weights) -> None:
    first = start(weights)
    assert start(weights, "raise SystemExit('a second server')") == first
    assert psutil.pid_exists(first.pid)
    assert Users(home(weights) / "users").alive() == [os.getpid()]


def test_another_process_finds_it_and_is_counted(weights: Weights) -> None:
    first = start(weights)
    code = (
        "import sys; from pathlib import Path\n"
        "from orchestrator.models.local.launch import ensure\n"
        "from orchestrator.models.local.weights import Weights\n"
        "given = Weights(sys.argv[1], Path(sys.argv[2]), sys.argv[3])\n"
        "print(ensure(given, command=('/nothing',)).pid, flush=True); sys.stdin.read()"
    )
    arguments = [sys.executable, "-c", code, weights.name, str(weights.path), weights.digest]
    pipe = subprocess.PIPE
    with subprocess.Popen(arguments, stdin=pipe, stdout=pipe, text=True) as other:
        assert other.stdout is not None
        assert int(other.stdout.readline()) == first.pid
        users = Users(home(weights) / "users")
        assert users.alive() == sorted([os.getpid(), other.pid])
        other.communicate()
    assert users.alive() == [os.getpid()]


def test_a_server_that_is_gone_is_replaced(weights: Weights) -> None:
    first = start(weights)
    os.kill(first.pid, signal.SIGKILL)
    launch._ours[-1].wait()
    assert (home(weights) / "server.json").exists()
    second = start(weights)
    assert second.pid != first.pid
    assert json.loads((home(weights) / "server.json").read_text())["pid"] == second.pid


def test_a_server_of_other_weights_is_not_used(weights: Weights) -> None:
    first = start(weights)
    state = home(weights) / "server.json"
    state.write_text(json.dumps(json.loads(state.read_text()) | {"weights": "others"}))
    assert start(weights).pid != first.pid


@pytest.mark.parametrize("state", ["", "{", "[]", '{"port": "x", "pid": 1}', '{"port": 1}'])
def test_a_state_file_that_says_nothing(weights: Weights, state: str) -> None:
    home(weights).mkdir(parents=True)
    (home(weights) / "server.json").write_text(state)
    assert psutil.pid_exists(start(weights).pid)


def test_a_server_that_dies_leaves_its_last_words(weights: Weights) -> None:
    code = "import sys\nfor i in range(40): print('line', i)\nsys.exit('no weights in there')"
    with pytest.raises(ModelUnreachable) as caught:
        start(weights, code)
    message = caught.value.message
    assert "local model 'tiny' ended with status 1" in message
    assert "no weights in there" in message
    assert "line 39" in message
    assert "line 20" not in message
    assert caught.value.mend == f"The whole log is {home(weights) / 'server.log'}."
    assert not caught.value.retryable
    assert not caught.value.billed


def test_a_server_that_never_is_ready_is_ended(weights: Weights) -> None:
    code = "import time\nprint('loading', flush=True)\ntime.sleep(600)"
    with pytest.raises(ModelUnreachable, match="was not ready after 1 s"):
        ensure(weights, command=command(code), start_s=1)
    assert launch._ours[-1].returncode == -signal.SIGKILL


def test_a_process_with_the_number_of_an_earlier_one_is_no_user(tmp_path: Path) -> None:
    users = Users(tmp_path)
    users.add()
    (mark,) = tmp_path.iterdir()
    mark.rename(tmp_path / f"{os.getpid()}-12.00")
    assert users.alive() == []
    assert list(tmp_path.iterdir()) == []


class TestClient:
    """The client, pointed at a real HTTP server that follows a script."""

    def client(self, weights: Weights, *urls: str) -> LocalClient:
        left = list(urls)
        config = ModelConfig(provider="local", model=str(weights.path), max_tokens=9)
        return LocalClient(config, start=lambda _: Served(left.pop(0), 1))

    def test_it_asks_the_server_by_the_model_s_name(
        self, weights: Weights, openai_server: OpenAIServer
    ) -> None:
        openai_server.play(answer("<|ACTION|>noop<|END|>"))
        client = self.client(weights, openai_server.url)
        completion = client.attempt(HELLO, seconds=10)
        client.close()
        assert completion.text == "<|ACTION|>noop<|END|>"
        assert (completion.usage.input_tokens, completion.usage.output_tokens) == (11, 7)
        assert openai_server.bodies[0]["model"] == "tiny"
        assert openai_server.bodies[0]["max_tokens"] == 9

    def test_it_starts_nothing_before_it_is_asked(self, weights: Weights) -> None:
        client = self.client(weights)
        assert client.served is None
        assert weights.digest[:16] in client.fingerprint()
        client.close()

    def test_the_fingerprint_does_not_know_the_port(
        self, weights: Weights, openai_server: OpenAIServer
    ) -> None:
        client = self.client(weights, openai_server.url)
        before = client.fingerprint()
        openai_server.play(answer("yes"))
        client.attempt(HELLO, seconds=10)
        client.close()
        assert client.fingerprint() == before == self.client(weights).fingerprint()

    def test_the_same_weights_elsewhere_have_the_same_fingerprint(
        self, weights: Weights, tmp_path: Path
    ) -> None:
        before = self.client(weights).fingerprint()
        moved = tmp_path / "elsewhere" / "other.gguf"
        moved.parent.mkdir()
        moved.write_bytes(weights.path.read_bytes())
        assert (
            LocalClient(ModelConfig(provider="local", model=str(moved), max_tokens=9)).fingerprint()
            == before
        )

    def test_other_weights_have_another_fingerprint(self, weights: Weights) -> None:
        before = self.client(weights).fingerprint()
        weights.path.write_bytes(b"other weights")
        assert self.client(weights).fingerprint() != before

    def test_a_server_that_is_gone_is_looked_for_again(
        self, weights: Weights, openai_server: OpenAIServer
    ) -> None:
        openai_server.play(answer("back"))
        client = self.client(weights, "http://127.0.0.1:9/v1", openai_server.url)
        with pytest.raises(ModelUnreachable):
            client.attempt(HELLO, seconds=10)
        assert client.attempt(HELLO, seconds=10).text == "back"
        client.close()
