"""The Prefect server that flows report to: the user's, or one of our own for as long as they run.

One server serves this process and all its workers; left to itself, Prefect would start one in each.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from flows.settings import prepare
from orchestrator.errors import InfrastructureError
from orchestrator.files import write_atomically

_SERVER = b"prefect.server.api.server:create_app"
"""What stands in the command line of every Prefect server that is started here."""


class PrefectUnavailable(InfrastructureError):
    """No Prefect server can be had."""


@contextmanager
def prefect_server(artifacts: Path) -> Iterator[None]:
    """Have a Prefect server inside the block.

    Servers that killed runs left behind are ended first; one whose run still goes on, such as a
    night beside which episodes are evaluated, is let be.

    Args:
        artifacts: The artifacts folder; Prefect's files go to ``prefect`` in it.

    Raises:
        PrefectUnavailable: The configured server does not answer, or none could be started.
    """
    prepare(artifacts)
    from prefect.settings import PREFECT_API_URL

    configured = PREFECT_API_URL.value()
    if configured:
        _check(configured)
        yield
        return
    folder = artifacts / "prefect"
    end_orphans(folder)
    with _note(folder) as note:
        yield from _serve(note)


def _serve(note: Path) -> Iterator[None]:
    """Start a server, note its process, and stop it in the end."""
    from prefect.server.api.server import SubprocessASGIServer
    from prefect.settings import PREFECT_API_URL, temporary_settings

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


@contextmanager
def _note(folder: Path) -> Iterator[Path]:
    """This run's note: where its server's process is written down, and a lock held meanwhile.

    The kernel frees the lock with the process that holds it. So it tells a run that goes on from
    one that was killed, even when the number of the latter has been given to another process.
    """
    folder.mkdir(parents=True, exist_ok=True)
    note = folder / f"server-{os.getpid()}.pid"
    lock = FileLock(note.with_suffix(".lock"))
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise PrefectUnavailable(
            f"Another run with the process number {os.getpid()} uses {note}.",
            mend="Wait for it to end, or name a running server with PREFECT_API_URL.",
        ) from None
    try:
        yield note
    finally:
        note.unlink(missing_ok=True)
        Path(lock.lock_file).unlink(missing_ok=True)
        lock.release()


def _check(url: str) -> None:
    import httpx

    try:
        httpx.get(f"{url.rstrip('/')}/health", timeout=10).raise_for_status()
    except httpx.HTTPError as error:
        raise PrefectUnavailable(
            f"The Prefect server {url} does not answer: {error}.",
            mend="Start it, or unset PREFECT_API_URL to have one started for the run.",
        ) from error


def end_orphans(folder: Path) -> None:
    """End the servers of runs that were killed, and remove their notes.

    Args:
        folder: Where runs leave their notes: ``server-<the run's process>.pid``, which holds the
            number of the server's process.
    """
    for note in sorted(folder.glob("server-*.pid")):
        lock = FileLock(note.with_suffix(".lock"))
        with suppress(Timeout), lock.acquire(timeout=0):
            _end_server(note)
            note.unlink(missing_ok=True)
            Path(lock.lock_file).unlink(missing_ok=True)


def _end_server(note: Path) -> None:
    """End the server that a note names, if it is still there and is what it was."""
    try:
        number = int(note.read_text())
        words = Path(f"/proc/{number}/cmdline").read_bytes()
    except (OSError, ValueError):
        return
    if _SERVER in words:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(number, signal.SIGTERM)
