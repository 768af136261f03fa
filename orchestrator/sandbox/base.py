"""What a sandbox is, what it may enforce, and how it fails."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from agents.messages import FromHost, FromSandbox
from orchestrator.errors import InfrastructureError, SlowwaveError


class Guarantee(StrEnum):
    """Something a sandbox can enforce against the code inside it."""

    CLEAN_ENVIRONMENT = "no variable of the host's environment is visible"
    DEADLINE = "a step that takes too long is ended by killing"
    MEMORY = "the memory of a process is limited"
    TOTAL_MEMORY = "the memory of all processes together is limited"
    CPU_TIME = "processor time is limited"
    OPEN_FILES = "the number of open files is limited"
    FILE_WRITES = "no byte can be written to a file"
    FILE_COUNT = "only a small number of files can be made, and none of them is the host's"
    PROCESS_COUNT = "the number of processes is limited"
    NO_NETWORK = "no network can be reached"
    NO_HOST_FILES = "no file of the host's users can be read or changed but the scaffold's, read"
    NO_HOST_PROCESSES = "no process of the host can be seen or signalled"
    NO_PRIVILEGES = "the code runs as a user without any privilege"
    ENDS_WHOLE = "whatever was started inside ends with the episode"


# A fixed hash seed: a set of strings iterates the same way in every process.
ENVIRONMENT = {"PYTHONHASHSEED": "0", "LANG": "C.UTF-8", "PYTHONUTF8": "1"}
"""The variables that code in a sandbox is given, the same in each kind."""


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """What one episode's sandbox may use.

    Attributes:
        memory_bytes: Address space of a process; all memory together, where that can be limited.
        cpu_seconds: Processor time of a process over the whole episode.
        start_seconds: Wall time from start to the first message.
        step_seconds: Wall time for all messages of one step: what the code inside takes, and what
            the host takes to serve its memory requests.
        episode_seconds: The same over the whole episode.
        lifetime_seconds: Wall time after which a sandbox ends by itself, whatever became of the
            host; models may be slow, so this is long.
        processes: Processes and threads at once, where that can be limited.
        cpus: Processors, where that can be limited.
        scratch_bytes: Size of the scratch folder, where there is one.
    """

    memory_bytes: int = 1 << 30
    cpu_seconds: int = 600
    start_seconds: float = 30.0
    step_seconds: float = 10.0
    episode_seconds: float = 1800.0
    lifetime_seconds: int = 7 * 24 * 3600
    processes: int = 32
    cpus: float = 1.0
    scratch_bytes: int = 8 << 20

    @property
    def rlimits(self) -> dict[str, int]:
        """What the agent code puts on itself before it loads a scaffold, by rlimit name."""
        return {
            "AS": self.memory_bytes,
            "CPU": self.cpu_seconds,
            "FSIZE": 0,
            "NOFILE": 64,
            "CORE": 0,
        }


class ScaffoldFailure(SlowwaveError):
    """The code inside misbehaved; the episode ends and keeps the score it had.

    Attributes:
        kind: ``timeout``, ``protocol``, ``exit``, ``memory`` if it was ended for taking too much of
            it, ``fault``, or ``prompt`` if it asked the model for something that no model takes.
    """

    def __init__(self, kind: str, message: str, *, mend: str | None = None) -> None:
        super().__init__(message, mend=mend)
        self.kind = kind


class SandboxFailure(InfrastructureError):
    """The sandbox itself could not be started or kept up: no fault of the scaffold."""


class SandboxAway(SandboxFailure):
    """What the sandbox runs on does not answer now, and may later."""


class Session(Protocol):
    """One running sandbox: one episode."""

    def send(self, message: FromHost, seconds: float) -> None:
        """Hand a message in, at most for this long; then the sandbox is killed.

        Raises:
            ScaffoldFailure: Nobody takes it.
        """

    def receive(self, seconds: float) -> FromSandbox:
        """Wait for the next message, at most this long; then the sandbox is killed.

        Raises:
            ScaffoldFailure: Too late, no message of the protocol, or the code inside ended.
        """

    def close(self) -> None:
        """End it and everything it started; never raises, may be called twice."""


class Sandbox(Protocol):
    """A kind of sandbox."""

    name: str

    @property
    def guarantees(self) -> frozenset[Guarantee]:
        """What it enforces on this machine."""

    @property
    def fingerprint(self) -> str:
        """Hash of the code that runs inside beside the scaffold; part of the episode's key."""

    def check(self) -> None:
        """See whether one could be started now.

        Raises:
            SandboxAway: What it runs on does not answer.
            SandboxFailure: It is not set up; the mend says how to.
        """

    def start(self, scaffold: Path, limits: SandboxLimits) -> Session:
        """Start one with a scaffold's folder.

        Raises:
            SandboxAway: What it runs on does not answer.
            SandboxFailure: It could not be started.
        """


def missing(sandbox: Sandbox) -> list[Guarantee]:
    """What a sandbox does not enforce, in the order in which guarantees are listed."""
    return [one for one in Guarantee if one not in sandbox.guarantees]


def cannot(sandbox: Sandbox) -> str:
    """What a sandbox does not enforce, in one sentence; empty if it enforces everything."""
    gaps = [one.name.lower().replace("_", " ") for one in missing(sandbox)]
    return f"The {sandbox.name} sandbox does not enforce: {', '.join(gaps)}." if gaps else ""
