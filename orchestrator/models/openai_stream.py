"""From the pieces of a streamed answer to one whole completion, or a reason why not.

The SDK builds its objects without checking them, so every field is looked at before it is used. A
stream counts as whole only once the server has said why it finished.
"""

from __future__ import annotations

import json
from typing import Any

from orchestrator.models.base import (
    Ask,
    Block,
    Completion,
    Question,
    Usage,
    ask_ceiling,
)
from orchestrator.models.errors import BadModelReply, ModelRefused

_FINISHED = {
    "stop": "stop",
    "eos": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "length": "length",
    "max_tokens": "length",
}
_TOOLS = ("tool_calls", "function_call")


class StreamAssembler:
    """Collects the chunks of one answer.

    Args:
        ask: The request: whether it offers tools, and for an estimate if the server does not
            report usage.
        model: The model asked for.
        url: The server, for messages.
    """

    def __init__(self, ask: Ask, model: str, url: str) -> None:
        self._ask = ask
        self._calls: dict[int, _Call] = {}
        self._model = model
        self._url = url
        self._text: list[str] = []
        self._refusal: list[str] = []
        self._reason: str | None = None
        self._usage: Usage | None = None

    @property
    def finished(self) -> bool:
        """Whether the server has said that the answer is whole."""
        return self._reason is not None

    def feed(self, chunk: object) -> bool:
        """Take one chunk.

        Returns:
            Whether it brought the answer forward (a keep-alive does not).

        Raises:
            BadModelReply: The chunk is not what the protocol says.
        """
        choices = getattr(chunk, "choices", None)
        if not isinstance(choices, list):
            raise self._bad("sent a piece that is not a chat completion chunk")
        model = getattr(chunk, "model", None)
        if isinstance(model, str) and model:
            self._model = model
        self._take_usage(getattr(chunk, "usage", None))
        mine = [choice for choice in choices if getattr(choice, "index", 0) in (0, None)]
        for choice in mine:
            self._take_delta(getattr(choice, "delta", None))
            reason = getattr(choice, "finish_reason", None)
            if reason is not None:
                self._reason = str(reason).lower()
        return bool(mine)

    def completion(self) -> Completion:
        """The whole answer.

        Raises:
            BadModelReply: The stream ended before the answer did.
            ModelRefused: The model or a filter would not answer.
        """
        if self._refusal or self._reason == "content_filter":
            said = "".join(self._refusal).strip()[:200]
            raise ModelRefused(
                f"Model {self._model!r} at {self._url} refused to answer"
                + (f": {said!r}." if said else " (content filter)."),
                mend="If it refuses every time, look at the prompts, or use another model.",
                usage=self._usage,
            )
        if self._reason is None:
            raise self._bad(
                f"ended the stream after {len(self._joined())} characters without a finish_reason, "
                "so the answer is cut"
            )
        if self._reason in _TOOLS and not self._offered:
            raise self._bad(
                "answered with a tool call, and no tool was offered",
                mend="Start the server without a tool-call parser.",
            )
        if self._reason not in _FINISHED and self._reason not in _TOOLS:
            raise self._bad(f"ended the answer with finish_reason {self._reason!r}")
        usage, text, blocks = self._usage or self._estimate(), self._joined(), self._blocks()
        # Some servers say "stop" after calls, too.
        calls = any(block["type"] == "tool_use" for block in blocks)
        reason = "tools" if calls else _FINISHED.get(self._reason, "stop")
        return Completion(text, usage, reason, self._model, blocks)

    def _blocks(self) -> tuple[Block, ...]:
        if not self._offered:
            return ()
        text = self._joined()
        said: list[Block] = [{"type": "text", "text": text}] if text else []
        return (*said, *(self._calls[index].block(index) for index in sorted(self._calls)))

    def _joined(self) -> str:
        return "".join(self._text)

    def _take_delta(self, delta: object) -> None:
        if delta is None:
            return
        for name, into in (("content", self._text), ("refusal", self._refusal)):
            value = getattr(delta, name, None)
            if isinstance(value, str):
                if value:
                    into.append(value)
            elif value is not None:
                raise self._bad(f"sent {name} that is not text ({type(value).__name__})")
        if self._offered:
            for piece in getattr(delta, "tool_calls", None) or ():
                self._take_call(piece)

    def _take_call(self, piece: Any) -> None:
        index, function = getattr(piece, "index", None), getattr(piece, "function", None)
        if not isinstance(index, int) or index < 0:
            raise self._bad("sent a tool call without an index")
        call = self._calls.setdefault(index, _Call())
        for name, into in (("id", piece), ("name", function), ("arguments", function)):
            value = getattr(into, name, None)
            if isinstance(value, str):
                call.add(name, value)

    def _take_usage(self, usage: object) -> None:
        if usage is None:
            return
        prompt = getattr(usage, "prompt_tokens", None)
        written = getattr(usage, "completion_tokens", None)
        details = getattr(usage, "prompt_tokens_details", None)
        cached = getattr(details, "cached_tokens", None) or 0
        if not (_count(prompt) and _count(written) and _count(cached)):
            raise self._bad("reported usage that is not in whole tokens")
        assert isinstance(prompt, int)
        assert isinstance(written, int)
        self._usage = Usage(prompt, written, min(cached, prompt))

    def _estimate(self) -> Usage:
        written = len(self._joined().encode("utf-8", "surrogatepass")) + 1
        return Usage(ask_ceiling(self._ask), written, estimated=True)

    @property
    def _offered(self) -> bool:
        return isinstance(self._ask, Question) and bool(self._ask.tools)

    def _bad(self, what: str, *, mend: str | None = None) -> BadModelReply:
        return BadModelReply(
            f"Model {self._model!r} at {self._url} {what}.",
            mend=mend or "The call is tried again; if it persists, look at the server's log.",
            usage=self._usage,
        )


def _count(value: object) -> bool:
    return type(value) is int and value >= 0


class _Call:
    """A tool call that comes in pieces."""

    def __init__(self) -> None:
        self._parts: dict[str, str] = {"id": "", "name": "", "arguments": ""}

    def add(self, name: str, piece: str) -> None:
        # Names and ids come whole, and some servers repeat them with every piece.
        self._parts[name] = self._parts[name] + piece if name == "arguments" else piece

    def block(self, index: int) -> Block:
        parts = self._parts
        given: Any
        try:
            given = json.loads(parts["arguments"] or "{}")
        except ValueError:
            given = parts["arguments"]  # as it is: whoever carries out the call says what is wrong
        name = parts["id"] or f"call-{index}"
        return {"type": "tool_use", "id": name, "name": parts["name"], "input": given}
