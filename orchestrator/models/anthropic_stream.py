"""From the events of a streamed message to one whole completion, or a reason why not.

The SDK builds its objects without checking them, so every field is looked at before it is used. A
message is whole once the server has said why it stopped.
"""

from __future__ import annotations

import json
from typing import Any

from orchestrator.models.base import Ask, Block, Completion, Question, Usage
from orchestrator.models.errors import BadModelReply, ModelRefused

_FINISHED = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tools",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
}
_PIECES = {
    "text_delta": "text",
    "input_json_delta": "partial_json",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
}


class MessageAssembler:
    """Collects the events of one message.

    Args:
        ask: The request: whether it offers tools.
        model: The model asked for.
        url: The server, for messages.
    """

    def __init__(self, ask: Ask, model: str, url: str) -> None:
        self._offered = isinstance(ask, Question) and bool(ask.tools)
        self._model = model
        self._url = url
        self._blocks: list[Block] = []
        self._json: dict[int, list[str]] = {}
        self._reason: str | None = None
        self._counts: dict[str, int] = {}

    @property
    def finished(self) -> bool:
        """Whether the server has said that the answer is whole."""
        return self._reason is not None

    def feed(self, piece: object) -> bool:
        """Take one event.

        Returns:
            Whether it brought the answer forward (a ``ping`` does not).

        Raises:
            BadModelReply: The event is not what the protocol says.
        """
        kind = str(getattr(piece, "type", None))
        if kind == "message_start":
            self._begin(getattr(piece, "message", None))
        elif kind == "content_block_start":
            self._open(getattr(piece, "index", None), getattr(piece, "content_block", None))
        elif kind == "content_block_delta":
            self._add(getattr(piece, "index", None), getattr(piece, "delta", None))
        elif kind == "message_delta":
            self._take_usage(getattr(piece, "usage", None))
            reason = getattr(getattr(piece, "delta", None), "stop_reason", None)
            if reason is not None:
                self._reason = str(reason)
        elif kind not in ("content_block_stop", "message_stop", "ping"):
            raise self._bad(f"sent an event of the unknown kind {kind[:40]!r}")
        return kind != "ping"

    def completion(self) -> Completion:
        """The whole answer.

        Raises:
            BadModelReply: The stream ended before the answer did.
            ModelRefused: The model would not answer.
        """
        usage, text = self._usage(), self._text()
        if self._reason == "refusal":
            raise ModelRefused(
                f"Model {self._model!r} at {self._url} refused to answer"
                + (f": {text.strip()[:200]!r}." if text.strip() else "."),
                mend="If it refuses every time, look at the prompts, or use another model.",
                usage=usage,
            )
        if self._reason is None:
            raise self._bad(f"ended the stream after {len(text)} characters without a stop reason")
        if self._reason not in _FINISHED or (self._reason == "tool_use" and not self._offered):
            raise self._bad(f"ended the answer with stop reason {self._reason!r}")
        if usage is None:
            raise self._bad("did not say how many tokens the answer took")
        blocks = tuple(self._finished_blocks()) if self._offered else ()
        return Completion(text, usage, _FINISHED[self._reason], self._model, blocks)

    def _begin(self, message: Any) -> None:
        name = getattr(message, "model", None)
        if isinstance(name, str) and name:
            self._model = name
        self._take_usage(getattr(message, "usage", None))

    def _open(self, index: Any, block: Any) -> None:
        if index != len(self._blocks) or not hasattr(block, "model_dump"):
            raise self._bad("sent a content block out of order")
        self._blocks.append(block.model_dump(mode="json", exclude_none=True))

    def _add(self, index: Any, delta: Any) -> None:
        kind = getattr(delta, "type", None)
        field = _PIECES.get(str(kind))
        if field is None:
            return  # citations and what comes after this was written
        value = getattr(delta, field, None)
        known = isinstance(index, int) and 0 <= index < len(self._blocks)
        if not known or not isinstance(value, str):
            raise self._bad("sent a piece that belongs to no content block")
        if kind == "input_json_delta":
            self._json.setdefault(index, []).append(value)
        else:
            block = self._blocks[index]
            block[field] = block.get(field, "") + value

    def _finished_blocks(self) -> list[Block]:
        blocks = [dict(block) for block in self._blocks]
        for index, pieces in self._json.items():
            written = "".join(pieces)
            try:
                blocks[index]["input"] = json.loads(written or "{}")
            except ValueError:  # cut by max_tokens, say: whoever carries it out says what is wrong
                blocks[index]["input"] = {"(unreadable)": written}
        return [block for block in blocks if block.get("type") != "text" or block.get("text")]

    def _text(self) -> str:
        return "".join(
            str(block.get("text", "")) for block in self._blocks if block.get("type") == "text"
        )

    def _take_usage(self, usage: Any) -> None:
        for name in (
            "input_tokens",
            "cache_creation_input_tokens",
            "cache_read_input_tokens",
            "output_tokens",
        ):
            value = getattr(usage, name, None)
            if value is None:
                continue
            if type(value) is not int or value < 0:
                raise self._bad("reported usage that is not in whole tokens")
            self._counts[name] = value

    def _usage(self) -> Usage | None:
        count = self._counts
        if "input_tokens" not in count or "output_tokens" not in count:
            return None
        read = count.get("cache_read_input_tokens", 0)
        written = count.get("cache_creation_input_tokens", 0)
        whole = count["input_tokens"] + read + written
        return Usage(whole, count["output_tokens"], read, written)

    def _bad(self, what: str) -> BadModelReply:
        return BadModelReply(
            f"Model {self._model!r} at {self._url} {what}.",
            mend="The call is tried again; if it persists, look at the server's log.",
            usage=self._usage() if self.finished else None,
        )
