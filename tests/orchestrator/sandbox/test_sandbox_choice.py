"""Which sandbox is used: what `auto` stands for, one of one's own, and when code is refused."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from docker.context import ContextAPI

from orchestrator.config import Config, ConfigError, read_config
from orchestrator.errors import UsageError
from orchestrator.sandbox import make_sandbox
from orchestrator.sandbox.base import Guarantee, SandboxAway, SandboxFailure, SandboxLimits, Session
from orchestrator.sandbox.choice import Choice, Unsandboxed, choose, refuse_unsandboxed
from orchestrator.sandbox.containers import daemon, image
from orchestrator.sandbox.containers.config import DockerConfig
from orchestrator.sandbox.containers.daemon import connect
from orchestrator.sandbox.process import ProcessSandbox
from tests.support.sandbox_parts import PassingAway

OWN = "tests.support.sandbox_parts:passing_away"


@pytest.fixture
def fresh_connections() -> Iterator[None]:
    """Has every daemon be looked for anew, in the test and after it."""
    daemon.forget()
    yield
    daemon.forget()


@pytest.fixture
def no_daemon(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fresh_connections: None
) -> DockerConfig:
    """A configuration under which no daemon answers."""
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nowhere.sock")
    return DockerConfig()


class Engine(BaseHTTPRequestHandler):
    """As much of a Docker engine as is asked whether it has an image."""

    labels: dict[str, str] | None

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path == "/version":
            self._answer(200, {"ApiVersion": "1.43", "Version": "24"})
        elif path.endswith("/images/json"):
            tags = ["slowwave-sandbox:0123456789abcdef"]
            here = [{"Id": "sha256:1", "Created": 1, "Labels": self.labels, "RepoTags": tags}]
            self._answer(200, here if self.labels else [])
        elif path.endswith("/events"):
            self._answer(200, None)
        else:
            self._answer(404, {"message": "No such image"})

    def log_message(self, *_: object) -> None:
        pass

    def _answer(self, status: int, what: object) -> None:
        body = b"" if what is None else json.dumps(what).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def engine(
    monkeypatch: pytest.MonkeyPatch, fresh_connections: None
) -> Iterator[tuple[type[Engine], str]]:
    """An engine without an image, which the environment names, and its address."""

    class Own(Engine):
        labels = None

    with HTTPServer(("127.0.0.1", 0), Own) as server:
        keeper = threading.Thread(target=server.serve_forever, args=(0.01,))
        keeper.start()
        address = f"tcp://127.0.0.1:{server.server_port}"
        monkeypatch.setenv("DOCKER_HOST", address)
        try:
            yield Own, address
        finally:
            server.shutdown()
            keeper.join()


# --- the choice -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["process", OWN])
def test_what_is_named_is_taken_and_no_daemon_asked(kind: str, no_daemon: DockerConfig) -> None:
    assert choose(kind, no_daemon) == Choice(kind, no_daemon, "")


def test_auto_without_a_daemon_is_a_process_and_no_word_is_lost(no_daemon: DockerConfig) -> None:
    found = choose("auto", no_daemon)
    assert (found.kind, found.docker) == ("process", no_daemon)
    # DOCKER_HOST names it: who has set that wants to know.
    assert found.notice.startswith(
        "Scaffold code runs in the process sandbox, not in Docker: Docker's daemon does not answer"
    )


def test_where_nobody_has_asked_for_docker_that_there_is_none_is_no_news(
    no_daemon: DockerConfig, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    connect.cache_clear()
    monkeypatch.delenv("DOCKER_HOST")
    monkeypatch.delenv("DOCKER_CONTEXT", raising=False)
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    monkeypatch.setattr(ContextAPI, "get_current_context", lambda: None)
    monkeypatch.setattr(daemon, "SOCKET", f"unix://{tmp_path}/none.sock")
    assert choose("auto", no_daemon) == Choice("process", no_daemon, "")


def test_a_context_that_is_not_there_is_said(
    no_daemon: DockerConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect.cache_clear()
    monkeypatch.delenv("DOCKER_HOST")
    monkeypatch.setenv("DOCKER_CONTEXT", "nowhere")
    with pytest.raises(UsageError, match="there is no context 'nowhere'"):
        choose("docker", no_daemon)


@pytest.mark.parametrize("kind", ["auto", "docker"])
@pytest.mark.usefixtures("no_daemon")
def test_a_daemon_that_the_configuration_names_is_asked_for(kind: str, tmp_path: Path) -> None:
    named = DockerConfig(host=f"unix://{tmp_path}/named.sock")
    with pytest.raises(SandboxAway, match=r"does not answer \(.*/named\.sock\)"):
        choose(kind, named)


def test_docker_without_a_daemon_is_refused_with_the_mend(
    no_daemon: DockerConfig, tmp_path: Path
) -> None:
    with pytest.raises(SandboxAway, match="daemon does not answer") as away:
        choose("docker", no_daemon)
    assert str(tmp_path / "nowhere.sock") in away.value.message
    assert away.value.mend == (
        "Start it (systemctl start docker, or Docker Desktop), or correct its address."
        " Or use --sandbox process."
    )


NO_IMAGE = "The docker sandbox has no image for this version of Slowwave."


def test_auto_without_an_image_says_so(engine: tuple[type[Engine], str]) -> None:
    config, named = DockerConfig(), DockerConfig(host=engine[1])
    found = choose("auto", config)
    assert (found.kind, found.docker) == ("process", config)
    assert found.notice.startswith("Scaffold code runs in the process sandbox, not in Docker: ")
    assert f"{NO_IMAGE} Build it: slowwave sandbox build" in found.notice
    for kind, asked in (("docker", config), ("docker", named), ("auto", named)):
        with pytest.raises(SandboxFailure) as failure:
            choose(kind, asked)
        assert failure.value.message == NO_IMAGE
        assert "slowwave sandbox build" in str(failure.value.mend)
        assert not isinstance(failure.value, SandboxAway)


@pytest.mark.usefixtures("engine")
def test_an_image_that_is_named_and_not_there() -> None:
    config = DockerConfig(image="mine:1")
    assert "The sandbox's image mine:1 is not there" in choose("auto", config).notice
    with pytest.raises(SandboxFailure, match="image mine:1 is not there"):
        choose("docker", config)


@pytest.mark.parametrize("kind", ["auto", "docker"])
def test_with_an_image_it_is_docker_with_that_image(
    kind: str, engine: tuple[type[Engine], str]
) -> None:
    own, address = engine
    own.labels = {
        image.LABEL_CODE: image.code_fingerprint(),
        image.LABEL_CONTENT: "0123456789abcdef",
        image.LABEL_BASE: "base:1",
        image.LABEL_PYTHON: "3.11.2",
    }
    for config in (DockerConfig(), DockerConfig(host=address)):
        pinned = config.model_copy(update={"image": "slowwave-sandbox:0123456789abcdef"})
        assert choose(kind, config) == Choice("docker", pinned, "")


@pytest.mark.usefixtures("fresh_connections")
def test_an_address_that_cannot_be_used_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "ssh://somewhere")
    found = choose("auto", DockerConfig())
    assert found.kind == "process"
    assert "cannot reach a Docker daemon at ssh://somewhere" in found.notice
    with pytest.raises(UsageError, match="at ssh://somewhere"):
        choose("docker", DockerConfig())


# --- making one -------------------------------------------------------------------------------


def test_the_process_sandbox_unpacks_into_the_artifacts(tmp_path: Path) -> None:
    assert isinstance(make_sandbox("process", tmp_path), ProcessSandbox)


def test_one_of_ones_own_is_made_by_its_factory(tmp_path: Path) -> None:
    made = make_sandbox(OWN, tmp_path)
    assert isinstance(made, PassingAway)
    assert made._bundles == tmp_path / "bundles"


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("nowhere.at.all:factory", "No module named 'nowhere'"),
        ("tests.support.sandbox_parts:fatcory", "has no attribute 'fatcory'"),
    ],
)
def test_a_factory_that_is_not_there_is_said(tmp_path: Path, kind: str, why: str) -> None:
    with pytest.raises(UsageError) as error:
        make_sandbox(kind, tmp_path)
    assert error.value.message.startswith(f"The sandbox {kind} cannot be made: ")
    assert why in error.value.message
    assert "module:factory" in str(error.value.mend)


def test_auto_is_no_sandbox_before_it_is_decided(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="decided by"):
        make_sandbox("auto", tmp_path)


# --- the configuration ------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["auto", "docker", "process", "lab.rooms:cellar"])
def test_the_configuration_takes_every_kind(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "slowwave.toml"
    path.write_text(f'root_seed = 1\nsandbox = "{kind}"\n')
    assert read_config(path).sandbox == kind


def test_without_a_word_it_is_auto() -> None:
    assert Config().sandbox == "auto"
    assert Config().docker == DockerConfig(host=None, runtime=None, image=None, scaffold="auto")


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ('root_seed = 1\nsandbox = "dokcer"\n', 2, "no sandbox 'dokcer'"),
        ('\n\nsandbox = ""\n', 3, "no sandbox ''"),
        ("sandbox = 1\n", 1, "string"),
        ('[docker]\nhots = "unix:///x"\n', 2, "hots"),
        ('[docker]\nhost = ""\n', 2, "host"),
        ('[docker]\nruntime = "runsc"\nscaffold = "bind"\n', 3, "'mount'"),
    ],
)
def test_the_configuration_refuses_with_file_and_line(
    tmp_path: Path, text: str, line: int, why: str
) -> None:
    path = tmp_path / "slowwave.toml"
    path.write_text(text)
    with pytest.raises(ConfigError) as error:
        read_config(path)
    assert str(error.value).startswith(f"{path}:{line}: ")
    assert why in str(error.value)


def test_the_configuration_of_containers_is_read(tmp_path: Path) -> None:
    path = tmp_path / "slowwave.toml"
    path.write_text(
        '[docker]\nhost = "tcp://10.0.0.7:2376"\nruntime = "runsc"\nimage = "mine:1"\n'
        'scaffold = "copy"\n'
    )
    assert read_config(path).docker == DockerConfig(
        host="tcp://10.0.0.7:2376", runtime="runsc", image="mine:1", scaffold="copy"
    )


# --- what may run where -----------------------------------------------------------------------


@dataclass(frozen=True)
class Room:
    """A sandbox of which only the promises matter."""

    guarantees: frozenset[Guarantee]
    name: str = "shed"
    fingerprint: str = "0"

    def check(self) -> None:
        pass

    def start(self, scaffold: Path, limits: SandboxLimits) -> Session:
        raise NotImplementedError


LOCKED = Room(frozenset(Guarantee))
LEAKY = Room(frozenset(Guarantee) - {Guarantee.NO_NETWORK, Guarantee.ENDS_WHOLE})


@pytest.mark.parametrize("author", ["", "anthropic:x"])
@pytest.mark.parametrize("room", [LOCKED, LEAKY], ids=["locked", "leaky"])
@pytest.mark.parametrize("allowed", [True, False])
def test_only_unread_code_without_a_lock_and_leave_is_refused(
    author: str, room: Room, allowed: bool
) -> None:
    if (author, room, allowed) == ("anthropic:x", LEAKY, False):
        with pytest.raises(Unsandboxed):
            refuse_unsandboxed(author, room, allowed=allowed)
    else:
        refuse_unsandboxed(author, room, allowed=allowed)


def test_the_refusal_says_who_where_and_what_to_do() -> None:
    with pytest.raises(Unsandboxed) as refusal:
        refuse_unsandboxed("anthropic:x", LEAKY, allowed=False)
    assert refusal.value.message == (
        "anthropic:x wrote this scaffold's code, and nobody has read it."
        " The shed sandbox does not enforce: no network, ends whole."
    )
    assert "slowwave sandbox build" in str(refusal.value.mend)
    assert "--allow-unsandboxed" in str(refusal.value.mend)
    assert refusal.value.exit_code == 2


def half_a_sandbox(artifacts: Path) -> object:
    return object()


def a_sandbox_that_breaks(artifacts: Path) -> object:
    raise ZeroDivisionError("division by zero")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("half_a_sandbox", "is no sandbox: it has no name, guarantees, fingerprint, check, start"),
        ("a_sandbox_that_breaks", "cannot be made: ZeroDivisionError: division by zero"),
        ("OWN", "cannot be made: TypeError: 'str' object is not callable"),
    ],
)
def test_a_sandbox_of_ones_own_that_is_wrong_is_no_bug_of_ours(
    tmp_path: Path, name: str, says: str
) -> None:
    with pytest.raises(UsageError, match=says):
        make_sandbox(f"{__name__}:{name}", tmp_path)
