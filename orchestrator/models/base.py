"""What a model client is: messages in, one completion out.

Clients are reached by role through the broker, never by vendor. A client that can be asked for a
single try (`RemoteModelClient`) leaves retrying, paying and remembering to the broker.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypedDict, runtime_checkable

Block = dict[str, Any]
"""A part of a message in the form of the Messages API: ``text``, ``tool_use``, ``tool_result``, or
what a vendor wants back as it was."""


class Message(TypedDict):
    """One line of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


class ToolMessage(TypedDict):
    """One line of a conversation with tools."""

    role: Literal["user", "assistant"]
    content: str | list[Block]


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool that a model may call.

    Args:
        name: Its name.
        description: What it does and when to use it, for the model.
        schema: JSON Schema of its arguments, an object.
    """

    name: str
    description: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Question:
    """What is put to a model with tools.

    Args:
        system: Its standing orders.
        messages: The conversation so far, which ends with a message of the user's.
        tools: What it may call.
    """

    system: str
    messages: Sequence[ToolMessage]
    tools: Sequence[ToolSpec] = ()

    def as_json(self) -> str:
        """The whole question as text: what makes it the same, and how long it is."""
        tools = [[tool.name, tool.description, tool.schema] for tool in self.tools]
        parts = [self.system, tools, *([m["role"], m["content"]] for m in self.messages)]
        return json.dumps(parts, ensure_ascii=False, separators=(",", ":"))


Ask = Sequence[Message] | Question
"""What a model is asked: a conversation, without tools or with."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call.

    Args:
        input_tokens: Prompt tokens, those found in a cache included.
        output_tokens: Tokens that the model wrote, hidden reasoning included.
        cached_tokens: The part of the prompt tokens that came from the server's cache.
        cache_written_tokens: The part that the server put into its cache.
        estimated: True if the server did not say and the numbers are an upper bound.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cache_written_tokens: int = 0
    estimated: bool = False

    @property
    def total(self) -> int:
        """Prompt and completion tokens together."""
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's whole answer.

    Args:
        text: What the model wrote.
        usage: What it took.
        finish_reason: ``stop``, ``tools`` if it waits for the results of tools, or ``length`` if
            `max_tokens` cut it.
        model: The name by which the server calls the model that answered.
        blocks: The answer's parts, where tools were offered; they go back as they are.
    """

    text: str
    usage: Usage
    finish_reason: str
    model: str
    blocks: tuple[Block, ...] = field(default=())


class ModelClient(Protocol):
    """Anything that answers a conversation."""

    def complete(self, messages: Sequence[Message]) -> Completion:
        """Answer the conversation.

        Raises:
            ModelFailure: The machinery failed; the episode is missing, not bad.
        """
        ...

    def fingerprint(self) -> str:
        """What decides the answers, for an episode's key."""
        ...

    def close(self) -> None:
        """Give back connections and threads; safe to call twice."""
        ...


@runtime_checkable
class RemoteModelClient(ModelClient, Protocol):
    """A client behind a network: a single try can fail and can cost money."""

    def attempt(self, messages: Sequence[Message], *, seconds: float) -> Completion:
        """Ask once, without a retry, and end within `seconds` whatever the server does."""
        ...


@runtime_checkable
class ToolModelClient(Protocol):
    """A client whose model can call tools."""

    def converse(self, question: Question, *, seconds: float) -> Completion:
        """Ask once, without a retry; the answer's blocks may hold calls of tools."""
        ...


def prompt_ceiling(messages: Sequence[Message]) -> int:
    """An upper bound of the prompt's tokens, for reserving.

    A byte-level tokenizer never makes more tokens than bytes; the allowances cover what a chat
    template adds to each message and before the first.
    """
    size = sum(len(message["content"].encode("utf-8", "surrogatepass")) for message in messages)
    return size + 16 * len(messages) + 64


def ask_ceiling(ask: Ask) -> int:
    """The same for anything that is asked; a vendor adds a few tokens for tools."""
    if not isinstance(ask, Question):
        return prompt_ceiling(ask)
    size = len(ask.as_json().encode("utf-8", "surrogatepass"))
    return size + 16 * len(ask.messages) + 64 * len(ask.tools) + 512
