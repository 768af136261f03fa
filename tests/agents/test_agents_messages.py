"""What comes out of the sandbox is read without trust; what goes in and out comes out the same."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.messages import (
    MAX_MESSAGES,
    Act,
    CommandCall,
    CommandReply,
    FromHost,
    FromSandbox,
    MemoryReply,
    MemoryRequest,
    Observe,
    ProtocolError,
    Ready,
    ScaffoldFault,
    Start,
    Stop,
    TurnReply,
    TurnRequest,
    Up,
    decode_from_host,
    decode_from_sandbox,
    encode,
)

USER = {"role": "user", "content": "hi"}
TURN = {"type": "turn", "phase": "LOG", "kept": 0, "messages": [USER]}
COMMAND = {"name": "UPSERT", "arguments": ["file"], "help": "", "writes": True}
DEEP = b'{"type":"act","action":' + b"[" * 100_000 + b"]" * 100_000 + b"}"


def line(**record: Any) -> bytes:
    return json.dumps(record).encode()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"noop",
        b"null",
        b"3",
        b'"act"',
        b"[]",
        b'{"type":"act","action":"noop"',
        b'{"type":"act","action":"noop"} {"type":"act","action":"noop"}',
        b'{"type":"act","action":"\xff\xfe"}',
        b'\xef\xbb\xbf{"type":"act","action":"noop"}',
        b'{"type":"act","action":"half a pair \\ud83d"}',
        b'{"type":"act","action":"\xed\xa0\xbd"}',
        b'{"type":"memory","operation":"ADD","arguments":["notes","\\uDC00"]}',
        b'{"type":"act","action":' + b"9" * 5000 + b"}",
        DEEP,
        b'{"type":' + b"[" * 500 + b"]" * 500 + b"}",
        # unknown or missing types, and those of the other direction
        line(),
        line(type=None),
        line(type=["act"], action="noop"),
        line(type="cheat"),
        line(type="Act", action="noop"),
        line(type="observe", step=0, observation="", action=None, note=""),
        line(type="stop", outcome="won"),
        # other fields
        line(type="act"),
        line(type="act", action="noop", score=1),
        line(type="up", version=1),
        line(type="fault", where="", message=""),
        # other types of fields
        line(type="act", action=None),
        line(type="act", action=["noop"]),
        line(type="memory", operation="ADD", arguments="notes"),
        line(type="memory", operation="ADD", arguments=["notes", 3]),
        line(type="command", ok=1, text=""),
        line(type="command", ok="true", text=""),
        line(type="ready", commands={}),
        line(type="ready", commands=[COMMAND] * 33),
        line(type="ready", commands=[{**COMMAND, "ends": True}]),
        line(type="ready", commands=[{**COMMAND, "writes": 1}]),
        line(type="ready", commands=[{**COMMAND, "arguments": [3]}]),
        line(type="ready", commands=[{"name": "UPSERT"}]),
        line(**{**TURN, "phase": "ACT"}),
        line(**{**TURN, "phase": ["LOG"]}),
        line(**{**TURN, "kept": -1}),
        line(**{**TURN, "kept": True}),
        line(**{**TURN, "kept": 1.0}),
        line(**{**TURN, "kept": MAX_MESSAGES + 1}),
        line(**{**TURN, "messages": []}),
        line(**{**TURN, "messages": [USER] * (MAX_MESSAGES + 1)}),
        line(**{**TURN, "messages": [{"role": "tool", "content": ""}]}),
        line(**{**TURN, "messages": [{"role": "user", "content": None}]}),
        line(**{**TURN, "messages": [{**USER, "name": "x"}]}),
        line(**{**TURN, "messages": ["hi"]}),
    ],
)
def test_what_is_no_message_is_refused(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode_from_sandbox(data)


def test_the_refusal_names_what_is_wrong_and_not_more() -> None:
    with pytest.raises(ProtocolError, match=r"^unexpected fields in 'act'$"):
        decode_from_sandbox(line(type="act", action="noop", secret="s3cret"))
    with pytest.raises(ProtocolError, match=r"^missing or malformed 'kept' in 'turn'$"):
        decode_from_sandbox(line(**{**TURN, "kept": "0"}))
    with pytest.raises(ProtocolError) as long_name:
        decode_from_sandbox(line(type="x" * 10_000))
    assert len(str(long_name.value)) < 80


def test_a_whole_pair_of_surrogates_is_a_letter() -> None:
    assert decode_from_sandbox(b'{"type":"act","action":"\\ud83d\\ude00"}') == Act("\U0001f600")


def test_half_a_pair_never_leaves_this_side() -> None:
    assert decode_from_sandbox(encode(Act("half \ud83d"))) == Act("half ?")


def test_a_message_is_one_line() -> None:
    for text in ("two\nlines", "a\r\nb", "\u2028 and \x85"):
        data = encode(Act(text))
        assert data.count(b"\n") == 1
        assert data.endswith(b"\n")


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
conversations = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["system", "user", "assistant"]), "content": texts}
    ),
    min_size=1,
    max_size=5,
)
own_commands = st.lists(
    st.fixed_dictionaries(
        {"name": texts, "arguments": st.lists(texts), "help": texts, "writes": st.booleans()}
    ),
    max_size=3,
)
json_values = st.one_of(texts, st.integers(), st.booleans())

from_sandbox = st.one_of(
    st.just(Up()),
    st.builds(Ready, own_commands),
    st.builds(
        TurnRequest, st.sampled_from(["LOG", "PLAN"]), st.integers(0, MAX_MESSAGES), conversations
    ),
    st.builds(MemoryRequest, texts, st.lists(texts, max_size=3)),
    st.builds(CommandReply, st.booleans(), texts),
    st.builds(Act, texts),
    st.builds(ScaffoldFault, texts, texts, texts),
)
from_host = st.one_of(
    st.builds(
        Start,
        texts,
        texts,
        st.lists(texts),
        st.integers(1),
        st.integers(1),
        st.integers(1),
        st.booleans(),
        st.lists(texts),
        st.lists(st.fixed_dictionaries({"name": texts})),
        st.dictionaries(texts, json_values, max_size=3),
    ),
    st.builds(Observe, st.integers(0), texts, st.none() | texts, texts),
    st.builds(TurnReply, texts, st.lists(st.lists(texts, min_size=2, max_size=2)), texts, texts),
    st.builds(MemoryReply, st.booleans(), texts),
    st.builds(CommandCall, texts, st.lists(texts)),
    st.builds(Stop, texts),
)


@given(from_sandbox)
def test_messages_from_the_sandbox_round_trip(message: FromSandbox) -> None:
    assert decode_from_sandbox(encode(message)) == message


@given(from_host)
def test_messages_from_the_host_round_trip(message: FromHost) -> None:
    assert decode_from_host(encode(message)) == message


json_anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=10,
)
field_names = st.sampled_from(
    ["type", "action", "phase", "kept", "messages", "operation", "arguments", "ok", "text"]
)


@given(
    st.binary(max_size=200)
    | json_anything.map(lambda value: json.dumps(value).encode())
    | st.dictionaries(field_names, json_anything).map(lambda value: json.dumps(value).encode())
)
def test_decoding_refuses_or_gives_a_message(data: bytes) -> None:
    try:
        message = decode_from_sandbox(data)
    except ProtocolError:
        return
    assert decode_from_sandbox(encode(message)) == message
