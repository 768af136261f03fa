"""A real HTTP server that speaks the Messages API, with somebody in it who thinks.

What answers is a `Mind`: a function from the request to what the model says. It may look at every
result that its tools returned, as a model would. Usage is counted from the request's length, and
the server keeps its own bill.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from tests.support.http_server import running

Block = dict[str, Any]
MODEL = "scripted-1"


@dataclass(frozen=True)
class Failure:
    """An answer that is none.

    Attributes:
        status: HTTP status; 200 for an error in the middle of a stream.
        kind: The error's type.
        headers: Headers of the answer.
    """

    status: int
    kind: str
    message: str = "no"
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """What the model says.

    Attributes:
        blocks: Content blocks: text, or calls made by `call`.
        stop: The stop reason; by the blocks if empty.
        cached: Prompt tokens that count as found in the cache.
        cached_anew: Prompt tokens that count as put into it.
    """

    blocks: Sequence[Block] = ()
    stop: str = ""
    cached: int = 0
    cached_anew: int = 0


Mind = Callable[[dict[str, Any]], Answer | Failure]


def say(text: str) -> Block:
    """A text block."""
    return {"type": "text", "text": text}


def call(name: str, **arguments: Any) -> Block:
    """A call of a tool; its id is set when it is sent."""
    return {"type": "tool_use", "name": name, "input": arguments}


def results(body: dict[str, Any]) -> list[Block]:
    """The results with which the request's last message answers the calls before it."""
    content = body["messages"][-1]["content"]
    if isinstance(content, str):
        return []
    return [block for block in content if block["type"] == "tool_result"]


@dataclass
class MessagesServer:
    """The running server.

    Attributes:
        url: Its address.
        mind: What answers.
        bodies: The requests, in order.
        headers: Their headers.
        usages: What it says each answer took.
    """

    url: str = ""
    mind: Mind = lambda _: Failure(500, "api_error", "nobody is there")
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    usages: list[dict[str, int]] = field(default_factory=list)

    async def messages(self, request: Request) -> Response:
        body = json.loads(await request.body())
        self.bodies.append(body)
        self.headers.append(dict(request.headers))
        answer = self.mind(body)
        if isinstance(answer, Failure):
            return self._fail(answer)
        usage = _usage(body, answer)
        self.usages.append(usage)
        pieces = list(_events(answer, usage, len(self.bodies)))
        return StreamingResponse(iter(pieces), media_type="text/event-stream")

    async def listing(self, _request: Request) -> Response:
        return JSONResponse({"data": [{"id": MODEL, "type": "model"}], "has_more": False})

    def billed(self, prices: dict[str, Decimal]) -> Decimal:
        """The bill in USD: the sum over answers of tokens times USD per million."""
        return (
            sum(
                (
                    Decimal(count) * prices[name]
                    for usage in self.usages
                    for name, count in usage.items()
                ),
                Decimal(0),
            )
            / 10**6
        )

    def _fail(self, failure: Failure) -> Response:
        error = {
            "type": "error",
            "error": {"type": failure.kind, "message": failure.message},
        }
        if failure.status != 200:
            return JSONResponse(error, failure.status, failure.headers)
        begin = _event(
            "message_start", message=_message(1, {"input_tokens": 9, "output_tokens": 1})
        )
        pieces = [begin, _sse("error", error)]
        return StreamingResponse(iter(pieces), media_type="text/event-stream")


def _usage(body: dict[str, Any], answer: Answer) -> dict[str, int]:
    asked, said = len(json.dumps(body)) // 4, len(json.dumps(list(answer.blocks))) // 4 + 1
    return {
        "input_tokens": max(1, asked - answer.cached - answer.cached_anew),
        "cache_read_input_tokens": answer.cached,
        "cache_creation_input_tokens": answer.cached_anew,
        "output_tokens": said,
    }


def _message(number: int, usage: dict[str, int]) -> dict[str, Any]:
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }


def _events(answer: Answer, usage: dict[str, int], number: int) -> Iterator[bytes]:
    yield _event("message_start", message=_message(number, usage | {"output_tokens": 1}))
    yield _event("ping")
    for index, block in enumerate(answer.blocks):
        yield from _block(index, block, f"toolu_{number}_{index}")
    calls = any(block["type"] == "tool_use" for block in answer.blocks)
    reason = answer.stop or ("tool_use" if calls else "end_turn")
    delta = {"stop_reason": reason, "stop_sequence": None}
    yield _event("message_delta", delta=delta, usage={"output_tokens": usage["output_tokens"]})
    yield _event("message_stop")


def _block(index: int, block: Block, name: str) -> Iterator[bytes]:
    if block["type"] == "text":
        empty, written, kind, piece = {"text": ""}, block["text"], "text_delta", "text"
    else:
        empty = {"id": name, "name": block["name"], "input": {}}
        written, kind, piece = json.dumps(block["input"]), "input_json_delta", "partial_json"
    begin = {"type": block["type"], **empty}
    yield _event("content_block_start", index=index, content_block=begin)
    middle = len(written) // 2  # in two pieces, as real answers come in many
    for part in (written[:middle], written[middle:]):
        yield _event("content_block_delta", index=index, delta={"type": kind, piece: part})
    yield _event("content_block_stop", index=index)


def _event(kind: str, **fields: Any) -> bytes:
    return _sse(kind, {"type": kind, **fields})


def _sse(kind: str, data: dict[str, Any]) -> bytes:
    return f"event: {kind}\ndata: {json.dumps(data)}\n\n".encode()


@contextmanager
def serve() -> Iterator[MessagesServer]:
    """Run the server in a thread, on a free port of this machine."""
    server = MessagesServer()
    routes = [
        Route("/v1/messages", server.messages, methods=["POST"]),
        Route("/v1/models", server.listing),
    ]
    with running(Starlette(routes=routes)) as address:
        server.url = address
        yield server
