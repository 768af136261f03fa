"""Real HTTP servers on this machine, for as long as a test wants them."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.applications import Starlette


@contextmanager
def running(app: Starlette) -> Iterator[str]:
    """Serve an application from a thread on a free port; yields its address."""
    # With the protocol named, asyncio turns Nagle's delay off, which else costs 40 ms an answer.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen()  # or the first to ask may come before the thread does
    config = uvicorn.Config(
        app,
        log_config=None,
        lifespan="off",
        ws="none",
        date_header=False,
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)
        listener.close()
