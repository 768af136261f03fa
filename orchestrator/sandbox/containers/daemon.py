"""The way to a Docker daemon: where it is, whether it answers, and what its refusals mean."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import docker
import docker.errors
import requests
import urllib3
from docker.context import ContextAPI
from docker.tls import TLSConfig
from docker.utils import kwargs_from_env

from orchestrator.errors import UsageError
from orchestrator.sandbox.base import SandboxAway, SandboxFailure

ANSWER_SECONDS = 5
"""How long a daemon may take to say that it is there."""

WORK_SECONDS = 60
"""How long it may take over anything else that is not a build."""

DOCKER_HOST = "DOCKER_HOST"
SOCKET = "unix:///var/run/docker.sock"
SCHEMES = ("unix://", "tcp://", "http://", "https://", "npipe://")
START_IT = "Start it (systemctl start docker, or Docker Desktop), or correct its address."


class Pulse:
    """Holds a stream of the daemon's events open, which ends with the daemon.

    A daemon that was stopped and started again knows the same containers and has killed them all:
    only this tells that it was no scaffold that ended.
    """

    def __init__(self, client: docker.APIClient) -> None:
        # What stands between may refuse this, and answers in the place of events then.
        told = client.events(since="1", until="1", decode=True)
        if any("Type" not in one for one in told):
            raise SandboxFailure(
                "Docker does not tell of its events, by which a crash is told from an attack.",
                mend="Let whatever stands before the daemon's socket pass /events.",
            )
        self._stopped = threading.Event()
        threading.Thread(target=self._listen, args=(client,), daemon=True).start()

    @property
    def beats(self) -> bool:
        """Whether the daemon has never been away."""
        return not self._stopped.is_set()

    def stops_within(self, seconds: float) -> bool:
        """Whether it is away, or will have been in this time."""
        return self._stopped.wait(seconds)

    def _listen(self, client: docker.APIClient) -> None:
        try:
            for _ in client.events(filters={"type": "daemon"}):
                pass
        except (docker.errors.DockerException, requests.RequestException, OSError, ValueError):
            pass
        finally:
            self._stopped.set()


@dataclass(frozen=True, slots=True)
class Daemon:
    """A daemon that has answered.

    Attributes:
        client: The SDK's client.
        quick: The same for questions that must be answered at once.
        address: Where it is.
        pulse: Whether it has been there without a break since it answered.
    """

    client: docker.APIClient
    quick: docker.APIClient
    address: str
    pulse: Pulse

    @property
    def local(self) -> bool:
        """Whether it is on this machine, as far as its address tells, and sees the same files."""
        return self.address.startswith(("unix://", "npipe://"))


@lru_cache(maxsize=4)
def connect(host: str | None) -> Daemon:
    """The daemon that is configured; one connection for this process and address.

    Args:
        host: Its address, ``unix://…`` or ``tcp://…``. Without one: ``DOCKER_HOST``, then the
            context that ``docker context use`` chose, then this machine's socket.

    Raises:
        SandboxAway: It does not answer.
        UsageError: The address cannot be used.
    """
    options = _options(host)
    address = str(options["base_url"])
    if not address.startswith(SCHEMES):
        raise UsageError(
            f"Slowwave cannot reach a Docker daemon at {address}.",
            mend="Give unix:///path or tcp://host:port; for ssh, forward the daemon's socket:"
            " ssh -L /tmp/docker.sock:/var/run/docker.sock HOST.",
        )
    with translated(address):
        quick = docker.APIClient(**options, version="auto", timeout=ANSWER_SECONDS)
        client = docker.APIClient(**options, version=quick.api_version, timeout=WORK_SECONDS)
        pulse = Pulse(client)
    return Daemon(client, quick, address, pulse)


def forget() -> None:
    """Have the next `connect` look again."""
    connect.cache_clear()


def _options(host: str | None) -> dict[str, Any]:
    environment: dict[str, Any] = kwargs_from_env()
    if host:
        secured = host.startswith(("tcp://", "https://")) and "tls" in environment
        return {"base_url": host, **({"tls": environment["tls"]} if secured else {})}
    if os.environ.get(DOCKER_HOST):
        return environment
    try:
        named = os.environ.get("DOCKER_CONTEXT")
        context = ContextAPI.get_context(named) if named else ContextAPI.get_current_context()
        if named and context is None:
            raise ValueError(f"there is no context {named!r}")
    except Exception as error:  # whatever is wrong with the user's files, it is said
        raise UsageError(
            f"The Docker context in use cannot be read: {error}.",
            mend="Choose another with `docker context use`, or set DOCKER_HOST.",
        ) from None
    tls: TLSConfig | None = context.TLSConfig if context is not None else None
    found = context.Host if context is not None else None
    return {"base_url": found or SOCKET, **({"tls": tls} if tls else {})}


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """Turn the SDK's errors into ours.

    Args:
        doing: The daemon's address, or what was being done.

    Raises:
        SandboxAway: The daemon does not answer.
        SandboxFailure: It refused.
    """
    try:
        yield
    except docker.errors.APIError as error:
        said = str(error.explanation or error).strip().rstrip(".")
        mend = next((mend for words, mend in _MENDS.items() if words in said.lower()), None)
        raise SandboxFailure(f"Docker refused ({doing}): {said}.", mend=mend) from None
    except (
        docker.errors.DockerException,
        requests.RequestException,
        urllib3.exceptions.HTTPError,
        OSError,
    ) as error:
        if isinstance(_root(error), PermissionError):
            raise SandboxFailure(
                f"This user may not use Docker's daemon ({doing}).",
                mend="Join the group that owns its socket, usually docker, and log in again; or use"
                " rootless Docker.",
            ) from None
        raise SandboxAway(
            f"Docker's daemon does not answer ({doing}): {_reason(error)}.", mend=START_IT
        ) from None


_NO_RUNTIME = "Install that runtime and tell the daemon, or take `runtime` out of slowwave.toml."
_MENDS = {
    "bind source path does not exist": 'Set `scaffold = "copy"` under [docker] in slowwave.toml:'
    " the daemon does not see this machine's files.",
    "unknown runtime": _NO_RUNTIME,
    "unknown or invalid runtime": _NO_RUNTIME,
}
"""What to do about some refusals, by words in them."""


def _root(error: BaseException) -> BaseException:
    """The innermost error of a chain."""
    while (inner := error.__cause__ or error.__context__) is not None:
        error = inner
    return error


def _reason(error: BaseException) -> str:
    root = _root(error)
    words = root.strerror if isinstance(root, OSError) and root.strerror else str(root)
    return words[:200] or type(root).__name__
