"""The Prefect server that flows report to: the user's, or one of our own for as long as they run.

One server serves this process and all its workers; left to itself, Prefect would start one in each.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from flows.settings import prepare
from orchestrator.errors import InfrastructureError
from orchestrator.files import write_atomically


class PrefectUnavailable(InfrastructureError):
    """No Prefect server can be had."""


@contextmanager
def prefect_server(artifacts: Path) -> Iterator[None]:
    """Have a Prefect server inside the block.

    A server that a killed run left behind is ended first.

    Args:
        artifacts: The artifacts folder; Prefect's files go to ``prefect`` in it.

    Raises:
        PrefectUnavailable: The configured server does not answer, or none could be started.
    """
    prepare(artifacts)
    from prefect.server.api.server import SubprocessASGIServer
    from prefect.settings import PREFECT_API_URL, temporary_settings

    configured = PREFECT_API_URL.value()
    if configured:
        _check(configured)
        yield
        return
    note = artifacts / "prefect" / "server.pid"
    _end_orphan(note)
    server = SubprocessASGIServer()
    try:
        server.start()
    except Exception as error:
        raise PrefectUnavailable(
            f"Prefect's server did not start: {error}.",
            mend="See that 127.0.0.1 can be reached and that ports 8000 to 8999 are not all"
            " taken, or name a running server with PREFECT_API_URL.",
        ) from error
    try:
        assert server.server_process is not None
        write_atomically(note, f"{server.server_process.pid}\n")
        with temporary_settings({PREFECT_API_URL: server.api_url}):
            yield
    finally:
        server.stop()
        note.unlink(missing_ok=True)


def _check(url: str) -> None:
    import httpx

    try:
        httpx.get(f"{url.rstrip('/')}/health", timeout=10).raise_for_status()
    except httpx.HTTPError as error:
        raise PrefectUnavailable(
            f"The Prefect server {url} does not answer: {error}.",
            mend="Start it, or unset PREFECT_API_URL to have one started for the run.",
        ) from error


def _end_orphan(note: Path) -> None:
    """End the server of a run that was killed, if it is still there and is what it was."""
    try:
        number = int(note.read_text())
        words = Path(f"/proc/{number}/cmdline").read_bytes()
    except (OSError, ValueError):
        return
    if b"prefect.server.api.server:create_app" in words:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(number, signal.SIGTERM)
