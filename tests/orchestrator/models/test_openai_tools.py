"""The same conversation with tools through any OpenAI-compatible server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from orchestrator.models.base import Question, ToolSpec
from orchestrator.models.config import ModelConfig
from orchestrator.models.openai_client import OpenAIClient, as_chat
from tests.support.openai_server import OpenAIServer, answer, chunk, event, stream, usage_chunk

LOOK = ToolSpec("look", "Look at a step.", {"type": "object", "properties": {}})


@pytest.fixture
def client(openai_server: OpenAIServer) -> Iterator[OpenAIClient]:
    made = OpenAIClient(ModelConfig(provider="openai", model="tiny-1", base_url=openai_server.url))
    yield made
    made.close()


def ask(*messages: Any) -> Question:
    return Question("Be brief.", messages or ({"role": "user", "content": "Look."},), (LOOK,))


def called(index: int, *, name: str = "", arguments: str = "", id: str = "") -> dict[str, Any]:
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value}
    piece = {"index": index, "function": function} | ({"id": id} if id else {})
    return chunk(tool_calls=[piece])


def test_calls_that_come_in_pieces_are_put_together(
    openai_server: OpenAIServer, client: OpenAIClient
) -> None:
    pieces = [
        chunk("Two "),
        chunk("looks."),
        called(0, name="look", id="c1", arguments='{"ste'),
        called(1, name="look", id="c2"),
        called(0, arguments='p": 3}'),
        chunk(finish="tool_calls"),
        usage_chunk(11, 7, 3),
    ]
    openai_server.play(stream(*map(event, pieces), event("[DONE]")))
    said = client.converse(ask(), seconds=10)
    assert (said.text, said.finish_reason) == ("Two looks.", "tools")
    assert said.blocks == (
        {"type": "text", "text": "Two looks."},
        {"type": "tool_use", "id": "c1", "name": "look", "input": {"step": 3}},
        {"type": "tool_use", "id": "c2", "name": "look", "input": {}},
    )
    (tool,) = openai_server.bodies[-1]["tools"]
    assert tool["function"]["name"] == "look"
    assert openai_server.bodies[-1]["messages"][0] == {"role": "system", "content": "Be brief."}


def test_arguments_that_are_no_json_are_kept_as_they_are(
    openai_server: OpenAIServer, client: OpenAIClient
) -> None:
    pieces = [called(0, name="look", arguments="{oops"), chunk(finish="stop")]
    openai_server.play(stream(*map(event, pieces), event("[DONE]")))
    said = client.converse(ask(), seconds=10)
    (block,) = said.blocks
    assert (block["id"], block["input"]) == ("call-0", "{oops")
    assert said.finish_reason == "tools"  # though the server said stop


def test_an_answer_in_words_has_one_block(
    openai_server: OpenAIServer, client: OpenAIClient
) -> None:
    openai_server.play(answer("Nothing to see."))
    said = client.converse(ask(), seconds=10)
    assert said.blocks == ({"type": "text", "text": "Nothing to see."},)
    assert said.finish_reason == "stop"


def test_a_conversation_is_translated_both_ways() -> None:
    used = {"type": "tool_use", "id": "c1", "name": "look", "input": {"step": 3}}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "a tree"}
    chat = as_chat(
        ask(
            {"role": "user", "content": "Look."},
            {"role": "assistant", "content": [{"type": "text", "text": "Yes."}, used]},
            {"role": "user", "content": [result, {"type": "text", "text": "Go on."}]},
            {"role": "assistant", "content": [used]},
            {"role": "user", "content": [result]},
        )
    )
    function = {"name": "look", "arguments": json.dumps({"step": 3})}
    told = {"role": "tool", "tool_call_id": "c1", "content": "a tree"}
    assert chat[1:] == [
        {"role": "user", "content": "Look."},
        {
            "role": "assistant",
            "content": "Yes.",
            "tool_calls": [{"id": "c1", "type": "function", "function": function}],
        },
        told,
        {"role": "user", "content": "Go on."},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": function}],
        },
        told,
    ]
