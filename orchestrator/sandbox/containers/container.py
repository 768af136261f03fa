"""One container: how it is locked, and the wire into it."""

from __future__ import annotations

import io
import json
import socket
import tarfile
import time
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import docker
import docker.errors
from docker.types import LogConfig, Mount

from orchestrator.sandbox.base import (
    ENVIRONMENT,
    SandboxAway,
    SandboxFailure,
    SandboxLimits,
    ScaffoldFailure,
)
from orchestrator.sandbox.containers import reaper
from orchestrator.sandbox.containers.daemon import START_IT, Daemon, translated
from orchestrator.sandbox.containers.frames import Frames
from orchestrator.sandbox.line import Hangup, last_words

SCAFFOLD = "/scaffold"
USER = "65534:65534"
_CHUNK = 1 << 16
_END_SECONDS = 5.0
_KILLED = 137
_HOST_GONE = 4
"""The warden's status when its host has gone (`agents.warden`)."""
_NOTED_SECONDS = 0.5


def create(
    daemon: Daemon,
    image: str,
    scaffold: Path,
    limits: SandboxLimits,
    *,
    runtime: str | None,
    copy: bool,
) -> str:
    """Make a container for one episode; returns its id. It is not started yet.

    Args:
        daemon: Where.
        image: What it starts from.
        scaffold: The scaffold's folder on this machine.
        limits: What it may use.
        runtime: The OCI runtime, such as ``runsc``; ``None`` for the daemon's default.
        copy: Copy the scaffold in, for a daemon that does not see this machine's files; else it is
            mounted read-only.
    """
    client = daemon.client
    arguments = [SCAFFOLD, json.dumps(limits.rlimits), str(limits.lifetime_seconds)]
    with translated("making a container"):
        made = client.create_container(
            image,
            arguments,
            user=USER,
            hostname="sandbox",
            working_dir="/",
            environment=ENVIRONMENT,
            labels=reaper.labels(limits.lifetime_seconds),
            stdin_open=True,
            network_disabled=True,
            # Else the SDK copies the user's proxies, with their passwords, into the environment.
            use_config_proxy=False,
            # With the daemon's own end a container goes at once: it has nothing to put in order.
            stop_signal="SIGKILL",
            volumes=[SCAFFOLD] if copy else None,
            host_config=_locks(client, scaffold, limits, runtime, copy),
        )
    number = str(made["Id"])
    if copy:
        try:
            with translated("copying the scaffold into a container"):
                client.put_archive(number, SCAFFOLD, _archive(scaffold))
        except BaseException:
            reaper.dispose(daemon, number)
            raise
    return number


def _locks(
    client: docker.APIClient, scaffold: Path, limits: SandboxLimits, runtime: str | None, copy: bool
) -> Any:
    """Everything that keeps the code inside, inside."""
    scratch = f"size={limits.scratch_bytes},nr_inodes=256,mode=1777,noexec,nosuid,nodev"
    mount = Mount(SCAFFOLD, str(scaffold.resolve()), type="bind", read_only=True)
    return client.create_host_config(
        network_mode="none",
        read_only=True,
        cap_drop=["ALL"],
        security_opt=["no-new-privileges"],
        ipc_mode="none",
        pids_limit=limits.processes,
        mem_limit=limits.memory_bytes,
        memswap_limit=limits.memory_bytes,
        nano_cpus=int(limits.cpus * 1e9),
        tmpfs={"/tmp": scratch},
        mounts=None if copy else [mount],
        # The daemon would write down all that is printed, on the host's disk.
        log_config=LogConfig(type="none"),
        runtime=runtime,
    )


def _archive(folder: Path) -> bytes:
    """A folder as a tar archive whose files belong to root and can only be read."""

    def lock(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
        if not (entry.isfile() or entry.isdir()):
            return None
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        entry.mode = 0o555 if entry.isdir() else 0o444
        return entry

    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        archive.add(folder, ".", filter=lock)
    return buffer.getvalue()


class ContainerWire:
    """The attached stdin, stdout and stderr of a container; see `orchestrator.sandbox.line.Wire`.

    Args:
        daemon: Where the container is.
        number: The container's id; it is removed with the wire.
    """

    def __init__(self, daemon: Daemon, number: str) -> None:
        self._daemon = daemon
        self._number = number
        self._frames = Frames()
        self._killed = False
        self._closed = False
        self._away = False
        self._socket: socket.socket | None = None
        wanted = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
        try:
            with translated("attaching to a container"):
                self._attached = daemon.client.attach_socket(number, params=wanted)
                # The SDK hands out a file around a plain socket, or a socket in TLS.
                self._socket = getattr(self._attached, "_sock", self._attached)
            with translated("starting a container"):
                daemon.client.start(number)
        except BaseException:
            self.close()
            raise

    def put(self, data: memoryview, seconds: float) -> int:
        """Send what is taken."""
        wire = self._open_socket()
        wire.settimeout(seconds)
        try:
            return wire.send(data)
        except TimeoutError:
            return 0
        except OSError:
            raise Hangup from None

    def take(self, seconds: float) -> bytes:
        """Receive, and part the channel from what is printed."""
        wire = self._open_socket()
        wire.settimeout(seconds)
        try:
            chunk = wire.recv(_CHUNK)
        except TimeoutError:
            return b""
        except OSError:
            raise Hangup from None
        if not chunk:
            raise Hangup
        return self._frames.feed(chunk)

    def excuse(self) -> Exception | None:
        """Whether the daemon is away, or somebody has paused the container.

        Asked for without the container's lock, which what it prints can keep busy.
        """
        try:
            with translated("asking after a container that does not answer"):
                found = self._daemon.quick.containers(all=True, filters={"id": self._number})
        except SandboxFailure as failure:
            self._away = isinstance(failure, SandboxAway)
            return failure
        if not found:
            return SandboxFailure("A sandbox's container was taken away.")
        if found[0]["State"] == "paused":
            return SandboxFailure("A sandbox's container was paused from outside.")
        return None

    def why(self) -> Exception:
        """What ended the container, from what the daemon says; no word of the code inside counts.

        The machinery is blamed only for what the code cannot bring about: the first process of the
        container (`agents.warden`) saw the host go, is there although the channel is gone, or was
        killed by the daemon. Whatever else ends it is the scaffold's doing; or it could choose to
        have its bad games lost.
        """
        if self._killed:
            return ScaffoldFailure("exit", "The scaffold's container has ended.")
        try:
            state = self._final_state()
            blamed = self._blamed(state)
        except SandboxFailure as failure:
            blamed = failure
        if isinstance(blamed, SandboxAway):
            self._away = True
        if blamed is not None:
            return blamed
        self.kill()
        status, words = int(state["ExitCode"]), last_words(self._frames.said)
        if state.get("OOMKilled"):
            return ScaffoldFailure(
                "memory", f"The scaffold took more memory than it may, and was ended.{words}"
            )
        return ScaffoldFailure(
            "exit", f"The scaffold's process ended (exit status {status}).{words}"
        )

    def _blamed(self, state: dict[str, Any]) -> SandboxFailure | None:
        """What the machinery did to the container, if it was the machinery."""
        if state["Running"] or state["ExitCode"] == _HOST_GONE or not self._daemon.pulse.beats:
            return SandboxAway("Docker let go of a container.", mend=START_IT)
        if state["ExitCode"] != _KILLED or state.get("OOMKilled"):
            return None
        # The kernel may kill the first process for a limit that the code inside has put on it. So
        # it is asked who did it; the daemon notes a kill just after it, by its own clock.
        ended = datetime.fromisoformat(state["FinishedAt"]).timestamp()
        with translated("asking who ended a container"):
            kills = list(
                self._daemon.quick.events(
                    since=f"{ended - 5:.3f}",
                    until=f"{ended + _NOTED_SECONDS:.3f}",
                    filters={"container": self._number, "event": "kill"},
                    decode=True,
                )
            )
        if kills:
            return SandboxFailure("A sandbox's container was killed from outside.")
        if self._daemon.pulse.stops_within(_NOTED_SECONDS):
            return SandboxAway("Docker's daemon has ended a container with itself.", mend=START_IT)
        return None

    def _final_state(self) -> dict[str, Any]:
        """The container's state, once it has had the time to end."""
        deadline = time.monotonic() + _END_SECONDS
        while True:
            with translated("asking how a container ended"):
                state: dict[str, Any] = self._daemon.client.inspect_container(self._number)["State"]
            if not state["Running"] or time.monotonic() > deadline:
                return state
            time.sleep(0.02)

    def kill(self) -> None:
        """Kill everything in the container."""
        if not self._killed:
            self._killed = True
            # First, because the daemon waits for what was printed to be taken, by nobody.
            self._hang_up()
            with suppress(SandboxFailure), translated("killing a container"):
                try:
                    self._daemon.quick.kill(self._number)
                except docker.errors.APIError as error:
                    if error.status_code not in (404, 409):  # it has ended, or is gone
                        raise

    def close(self) -> None:
        """Remove the container."""
        if self._closed:
            return
        self._closed = self._killed = True
        self._hang_up()
        if self._away:
            reaper.owe(self._daemon, self._number)
        else:
            reaper.dispose(self._daemon, self._number)

    def _hang_up(self) -> None:
        if self._socket is not None:
            with suppress(OSError):
                self._attached.close()
                self._socket.close()
            self._socket = None

    def _open_socket(self) -> socket.socket:
        if self._socket is None:
            raise Hangup
        return self._socket
