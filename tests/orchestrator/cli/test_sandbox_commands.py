"""``slowwave sandbox``, and what a night says of a sandbox that it cannot go on in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from envs.registry import select
from orchestrator.cli.app import app
from orchestrator.errors import SlowwaveError
from orchestrator.night_record import NightRecord, read_record, save_record
from orchestrator.sandbox.base import SandboxFailure
from orchestrator.sandbox.containers.config import DockerConfig
from orchestrator.sandbox.containers.daemon import connect, translated
from tests.support.docker_parts import docker_or_skip
from tests.support.workspaces import small_workspace


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No daemon answers where Docker is looked for."""
    connect.cache_clear()
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nowhere.sock")


@pytest.mark.usefixtures("nowhere")
def test_a_build_is_nothing_to_do_where_docker_is_not_only_if_asked_so() -> None:
    done = CliRunner().invoke(app, ["sandbox", "build", "--if-docker", "--json"])
    assert done.exit_code == 0
    said = json.loads(done.stdout)
    assert (said["image"], said["built"]) == (None, False)
    assert said["reason"].startswith("Docker's daemon does not answer")
    refused = CliRunner().invoke(app, ["sandbox", "build"])
    assert isinstance(refused.exception, SlowwaveError)
    assert "does not answer" in refused.exception.message


def test_an_attack_that_is_not_there_is_said_with_those_that_are() -> None:
    words = ["sandbox", "check", "--sandbox", "process", "--attack", "fork_bom"]
    refused = CliRunner().invoke(app, words)
    assert isinstance(refused.exception, SlowwaveError)
    assert refused.exception.message == "There is no attack 'fork_bom'."
    assert "fork_bomb" in str(refused.exception.mend)


def test_one_attack_as_json() -> None:
    words = ["sandbox", "check", "--sandbox", "process", "--attack", "garbage", "--json"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0
    said = json.loads(done.stdout.splitlines()[-1])
    assert (said["sandbox"], said["ok"]) == ("process", True)
    assert [(one["attack"], one["result"]) for one in said["attacks"]] == [("garbage", "held")]
    assert "total_memory" in said["does_not_enforce"]


def forbidden() -> None:
    """As the SDK's transport fails: the reason lies under an error of its own."""
    try:
        raise PermissionError(13, "Permission denied")
    except PermissionError as error:
        raise ConnectionError("aborted") from error


def test_a_socket_that_may_not_be_used_is_not_a_daemon_that_is_away() -> None:
    with pytest.raises(SandboxFailure, match="may not use Docker's daemon") as failure:
        translated("x")(forbidden)()
    assert type(failure.value) is SandboxFailure
    assert "group" in str(failure.value.mend)


def test_a_night_whose_image_is_gone_says_what_can_be_done(tmp_path: Path) -> None:
    docker_or_skip()
    workspace = small_workspace(tmp_path)
    gone = DockerConfig(image="slowwave-sandbox:0000000000000000")
    config = workspace.config.model_copy(update={"sandbox": "docker", "docker": gone})
    first = workspace.scaffolds.champion("crafter").commit
    record = NightRecord.begin("crafter", select("crafter"), first, config)
    save_record(workspace.night_folder(record.id), record)
    refused = CliRunner().invoke(app, ["night", "crafter", "-w", str(tmp_path)])
    assert isinstance(refused.exception, SandboxFailure)
    assert refused.exception.message.startswith(f"Night {record.id} cannot go on. ")
    assert "--new" in str(refused.exception.mend)
    assert read_record(workspace.night_folder(record.id)) == record
