"""What a model client is: messages in, one completion out.

Clients are reached by role through the broker, never by vendor. A client that can be asked for a
single try (`RemoteModelClient`) leaves retrying, paying and remembering to the broker.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypedDict, runtime_checkable


class Message(TypedDict):
    """One line of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call.

    Args:
        input_tokens: Prompt tokens, those found in a cache included.
        output_tokens: Tokens that the model wrote, hidden reasoning included.
        cached_tokens: The part of the prompt tokens that came from the server's cache.
        estimated: True if the server did not say and the numbers are an upper bound.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
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
        finish_reason: ``stop``, or ``length`` if `max_tokens` cut it.
        model: The name by which the server calls the model that answered.
    """

    text: str
    usage: Usage
    finish_reason: str
    model: str


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


def prompt_ceiling(messages: Sequence[Message]) -> int:
    """An upper bound of the prompt's tokens, for reserving.

    A byte-level tokenizer never makes more tokens than bytes; the allowances cover what a chat
    template adds to each message and before the first.
    """
    size = sum(len(message["content"].encode("utf-8", "surrogatepass")) for message in messages)
    return size + 16 * len(messages) + 64
