"""What the attacks are after: a secret, a file, a process and some open doors, all watched."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

VARIABLE = "SLOWWAVE_ATTACK_BAIT"
_WATCH = "import sys; sys.stdin.read()"


@dataclass(slots=True)
class Bait:
    """The host's side of all attacks.

    Attributes:
        token: The secret; it stands in the file, in a variable of this process, and in the command
            line of the victim.
        file: A file of the host.
        victim: A process of the host.
        doors: Sockets that listen, by name.
    """

    token: str
    file: Path
    victim: subprocess.Popen[bytes]
    doors: dict[str, socket.socket]

    def options(self, *, real: bool) -> dict[str, object]:
        """What an attack is told; nothing of it helps against a sandbox that holds."""
        ports = {n: door.getsockname()[1] for n, door in self.doors.items() if n != "abstract"}
        return {
            "real": real,
            "token": self.token,
            "bait": str(self.file),
            "host": os.getpid(),
            "victim": self.victim.pid,
            "host_path": [path for path in sys.path if path],
            **dict.fromkeys(("tcp", "tcp6", "udp"), 0),
            **ports,
        }

    def touched(self) -> list[str]:
        """What was reached, in words; everything is set up again for the next attack."""
        found = []
        for name, door in self.doors.items():
            if _knocked(door):
                found.append(f"the {name} socket of the host was reached")
        if self.victim.poll() is not None:
            found.append("a process of the host was killed")
            self.victim = _victim(self.token)
        if not self.file.exists() or self.file.read_text() != _text(self.token):
            found.append("a file of the host was changed")
        for path in self.file.parent.iterdir():
            if path != self.file:
                found.append(f"{path.name} appeared beside a file of the host")
                path.unlink()
        self.file.write_text(_text(self.token))
        return found

    def survivors(self) -> list[psutil.Process]:
        """Processes with the secret in their command line that are not the victim."""
        return [one for one in psutil.process_iter() if self._is_ours(one)]

    def _is_ours(self, process: psutil.Process) -> bool:
        if process.pid == self.victim.pid:
            return False
        try:
            return self.token in process.cmdline()
        except psutil.Error:
            return False


@contextmanager
def laid(folder: Path) -> Iterator[Bait]:
    """Lay the bait.

    Args:
        folder: An empty folder for the file.
    """
    token = secrets.token_hex(16)
    file = folder / "bait" / "secret.txt"
    file.parent.mkdir()
    file.write_text(_text(token))
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = token
    with ExitStack() as stack:
        doors = {}
        for name, family, kind, address in _DOORS:
            try:
                door = stack.enter_context(socket.socket(family, kind))
                door.bind(address if name != "abstract" else f"\0{token}")
            except OSError:
                continue  # this machine has no such thing
            if kind == socket.SOCK_STREAM:
                door.listen()
            door.setblocking(False)
            doors[name] = door
        bait = Bait(token, file, _victim(token), doors)
        try:
            yield bait
        finally:
            bait.victim.kill()
            bait.victim.communicate()
            if before is None:
                del os.environ[VARIABLE]
            else:
                os.environ[VARIABLE] = before


_DOORS = (
    ("tcp", socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
    ("tcp6", socket.AF_INET6, socket.SOCK_STREAM, ("::1", 0)),
    ("udp", socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
    ("abstract", socket.AF_UNIX, socket.SOCK_STREAM, ""),
)


def _knocked(door: socket.socket) -> bool:
    try:
        if door.type == socket.SOCK_STREAM:
            door.accept()[0].close()
        else:
            door.recv(64)
    except BlockingIOError:
        return False
    return True


def _victim(token: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-S", "-c", _WATCH, token]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)


def _text(token: str) -> str:
    return f"{token}\n"
