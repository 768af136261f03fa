"""The ``process`` sandbox: a resource-limited child process with a clean environment.

Where bubblewrap is installed and works, the child also gets namespaces of its own
(`orchestrator.sandbox.namespaces`): no network, no files but its own, no sight of other processes.
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

from orchestrator.files import raise_if_full
from orchestrator.sandbox import bundle, namespaces
from orchestrator.sandbox.base import (
    ENVIRONMENT,
    Guarantee,
    SandboxFailure,
    SandboxLimits,
    ScaffoldFailure,
)
from orchestrator.sandbox.line import SAID_KEPT, Hangup, LineSession, last_words

_BOOT = "import sys; sys.path.insert(0, sys.argv.pop(1)); from agents.runner import main; main()"
_CHUNK = 1 << 16
_EXIT_SECONDS = 1.0

BY_RLIMITS = frozenset(
    {
        Guarantee.CLEAN_ENVIRONMENT,
        Guarantee.DEADLINE,
        Guarantee.MEMORY,
        Guarantee.CPU_TIME,
        Guarantee.FILE_WRITES,
        Guarantee.OPEN_FILES,
    }
)
"""What holds for any child process of ours."""


class ProcessSandbox:
    """A child process per episode.

    Args:
        bundles: Folder in which the agent code is unpacked.
        bubblewrap: The program that makes namespaces; ``None`` for a child without any. By default
            the one that is installed, if it works.
    """

    name = "process"

    def __init__(self, bundles: Path, *, bubblewrap: Path | str | None = "installed") -> None:
        self._bundles = bundles
        self._wrapper = namespaces.usable() if bubblewrap == "installed" else bubblewrap

    @property
    def guarantees(self) -> frozenset[Guarantee]:
        """What rlimits enforce, and namespaces where there are any."""
        return BY_RLIMITS | namespaces.GUARANTEES if self._wrapper else BY_RLIMITS

    @property
    def fingerprint(self) -> str:
        """Hash of the agent code, and whether the code can see the host."""
        code = bundle.fingerprint()
        return f"{code}-namespaces" if self._wrapper else code

    def check(self) -> None:
        """Whatever it needs is this Python, which runs."""

    def start(self, scaffold: Path, limits: SandboxLimits) -> LineSession:
        """Start a child process that has loaded nothing of the scaffold yet."""
        try:
            session = LineSession(ProcessWire(self._spawn(scaffold, limits)))
        except OSError as error:
            raise_if_full(error, self._bundles)
            raise SandboxFailure(f"The sandbox process could not be started: {error}.") from error
        session.wait_until_up(limits.start_seconds)
        return session

    def _spawn(self, scaffold: Path, limits: SandboxLimits) -> subprocess.Popen[bytes]:
        code, scaffold = bundle.build(self._bundles), scaffold.resolve()
        if self._wrapper:
            command = namespaces.command(Path(self._wrapper), code, scaffold)
            code, scaffold = namespaces.CODE, namespaces.SCAFFOLD
        else:
            command = [sys.executable]
        # -S and -s keep site-packages out of reach; -P keeps the working folder off the path.
        command += ["-S", "-s", "-P", "-B", "-c", _BOOT]
        command += [str(code), str(scaffold), json.dumps(limits.rlimits)]
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd="/",
            env=ENVIRONMENT,
            close_fds=True,
            start_new_session=True,
        )


class ProcessWire:
    """Pipes to one child process; see `orchestrator.sandbox.line.Wire`."""

    def __init__(self, child: subprocess.Popen[bytes]) -> None:
        self.child = child
        self._said = b""
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

    def put(self, data: memoryview, seconds: float) -> int:
        """Write what the pipe takes."""
        try:
            return os.write(self._in, data)
        except BlockingIOError:
            self._poll_in.poll(seconds * 1000)
            return 0
        except OSError:
            raise Hangup from None

    def take(self, seconds: float) -> bytes:
        """Read what is there from the channel; what the child prints is kept aside."""
        data = b""
        for descriptor, _ in self._poll_out.poll(seconds * 1000):
            chunk = os.read(descriptor, _CHUNK)
            if descriptor == self._err:
                self._hear(chunk)
            elif chunk:
                data = chunk
            else:
                raise Hangup
        return data

    def excuse(self) -> None:
        """Nothing stands between this process and its child."""

    def why(self) -> ScaffoldFailure:
        """The child's exit status and last words."""
        self._let_exit()
        self.kill()
        with contextlib.suppress(OSError):
            self._hear_rest()
        words = last_words(self._said)
        code = self.child.returncode
        return ScaffoldFailure("exit", f"The scaffold's process ended (exit status {code}).{words}")

    def kill(self) -> None:
        """Kill the whole process group and wait for the child."""
        # Once only: a group that has been waited for may have given its number to another.
        if self._killed:
            return
        self._killed = True
        try:
            os.killpg(self.child.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            self.child.kill()
        self.child.wait()

    def close(self) -> None:
        """Kill, and close the pipes."""
        self.kill()
        for stream in (self.child.stdin, self.child.stdout, self.child.stderr):
            if stream is not None:
                stream.close()

    def _hear(self, chunk: bytes) -> None:
        """Keep the end of what the child prints; a closed stream is no longer listened to."""
        if not chunk:
            self._poll_out.unregister(self._err)
        self._said = (self._said + chunk)[-SAID_KEPT:]

    def _hear_rest(self) -> None:
        os.set_blocking(self._err, False)
        self._said = (self._said + os.read(self._err, _CHUNK))[-SAID_KEPT:]

    def _let_exit(self) -> None:
        """Give a child that has closed its channel the time to exit with its own status."""
        if self._killed:
            return
        deadline = time.monotonic() + _EXIT_SECONDS
        # Looked at, not taken: until it is killed and waited for, its number stays its own.
        look = os.WEXITED | os.WNOWAIT | os.WNOHANG
        while os.waitid(os.P_PID, self.child.pid, look) is None and time.monotonic() < deadline:
            time.sleep(0.005)
