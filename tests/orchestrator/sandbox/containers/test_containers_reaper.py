"""What is taken for left behind, and what is not."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from orchestrator.sandbox.containers import reaper
from tests.support.docker_parts import docker_or_skip

DAY = 24 * 3600


def test_a_container_of_this_process_is_not_left_behind() -> None:
    assert not reaper.is_left_behind(reaper.labels(DAY))


def test_one_whose_time_is_over_is_whoever_started_it() -> None:
    mine = reaper.labels(DAY)
    late = {reaper.LABEL_DEADLINE: str(int(time.time()) - 1)}
    assert reaper.is_left_behind({**mine, **late})
    assert reaper.is_left_behind({**mine, **late, reaper.LABEL_PLACE: "another machine"})


def test_the_deadline_is_its_lifetime_and_a_little_more() -> None:
    deadline = int(reaper.labels(DAY)[reaper.LABEL_DEADLINE])
    assert DAY <= deadline - time.time() <= DAY + reaper.GRACE_SECONDS


def test_one_of_another_machine_is_left_to_that_machine() -> None:
    other = {**reaper.labels(DAY), reaper.LABEL_PLACE: "another machine"}
    assert not reaper.is_left_behind({**other, reaper.LABEL_OWNER: "1@0"})


def test_one_whose_process_is_gone_is_left_behind() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        owner = {reaper.LABEL_OWNER: f"{child.pid}@{reaper._start(child.pid)}"}
        assert not reaper.is_left_behind({**reaper.labels(DAY), **owner})
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        # It still has its number, and is nobody any more.
        assert reaper.is_left_behind({**reaper.labels(DAY), **owner})
    assert reaper.is_left_behind({**reaper.labels(DAY), **owner})


def test_a_number_that_was_given_to_another_process_is_told_apart() -> None:
    mine = {**reaper.labels(DAY), reaper.LABEL_OWNER: f"{os.getpid()}@1234567"}
    assert reaper.is_left_behind(mine)


def test_a_clock_that_is_set_kills_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = reaper.labels(DAY)
    monkeypatch.setattr("psutil.boot_time", lambda: 0.0)
    monkeypatch.setattr("psutil.Process.create_time", lambda self: 0.0)
    assert not reaper.is_left_behind(mine)


def test_a_process_that_may_not_be_looked_at_is_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "kill", forbidden)
    monkeypatch.setattr(reaper, "_start", lambda number: "")
    assert not reaper.is_left_behind({**reaper.labels(DAY), reaper.LABEL_OWNER: "7@123"})


@pytest.mark.parametrize("owner", ["", "x", "-1@3", "12", "@"])
def test_labels_that_make_no_sense_on_this_machine_are_left_behind(owner: str) -> None:
    assert reaper.is_left_behind({**reaper.labels(DAY), reaper.LABEL_OWNER: owner})


def test_the_living_are_spared_and_the_dead_removed() -> None:
    daemon = docker_or_skip()
    image = daemon.client.images(filters={"label": "slowwave.sandbox.code"})[0]["Id"]
    mine = reaper.labels(DAY)
    dead = {**mine, reaper.LABEL_OWNER: f"{os.getpid()}@1"}
    made = [daemon.client.create_container(image, labels=one)["Id"] for one in (mine, dead)]
    try:
        assert reaper.reap(daemon) >= 1
        left = {one["Id"] for one in daemon.client.containers(all=True)}
        assert made[0] in left
        assert made[1] not in left
        reaper.remove(daemon, made[1])  # already gone: nothing happens
    finally:
        reaper.remove(daemon, made[0])
    assert made[0] not in {one["Id"] for one in daemon.client.containers(all=True)}
