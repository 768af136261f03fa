"""Docker for tests: there in CI, else a skip that says what is missing.

`.ci/docker` sets all of it up on a Debian machine.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from orchestrator.errors import SlowwaveError
from orchestrator.sandbox.containers import image, reaper
from orchestrator.sandbox.containers.config import DockerConfig
from orchestrator.sandbox.containers.daemon import Daemon, connect
from orchestrator.sandbox.containers.sandbox import DockerSandbox

BASE = "slowwave-base:bookworm"
WHEELS = Path(__file__).resolve().parents[2] / "build" / "wheels"
SET_UP = "run .ci/docker to set it up"


def docker_or_skip() -> Daemon:
    """The daemon with its image; without them the test is skipped, and fails in CI."""
    try:
        daemon = connect(None)
        image.find(daemon)
    except SlowwaveError as error:
        if os.environ.get("CI"):
            pytest.fail(f"Docker is needed in CI: {error}")
        pytest.skip(f"no Docker here: {error.message} ({SET_UP})")
    return daemon


def base_or_skip() -> tuple[str, Path]:
    """The base image and the folder of wheels that images are built from in tests."""
    daemon = docker_or_skip()
    there = WHEELS.is_dir() and daemon.client.images(name=BASE)
    if not there:
        if os.environ.get("CI"):
            pytest.fail(f"{BASE} and {WHEELS} are needed in CI")
        pytest.skip(f"no {BASE} or no {WHEELS} ({SET_UP})")
    return BASE, WHEELS


def docker_sandbox(**config: str) -> DockerSandbox:
    """A sandbox on the daemon of the tests."""
    docker_or_skip()
    return DockerSandbox(DockerConfig(**config))  # type: ignore[arg-type]


def containers_of(daemon: Daemon, *pids: int) -> list[str]:
    """Ids of the containers that these processes have started, ended ones included."""
    found = daemon.client.containers(all=True, filters={"label": reaper.LABEL})
    owners = {str(pid) for pid in pids}
    return [
        one["Id"] for one in found
        if one["Labels"][reaper.LABEL_OWNER].partition("@")[0] in owners
    ]  # fmt: skip


def family_of(pid: int) -> list[int]:
    """A process and all its descendants, by number."""
    with suppress(psutil.NoSuchProcess):
        return [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]
    return [pid]


@contextmanager
def over_tcp(path: str = "/var/run/docker.sock") -> Iterator[str]:
    """The daemon's socket behind an address of loopback, as a remote daemon would be."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        door.settimeout(0.2)
        ended = threading.Event()
        keeper = threading.Thread(target=_serve, args=(door, path, ended))
        keeper.start()
        try:
            yield f"tcp://127.0.0.1:{door.getsockname()[1]}"
        finally:
            ended.set()
            keeper.join()


def _serve(door: socket.socket, path: str, ended: threading.Event) -> None:
    pumps: list[threading.Thread] = []
    wires: list[socket.socket] = []
    while not ended.is_set():
        with suppress(TimeoutError):
            outside, _ = door.accept()
            inside = socket.socket(socket.AF_UNIX)
            inside.connect(path)
            wires += [outside, inside]
            for source, sink in ((outside, inside), (inside, outside)):
                pumps.append(threading.Thread(target=_pump, args=(source, sink)))
                pumps[-1].start()
    for wire in wires:
        with suppress(OSError):
            wire.shutdown(socket.SHUT_RDWR)
    for pump in pumps:
        pump.join()
    for wire in wires:
        wire.close()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 16):
            sink.sendall(data)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
