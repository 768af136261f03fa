"""A Docker engine of the test's own, which may be stopped and started again."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import docker
import docker.errors
import pytest
import requests

from orchestrator.sandbox.containers import image
from tests.support.docker_parts import docker_or_skip

PATIENCE_S = 60.0


class Engine:
    """One dockerd with everything it keeps in one folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.address = f"unix://{root}/d.sock"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> docker.APIClient:
        """Start it, and wait until it answers."""
        command = ["dockerd", "--data-root", str(self.root / "data")]
        command += ["--exec-root", str(self.root / "exec"), "--pidfile", str(self.root / "pid")]
        command += ["-H", self.address, "--iptables=false", "--bridge=none", "--ip-forward=false"]
        with (self.root / "log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            with suppress(docker.errors.DockerException, requests.RequestException):
                return docker.APIClient(base_url=self.address, version="auto", timeout=60)
            assert self._process.poll() is None, (self.root / "log").read_text()[-2000:]
            time.sleep(0.1)
        raise AssertionError("the engine did not answer")

    def stop(self, how: int = signal.SIGTERM) -> None:
        """Stop it as a system would, or as a crash would."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(PATIENCE_S)
            self._process = None


@contextmanager
def engine() -> Iterator[Engine]:
    """An engine that holds the sandbox's image; skipped where none can be started."""
    outer = docker_or_skip()
    if os.geteuid() != 0 or shutil.which("dockerd") is None:
        if os.environ.get("CI"):
            pytest.fail("CI runs as root, with dockerd")
        pytest.skip("only root can start a Docker engine of its own")
    tag = image.find(outer).tag
    # Not pytest's folder: the path of a socket may not be long.
    root = Path(tempfile.mkdtemp(prefix="slowwave-engine-", dir="/tmp"))
    own = Engine(root)
    try:
        inner = own.start()
        inner.load_image(b"".join(outer.client.get_image(tag)))
        yield own
    finally:
        own.stop()
        _unmount(root)
        shutil.rmtree(root, ignore_errors=True)


def _unmount(root: Path) -> None:
    """What a killed engine may have left mounted under its folder."""
    mounts = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
    for path in sorted((one for one in mounts if one.startswith(f"{root}/")), reverse=True):
        subprocess.run(["umount", "-l", path], check=False, capture_output=True)
