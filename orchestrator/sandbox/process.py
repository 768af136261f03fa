"""The ``process`` sandbox: a resource-limited child process with a clean environment.

What it cannot enforce stands in `ProcessSandbox.cannot`; scaffolds that a person wrote, or the
shipped editor's known edits, may run here.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

from agents.messages import (
    MAX_LINE,
    FromHost,
    FromSandbox,
    ProtocolError,
    Up,
    decode_from_sandbox,
)
from agents.messages import encode as encode_message
from orchestrator.files import raise_if_full
from orchestrator.sandbox import bundle
from orchestrator.sandbox.base import (
    Guarantee,
    SandboxFailure,
    SandboxLimits,
    ScaffoldFailure,
)

_BOOT = "import sys; sys.path.insert(0, sys.argv.pop(1)); from agents.runner import main; main()"
_CHUNK = 1 << 16
_SAID_KEPT = 2000
_EXIT_SECONDS = 1.0
SEND_SECONDS = 10.0
"""Seconds that a scaffold may leave a message unread."""


class ProcessSandbox:
    """A child process per episode.

    Args:
        bundles: Folder in which the agent code is unpacked.
    """

    name = "process"
    guarantees = frozenset(
        {
            Guarantee.CLEAN_ENVIRONMENT,
            Guarantee.DEADLINE,
            Guarantee.MEMORY,
            Guarantee.CPU_TIME,
            Guarantee.FILE_WRITES,
            Guarantee.OPEN_FILES,
        }
    )
    cannot = (
        "The process sandbox cannot keep the code inside from the network, from reading, renaming"
        " or deleting files of this user, or from starting and signalling processes of this user."
    )

    def __init__(self, bundles: Path) -> None:
        self._bundles = bundles

    @property
    def fingerprint(self) -> str:
        """Hash of the agent code."""
        return bundle.fingerprint()

    def start(self, scaffold: Path, limits: SandboxLimits) -> ProcessSession:
        """Start a child process that has loaded nothing of the scaffold yet."""
        try:
            session = ProcessSession(self._spawn(scaffold, limits))
        except OSError as error:
            raise_if_full(error, self._bundles)
            raise SandboxFailure(f"The sandbox process could not be started: {error}.") from error
        session.wait_until_up(limits.start_seconds)
        return session

    def _spawn(self, scaffold: Path, limits: SandboxLimits) -> subprocess.Popen[bytes]:
        code = bundle.build(self._bundles)
        rlimits = {
            "AS": limits.memory_bytes,
            "CPU": limits.cpu_seconds,
            "FSIZE": 0,
            "NOFILE": 64,
            "CORE": 0,
        }
        # -S and -s keep site-packages out of reach; -P keeps the working folder off the path.
        command = [sys.executable, "-S", "-s", "-P", "-B", "-c", _BOOT]
        command += [str(code), str(scaffold.resolve()), json.dumps(rlimits)]
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd="/",
            # A fixed hash seed: a set of strings iterates the same way in every process.
            env={"PYTHONHASHSEED": "0", "LANG": "C.UTF-8", "PYTHONUTF8": "1"},
            close_fds=True,
            start_new_session=True,
        )


class ProcessSession:
    """One child process; see `orchestrator.sandbox.base.Session`."""

    def __init__(self, child: subprocess.Popen[bytes]) -> None:
        self._child = child
        self._said = b""
        self._buffer = bytearray()
        self._scanned = 0
        self._killed = False
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stderr is not None
        self._in = child.stdin.fileno()
        self._out = child.stdout.fileno()
        self._err = child.stderr.fileno()
        os.set_blocking(self._in, False)
        self._poll_out = select.poll()
        self._poll_out.register(self._out, select.POLLIN)
        self._poll_out.register(self._err, select.POLLIN)
        self._poll_in = select.poll()
        self._poll_in.register(self._in, select.POLLOUT | select.POLLERR)

    def wait_until_up(self, seconds: float) -> None:
        """Wait for the agent code, which is ours: what fails here is no fault of the scaffold.

        Raises:
            SandboxFailure: It did not come up in time, or ended.
        """
        try:
            up = isinstance(self.receive(seconds), Up)
        except ScaffoldFailure as failure:
            self.close()
            raise SandboxFailure(f"The sandbox process did not come up: {failure}") from failure
        except BaseException:
            self.close()
            raise
        assert up, "the agent code speaks first"

    def send(self, message: FromHost) -> None:
        """Write one message, without ever blocking on a child that does not read."""
        data = memoryview(encode_message(message))
        deadline = time.monotonic() + SEND_SECONDS
        while data:
            try:
                data = data[os.write(self._in, data) :]
            except BlockingIOError:
                if time.monotonic() > deadline:
                    self._kill()
                    raise ScaffoldFailure("timeout", "The scaffold stopped reading.") from None
                self._poll_in.poll(100)
            except OSError:
                raise self._ended() from None

    def receive(self, seconds: float) -> FromSandbox:
        """Read one message within a deadline."""
        deadline = time.monotonic() + seconds
        while True:
            end = self._buffer.find(b"\n", self._scanned)
            if end >= 0:
                break
            self._scanned = len(self._buffer)
            if self._scanned > MAX_LINE:
                self._kill()
                raise ScaffoldFailure(
                    "protocol", f"The scaffold sent a line of over {MAX_LINE} bytes."
                )
            self._fill(deadline, seconds)
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        self._scanned = 0
        try:
            return decode_from_sandbox(line)
        except ProtocolError as error:
            self._kill()
            raise ScaffoldFailure(
                "protocol", f"The scaffold broke the protocol: {error}."
            ) from None

    def close(self) -> None:
        """Kill the whole process group and wait for the child."""
        self._kill()
        for stream in (self._child.stdin, self._child.stdout, self._child.stderr):
            if stream is not None:
                stream.close()

    def _fill(self, deadline: float, seconds: float) -> None:
        left = deadline - time.monotonic()
        # A child that prints without end always has something to read: it is late all the same.
        ready = self._poll_out.poll(left * 1000) if left > 0 else []
        if not ready:
            self._kill()
            raise ScaffoldFailure("timeout", f"The scaffold did not answer within {seconds:.3g} s.")
        for descriptor, _ in ready:
            chunk = os.read(descriptor, _CHUNK)
            if descriptor == self._err:
                self._hear(chunk)
            elif chunk:
                self._buffer += chunk
            else:
                raise self._ended()

    def _hear(self, chunk: bytes) -> None:
        """Keep the end of what the child prints; a closed stream is no longer listened to."""
        if not chunk:
            self._poll_out.unregister(self._err)
        self._said = (self._said + chunk)[-_SAID_KEPT:]

    def _ended(self) -> ScaffoldFailure:
        self._let_exit()
        self._kill()
        with contextlib.suppress(OSError):
            self._hear_rest()
        said = self._said.decode("utf-8", "replace").strip()
        words = f" It last said: {said}" if said else ""
        code = self._child.returncode
        return ScaffoldFailure("exit", f"The scaffold's process ended (exit status {code}).{words}")

    def _let_exit(self) -> None:
        """Give a child that has closed its channel the time to exit with its own status."""
        if self._killed:
            return
        deadline = time.monotonic() + _EXIT_SECONDS
        # Looked at, not taken: until it is killed and waited for, its number stays its own.
        look = os.WEXITED | os.WNOWAIT | os.WNOHANG
        while os.waitid(os.P_PID, self._child.pid, look) is None and time.monotonic() < deadline:
            time.sleep(0.005)

    def _hear_rest(self) -> None:
        os.set_blocking(self._err, False)
        self._said = (self._said + os.read(self._err, _CHUNK))[-_SAID_KEPT:]

    def _kill(self) -> None:
        # Once only: a group that has been waited for may have given its number to another.
        if self._killed:
            return
        self._killed = True
        try:
            os.killpg(self._child.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            self._child.kill()
        self._child.wait()
