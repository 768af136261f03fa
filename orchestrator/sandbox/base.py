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
    MEMORY = "memory is limited"
    CPU_TIME = "processor time is limited"
    FILE_WRITES = "no file can be written"
    OPEN_FILES = "the number of open files is limited"
    NO_NETWORK = "no network can be reached"
    NO_HOST_FILES = "no file of the host can be read but the scaffold's"
    NO_PROCESSES = "no further processes can be started or signalled"


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """What one episode's sandbox may use.

    Attributes:
        memory_bytes: Address space.
        cpu_seconds: Processor time over the whole episode.
        start_seconds: Wall time from start to the first message.
        step_seconds: Wall time for all messages of one step: what the code inside takes, and what
            the host takes to serve its memory requests.
        episode_seconds: The same over the whole episode.
    """

    memory_bytes: int = 1 << 30
    cpu_seconds: int = 600
    start_seconds: float = 30.0
    step_seconds: float = 10.0
    episode_seconds: float = 1800.0


class ScaffoldFailure(SlowwaveError):
    """The code inside misbehaved; the episode ends and keeps the score it had.

    Attributes:
        kind: ``timeout``, ``protocol``, ``exit``, ``fault``, or ``prompt`` if it asked the model
            for something that no model takes.
    """

    def __init__(self, kind: str, message: str, *, mend: str | None = None) -> None:
        super().__init__(message, mend=mend)
        self.kind = kind


class SandboxFailure(InfrastructureError):
    """The sandbox itself could not be started or kept up: no fault of the scaffold."""


class Session(Protocol):
    """One running sandbox: one episode."""

    def send(self, message: FromHost) -> None:
        """Hand a message in. Raises `ScaffoldFailure` if nobody is there to take it."""

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
    guarantees: frozenset[Guarantee]
    cannot: str
    """In one sentence, what this sandbox does not enforce; empty if nothing."""

    @property
    def fingerprint(self) -> str:
        """Hash of the code that runs inside beside the scaffold; part of the episode's key."""

    def start(self, scaffold: Path, limits: SandboxLimits) -> Session:
        """Start one with a scaffold's folder.

        Raises:
            SandboxFailure: It could not be started.
        """
