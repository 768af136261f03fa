"""A client for any OpenAI-compatible server, on the official SDK."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlsplit

import openai

from orchestrator.models.base import Ask, Block, Question, ToolMessage, ToolSpec
from orchestrator.models.config import ModelConfig
from orchestrator.models.openai_stream import StreamAssembler
from orchestrator.models.sdk_client import SdkClient

_NO_KEY = "none"


class OpenAIClient(SdkClient):
    """Chat completions; see `SdkClient`.

    Args:
        config: Which model, where, and how patiently.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config, openai)

    def _make_sdk(self) -> openai.AsyncOpenAI:
        key = self._key.get_secret_value() if self._key is not None else _NO_KEY
        headers: dict[str, Any] = {"Authorization": f"Bearer {key}"}
        if self._config.base_url is not None:  # the organisation is nobody else's business
            headers |= {"OpenAI-Organization": openai.Omit(), "OpenAI-Project": openai.Omit()}
        return openai.AsyncOpenAI(
            api_key=key,
            base_url=self._config.url,
            default_headers=headers,
            max_retries=0,
            timeout=self._timeout,
            http_client=self._http,
        )

    async def _start(self, sdk: openai.AsyncOpenAI, ask: Ask) -> Any:
        config = self._config
        official = (urlsplit(config.url).hostname or "").endswith("api.openai.com")
        ceiling = "max_completion_tokens" if official else "max_tokens"
        options: dict[str, Any] = {
            "model": config.model,
            "temperature": config.temperature,
            "stream": True,
            "stream_options": {"include_usage": True},
            ceiling: config.max_tokens,
        }
        if config.top_p is not None:
            options["top_p"] = config.top_p
        if isinstance(ask, Question):
            options["messages"] = as_chat(ask)
            if ask.tools:
                options["tools"] = [_function(tool) for tool in ask.tools]
        else:
            options["messages"] = list(ask)
        return await sdk.chat.completions.create(**options)

    def _assembler(self, ask: Ask) -> StreamAssembler:
        return StreamAssembler(ask, self._config.model or "", self._config.url)


def as_chat(question: Question) -> list[dict[str, Any]]:
    """A conversation with tools as chat completions have it."""
    chat: list[dict[str, Any]] = [{"role": "system", "content": question.system}]
    for message in question.messages:
        chat += _as_chat(message)
    return chat


def _as_chat(message: ToolMessage) -> list[dict[str, Any]]:
    content = message["content"]
    if isinstance(content, str):
        return [{"role": message["role"], "content": content}]
    text = "\n".join(block["text"] for block in content if block["type"] == "text")
    if message["role"] == "assistant":
        calls = [_call(block) for block in content if block["type"] == "tool_use"]
        said: dict[str, Any] = {"role": "assistant", "content": text or None}
        return [said | {"tool_calls": calls} if calls else said]
    results = [
        {"role": "tool", "tool_call_id": block["tool_use_id"], "content": block["content"]}
        for block in content
        if block["type"] == "tool_result"
    ]
    return [*results, {"role": "user", "content": text}] if text else results


def _call(block: Block) -> dict[str, Any]:
    given = block["input"]
    arguments = given if isinstance(given, str) else json.dumps(given)
    function = {"name": block["name"], "arguments": arguments}
    return {"id": block["id"], "type": "function", "function": function}


def _function(tool: ToolSpec) -> dict[str, Any]:
    described = {"name": tool.name, "description": tool.description, "parameters": tool.schema}
    return {"type": "function", "function": described}
