"""Putting an answer together, piece by piece."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionChunk

from orchestrator.models.base import Usage
from orchestrator.models.errors import BadModelReply
from orchestrator.models.openai_stream import StreamAssembler
from tests.support.openai_server import chunk, usage_chunk

WHOLE = [
    chunk("", role="assistant"),
    chunk("one "),
    chunk("two "),
    chunk("three"),
    chunk(finish="stop"),
    usage_chunk(9, 3, 20),
]


def assemble(pieces: list[dict[str, Any]]) -> StreamAssembler:
    answer = StreamAssembler([{"role": "user", "content": "count"}], "m", "http://h/v1")
    for piece in pieces:
        answer.feed(ChatCompletionChunk.construct(**piece))
    return answer


@given(st.integers(0, len(WHOLE)))
def test_a_prefix_is_an_answer_only_from_its_finish_on(length: int) -> None:
    answer = assemble(WHOLE[:length])
    if length < 5:
        assert not answer.finished
        with pytest.raises(BadModelReply, match="without a finish_reason"):
            answer.completion()
    else:
        assert answer.finished
        assert answer.completion().text == "one two three"


def test_cached_tokens_are_never_more_than_the_prompts() -> None:
    assert assemble(WHOLE).completion().usage == Usage(9, 3, 9)


def test_only_the_first_choice_counts() -> None:
    other = chunk("other", index=1, finish="stop")
    answer = assemble([other])
    assert not answer.finished
    assert assemble([*WHOLE[:2], other, *WHOLE[2:]]).completion().text == "one two three"


@pytest.mark.parametrize(
    ("said", "reason"), [("stop", "stop"), ("LENGTH", "length"), ("end_turn", "stop")]
)
def test_reasons_have_one_spelling(said: str, reason: str) -> None:
    assert assemble([chunk("a", finish=said)]).completion().finish_reason == reason


def test_a_keep_alive_is_no_progress() -> None:
    answer = assemble([])
    assert not answer.feed(ChatCompletionChunk.construct(**{**chunk(), "choices": []}))
    assert answer.feed(ChatCompletionChunk.construct(**chunk("a")))
