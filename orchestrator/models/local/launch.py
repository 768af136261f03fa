"""Finds the server of some weights, or starts it: one a machine and user, shared by all processes.

What belongs to a server lies in one folder of the user's cache:

| file | holds |
|---|---|
| ``server.json`` | process id and port, while there is a server |
| ``server.lock`` | held while one is looked for, started or ended |
| ``server.log`` | what it printed |
| ``users/`` | the processes that use it |
| a folder by the model's name | what it serves |
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import platformdirs
from filelock import FileLock, Timeout

from orchestrator.models.errors import ModelUnreachable
from orchestrator.models.local.users import Users
from orchestrator.models.local.weights import Weights, precision

CACHE = "SLOWWAVE_CACHE"
"""The environment variable that names another folder than the user's cache."""

START_S = 600.0
"""The longest wait for a server; the first start writes half a gigabyte of weights."""

IDLE_S = 1800.0
"""Without a request for so long, a server ends though its users live."""

LINGER_S = 10.0
"""So long a server waits for another user after the last, as between two flows of a night."""

_ANSWER_S = 10.0
_LOOK_S = 0.1
_LOG_LINES = 15

_ours: list[subprocess.Popen[bytes]] = []
"""The servers this process started; they end by themselves, and are only waited for."""


@dataclass(frozen=True, slots=True)
class Served:
    """A server that answers.

    Attributes:
        url: Its address, up to ``/v1``.
        pid: Its process.
    """

    url: str
    pid: int


def ensure(
    weights: Weights,
    *,
    command: tuple[str, ...] = (sys.executable, "-m", "orchestrator.models.local.server"),
    start_s: float = START_S,
) -> Served:
    """The server of these weights, which this process uses from now on.

    Args:
        weights: What it must serve.
        command: Starts a server; it is given options as `server` reads them.
        start_s: The longest wait in seconds.

    Raises:
        ModelUnreachable: It did not come up; the message ends with the end of its log.
    """
    place = home(weights)
    place.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(place / "server.lock", timeout=start_s):
            Users(place / "users").add()
            return _running(place, weights) or _start(place, weights, command, start_s)
    except Timeout:
        raise ModelUnreachable(
            f"Another process has been starting the server of {weights.name!r} for {start_s:g} s.",
            mend=f"Look at {place / 'server.log'}.",
            retryable=False,
            billed=False,
        ) from None


def home(weights: Weights) -> Path:
    """The folder of the server of these weights."""
    given = os.environ.get(CACHE)
    # The server is started in a folder of its own, and must mean the same place.
    cache = (
        Path(given).resolve()
        if given
        else platformdirs.user_cache_path("slowwave", appauthor=False)
    )
    return cache / "models" / weights.key


def threads() -> int:
    """Half of the processors.

    The others are for those who play. Torch's threads wait for each other many times a token: with
    one more of them than free processors, a token takes seconds.
    """
    return max(1, (os.cpu_count() or 1) // 2)


def _running(place: Path, weights: Weights) -> Served | None:
    """The server that the state file tells of, if it is there and serves these weights."""
    try:
        state: dict[str, Any] = json.loads((place / "server.json").read_bytes())
        port, pid = int(state["port"]), int(state["pid"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    # A look at who is there, before a model client is pointed at it.
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_ANSWER_S)
    try:
        connection.request("GET", "/slowwave")
        who = json.loads(connection.getresponse().read())
    except (OSError, ValueError, http.client.HTTPException):
        return None
    finally:
        connection.close()
    if who != state or state.get("weights") != weights.digest:
        return None
    return Served(f"http://127.0.0.1:{port}/v1", pid)


def _start(place: Path, weights: Weights, command: tuple[str, ...], start_s: float) -> Served:
    (place / "server.json").unlink(missing_ok=True)
    log = place / "server.log"
    options = {
        "home": place,
        "source": weights.path,
        "name": weights.name,
        "digest": weights.digest,
        "dtype": precision(),
        "threads": threads(),
        "idle": IDLE_S,
        "linger": LINGER_S,
    }
    arguments = [text for name, value in options.items() for text in (f"--{name}", str(value))]
    with log.open("wb") as printed:
        process = subprocess.Popen(
            [*command, *arguments],
            cwd=place,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=printed,
            start_new_session=True,  # Ctrl-C is for its users; it ends after them
        )
    _ours.append(process)
    end = time.monotonic() + start_s
    while time.monotonic() < end:
        found = _running(place, weights)
        if found is not None:
            return found
        if process.poll() is not None:
            raise _failed(weights, log, f"ended with status {process.returncode}")
        time.sleep(_LOOK_S)
    process.kill()
    process.wait()
    raise _failed(weights, log, f"was not ready after {start_s:g} s")


def _environment() -> dict[str, str]:
    return os.environ | {
        "HF_HUB_OFFLINE": "1",  # the weights are here; nothing is to be looked up
        "TRANSFORMERS_OFFLINE": "1",
        "OMP_NUM_THREADS": str(threads()),
        "OMP_WAIT_POLICY": "PASSIVE",  # idle threads leave the processors to those who play
        "TOKENIZERS_PARALLELISM": "false",
        "TQDM_DISABLE": "1",
    }


def _failed(weights: Weights, log: Path, how: str) -> ModelUnreachable:
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    except OSError:
        lines = []
    last = "\n".join(lines[-_LOG_LINES:]) or "(nothing)"
    return ModelUnreachable(
        f"The server of the local model {weights.name!r} {how}; it last printed:\n{last}\n",
        mend=f"The whole log is {log}.",
        retryable=False,
        billed=False,
    )
