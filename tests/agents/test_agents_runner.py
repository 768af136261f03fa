"""The sandbox's end of the channel, and what a scaffold may import."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents import loop, scaffold
from agents.messages import MemoryReply, Message, TurnReply, encode
from agents.runner import Channel
from agents.scaffold import Memory, MemoryFault

messages = st.lists(
    st.builds(
        lambda role, content: Message(role=role, content=content),
        st.sampled_from(["system", "user"]),
        st.sampled_from(["a", "b", "c"]),
    ),
    min_size=1,
    max_size=5,
)


@given(st.lists(messages, max_size=8))
def test_only_what_is_new_is_sent_and_the_host_can_put_it_together(
    conversations: list[list[Message]],
) -> None:
    reply = encode(TurnReply("", [], "", ""))
    out = io.BytesIO()
    channel = Channel(io.BytesIO(reply * len(conversations)), out)
    for conversation in conversations:
        channel.turn("PLAN", conversation)
    held: list[Any] = []
    for line, conversation in zip(out.getvalue().splitlines(), conversations, strict=True):
        request = json.loads(line)
        assert request["messages"], "a request always brings something new"
        del held[request["kept"] :]
        held += request["messages"]
        assert held == conversation


def memory(*replies: MemoryReply) -> tuple[Memory, io.BytesIO]:
    out = io.BytesIO()
    return Memory(Channel(io.BytesIO(b"".join(map(encode, replies))), out).memory), out


def test_memory_is_reached_by_messages() -> None:
    notes, out = memory(
        MemoryReply(True, "notes\nmap"),
        MemoryReply(True, "one\ntwo"),
        MemoryReply(True, "written"),
        MemoryReply(True, "appended"),
    )
    assert notes.files() == ["notes", "map"]
    assert notes.lines("notes") == ["one", "two"]
    notes.write("notes", "x")
    notes.append("notes", 3)  # type: ignore[arg-type]  # scaffolds are not type-checked
    asked = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [(one["operation"], one["arguments"]) for one in asked] == [
        ("FILES", []),
        ("TEXT", ["notes"]),
        ("PUT", ["notes", "x"]),
        ("ADD", ["notes", "3"]),
    ]


def test_a_refusal_is_an_exception_with_its_reason() -> None:
    notes, _ = memory(MemoryReply(False, "Memory is full."))
    with pytest.raises(MemoryFault, match=r"Memory is full\."):
        notes.write("notes", "x")


def test_the_process_ends_quietly_when_the_host_is_gone() -> None:
    with pytest.raises(SystemExit) as quiet:
        Channel(io.BytesIO(b""), io.BytesIO()).receive()
    assert quiet.value.code == 0


def test_the_hooks_that_are_documented_are_those_that_are_called() -> None:
    source = loop.__loader__.get_source("agents.loop")  # type: ignore[union-attr]
    assert source is not None
    for hook in scaffold.HOOKS:
        assert f'"{hook}"' in source
        assert f"``{hook}(context" in str(scaffold.__doc__)
