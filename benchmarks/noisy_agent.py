"""An OpenAI-compatible server on this machine that plays as ``heuristic`` does, but for slips.

``heuristic`` is a pure function of what it is shown: every replicate of a game would be the same
game. Here, as with a model that samples, the same question is answered differently each time: one
action in so many is another one, drawn at random from those that can be played.
"""

from __future__ import annotations

import json
import random
import re
import socket
import threading
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from orchestrator.models.base import Message
from orchestrator.models.heuristic.client import answer
from orchestrator.models.heuristic.prompt import read_prompt

MODEL = "heuristic-with-slips"
_ACTION = re.compile(r"<\|ACTION\|>.*?<\|END\|>", re.S)


class NoisyAgent:
    """Answers conversations, with slips.

    Args:
        slips: Share of actions that are drawn at random, from 0 to 1.
        seed: What they are drawn from. The n-th answer to the same conversation is the same
            whatever was asked in between, so that parallel games do not disturb each other.
    """

    def __init__(self, slips: float, seed: int = 0) -> None:
        self._slips, self._seed = slips, seed
        self._asked: Counter[str] = Counter()

    def answer(self, messages: list[Message]) -> str:
        """The completion for a conversation."""
        text = answer(messages)
        if "<|ACTION|>" not in text:
            return text
        asked = json.dumps(messages)
        draw = random.Random(f"{self._seed} {self._asked[asked]} {asked}")
        self._asked[asked] += 1
        if draw.random() >= self._slips:
            return text
        actions = sorted(read_prompt(messages).means.actions)
        return _ACTION.sub(f"<|ACTION|>{draw.choice(actions)}<|END|>", text)


@contextmanager
def serving(agent: NoisyAgent) -> Iterator[str]:
    """Serve an agent on a free port of the loopback; yields its address, up to ``/v1``."""

    async def chat(request: Request) -> StreamingResponse:
        messages = json.loads(await request.body())["messages"]
        text = agent.answer(messages)
        read = sum(len(one["content"]) for one in messages) // 4
        return StreamingResponse(_events(text, read), media_type="text/event-stream")

    app = Starlette(routes=[Route("/v1/chat/completions", chat, methods=["POST"])])
    # With the protocol named, asyncio turns Nagle's delay off, which else costs 40 ms an answer.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off", ws="none"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    finally:
        server.should_exit = True
        thread.join(10)
        listener.close()


async def _events(text: str, read: int) -> AsyncIterator[bytes]:
    frame = {"id": "0", "object": "chat.completion.chunk", "created": 0, "model": MODEL}
    written = len(text) // 4 + 1
    usage = {
        "prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written,
    }  # fmt: skip
    said = {"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    for chunk in ({**frame, "choices": [said]}, {**frame, "choices": [], "usage": usage}):
        yield f"data: {json.dumps(chunk)}\n\n".encode()
    yield b"data: [DONE]\n\n"
