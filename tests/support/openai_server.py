"""A real HTTP server that speaks the chat-completions protocol and follows a script.

Each request to ``/v1/chat/completions`` is answered by the next behaviour of the script; a request
past its end gets a 500 that says so. Nothing here waits longer than the client stays connected.
"""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from tests.support.http_server import running

Behaviour = Callable[[Request], Awaitable[Response]]


@dataclass
class OpenAIServer:
    """The running server, its script and what it was asked."""

    url: str = ""
    script: list[Behaviour] = field(default_factory=list)
    models: list[str] | None = field(default_factory=lambda: ["tiny-1", "tiny-2"])
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    listings: int = 0

    def play(self, *behaviours: Behaviour) -> None:
        """Set the script and forget what was asked before."""
        self.script = list(behaviours)
        self.models = ["tiny-1", "tiny-2"]
        self.bodies, self.headers, self.listings = [], [], 0

    async def chat(self, request: Request) -> Response:
        self.bodies.append(json.loads(await request.body()))
        self.headers.append(dict(request.headers))
        if not self.script:
            return JSONResponse({"error": {"message": "the script has ended"}}, 500)
        return await self.script.pop(0)(request)

    async def listing(self, _request: Request) -> Response:
        self.listings += 1
        if self.models is None:
            return JSONResponse({"detail": "Not Found"}, 404)
        data = [{"id": name, "object": "model"} for name in self.models]
        return JSONResponse({"object": "list", "data": data})


def chunk(
    text: str | None = None, *, finish: str | None = None, index: int = 0, **delta: Any
) -> dict[str, Any]:
    """One chunk as OpenAI sends it."""
    if text is not None:
        delta["content"] = text
    return {
        "id": "c-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "tiny-1",
        "choices": [{"index": index, "delta": delta, "finish_reason": finish}],
    }


def usage_chunk(prompt: int, written: int, cached: int = 0) -> dict[str, Any]:
    """The chunk without choices that closes a stream with its usage."""
    return {
        **chunk(),
        "choices": [],
        "usage": {
            "prompt_tokens": prompt,
            "completion_tokens": written,
            "total_tokens": prompt + written,
            "prompt_tokens_details": {"cached_tokens": cached},
        },
    }


def event(data: dict[str, Any] | str) -> bytes:
    """One server-sent event."""
    return f"data: {data if isinstance(data, str) else json.dumps(data)}\n\n".encode()


def answer(
    *pieces: str, finish: str = "stop", usage: tuple[int, int, int] | None = (11, 7, 3)
) -> Behaviour:
    """A whole, well-formed answer."""
    events = [event(chunk("", role="assistant")), *(event(chunk(piece)) for piece in pieces)]
    events.append(event(chunk(finish=finish)))
    if usage is not None:
        events.append(event(usage_chunk(*usage)))
    return stream(*events, event("[DONE]"))


def stream(
    *pieces: bytes,
    crash: bool = False,
    hang: bool = False,
    every_s: float = 0.0,
    content_type: str = "text/event-stream",
) -> Behaviour:
    """These bytes, then a clean end, a broken connection, or silence."""

    async def behave(request: Request) -> Response:
        async def body() -> AsyncIterator[bytes]:
            for piece in pieces:
                yield piece
                await asyncio.sleep(every_s)
            if hang:
                await _until_gone(request)
            if crash:
                raise ConnectionAbortedError

        return StreamingResponse(body(), media_type=content_type)

    return behave


def drip(piece: bytes, *, every_s: float = 0.01) -> Behaviour:
    """The same bytes over and over while the client listens."""

    async def behave(request: Request) -> Response:
        async def body() -> AsyncIterator[bytes]:
            for _ in range(1000):
                if await request.is_disconnected():
                    return
                yield piece
                await asyncio.sleep(every_s)

        return StreamingResponse(body(), media_type="text/event-stream")

    return behave


def status(
    code: int,
    body: dict[str, Any] | str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Behaviour:
    """A status with a JSON body, or with any text."""

    async def behave(_request: Request) -> Response:
        if isinstance(body, str):
            return Response(body, code, headers, media_type="text/html")
        content = {"error": {"message": f"status {code}"}} if body is None else body
        return JSONResponse(content, code, headers)

    return behave


def silence() -> Behaviour:
    """Not even headers, as long as the client waits."""

    async def behave(request: Request) -> Response:
        await _until_gone(request)
        return Response(status_code=500)

    return behave


async def _until_gone(request: Request) -> None:
    for _ in range(1000):
        if await request.is_disconnected():
            return
        await asyncio.sleep(0.01)


@contextmanager
def serve() -> Iterator[OpenAIServer]:
    """Run the server in a thread, on a free port of this machine."""
    scripted = OpenAIServer()
    app = Starlette(
        routes=[
            Route("/v1/chat/completions", scripted.chat, methods=["POST"]),
            Route("/v1/models", scripted.listing),
        ]
    )
    with running(app) as address:
        scripted.url = f"{address}/v1"
        yield scripted


@contextmanager
def serve_raw(*pieces: bytes, every_s: float = 0.01) -> Iterator[str]:
    """A socket that sends the pieces one by one to whoever connects, whatever they ask."""
    listener = socket.create_server(("127.0.0.1", 0))

    def run() -> None:
        try:
            while True:
                connection, _ = listener.accept()
                with connection:
                    _send(connection, pieces, every_s)
        except OSError:
            return

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(10)


def _send(connection: socket.socket, pieces: Sequence[bytes], every_s: float) -> None:
    stop = threading.Event()
    connection.settimeout(5)
    try:
        connection.recv(65536)
        for piece in pieces:
            connection.sendall(piece)
            stop.wait(every_s)
    except OSError:
        return


@contextmanager
def closed_port() -> Iterator[str]:
    """The address of a port on which nobody listens, held so that nobody can."""
    holder = socket.socket()
    try:
        holder.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{holder.getsockname()[1]}/v1"
    finally:
        holder.close()


@pytest.fixture(scope="session")
def running_openai_server() -> Iterator[OpenAIServer]:
    """One server for the whole run of the tests."""
    with serve() as server:
        yield server


@pytest.fixture
def openai_server(running_openai_server: OpenAIServer) -> OpenAIServer:
    """The server with an empty script."""
    running_openai_server.play()
    return running_openai_server
