"""A client for Anthropic's Messages API, on the official SDK.

A conversation with tools is cached by the server up to its end: the tools, the standing orders and
what was said before come back at a tenth of the price with every further turn. A single question is
not, for writing a cache that nobody reads costs a quarter more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anthropic

from orchestrator.models.anthropic_stream import MessageAssembler
from orchestrator.models.base import Ask, Message, Question, ToolMessage
from orchestrator.models.config import ModelConfig
from orchestrator.models.sdk_client import SdkClient

_NO_KEY = "none"
_CACHED: dict[str, Any] = {"cache_control": {"type": "ephemeral"}}
_DEFAULT_TEMPERATURE = 1.0


class AnthropicClient(SdkClient):
    """The Messages API; see `SdkClient`.

    Args:
        config: Which model, where, and how patiently.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config, anthropic)

    def _make_sdk(self) -> anthropic.AsyncAnthropic:
        key = self._key.get_secret_value() if self._key is not None else _NO_KEY
        return anthropic.AsyncAnthropic(
            api_key=key,
            base_url=self._config.url,
            # Said here, or the SDK would look for another kind of key in the environment.
            default_headers={"X-Api-Key": key, "Authorization": anthropic.Omit()},  # type: ignore[dict-item]
            max_retries=0,
            timeout=self._timeout,
            http_client=self._http,
        )

    async def _start(self, sdk: anthropic.AsyncAnthropic, ask: Ask) -> Any:
        config = self._config
        question = ask if isinstance(ask, Question) else as_question(ask)
        options: dict[str, Any] = {
            "model": config.model,
            "max_tokens": config.max_tokens,
            "messages": list(question.messages),
            "stream": True,
        }
        if question.system:
            options["system"] = question.system
        if question.tools:
            options |= _with_cache(question)
        # Newer models refuse what is only said to be left as it is.
        if config.temperature != _DEFAULT_TEMPERATURE:
            options["temperature"] = config.temperature
        if config.top_p is not None:
            options["top_p"] = config.top_p
        return await sdk.messages.create(**options)

    def _assembler(self, ask: Ask) -> MessageAssembler:
        return MessageAssembler(ask, self._config.model or "", self._config.url)


def as_question(messages: Sequence[Message]) -> Question:
    """A plain conversation: what its system messages say comes first."""
    system = "\n\n".join(one["content"] for one in messages if one["role"] == "system")
    said: list[ToolMessage] = []
    for one in messages:
        if one["role"] == "system":
            continue
        said.append({"role": one["role"], "content": one["content"]})
    return Question(system, said)


def _with_cache(question: Question) -> dict[str, Any]:
    tools: list[dict[str, Any]] = [
        {"name": tool.name, "description": tool.description, "input_schema": tool.schema}
        for tool in question.tools
    ]
    *before, last = question.messages
    content = last["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
    blocks[-1] = {**blocks[-1], **_CACHED}
    return {
        "tools": tools,
        "system": [{"type": "text", "text": question.system, **_CACHED}],
        "messages": [*before, {**last, "content": blocks}],
    }
