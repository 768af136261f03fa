"""The conversation itself: how it ends, and what happens when it grows too long."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import Field

from orchestrator.editors.meta.editor import NUDGES, Conversation, Patience
from orchestrator.editors.meta.toolbox import RESULT_LIMIT, Arguments, Tool, Toolbox, ToolRefusal
from orchestrator.editors.meta.transcript import Transcript, read_transcript
from orchestrator.models.broker import Broker
from orchestrator.models.config import ModelConfig
from orchestrator.models.errors import PromptTooLong
from tests.support.messages_server import (
    MODEL,
    Answer,
    Failure,
    MessagesServer,
    call,
    results,
    say,
    serve,
)


class Many(Arguments):
    """Arguments of the test's tool."""

    letters: int = Field(ge=0)


def _letters(asked: Many) -> str:
    if asked.letters == 13:
        raise ToolRefusal("Not thirteen.")
    return "x" * asked.letters


@pytest.fixture
def server() -> Iterator[MessagesServer]:
    with serve() as running:
        yield running


class Table:
    """A conversation with a tool that gives back so many letters."""

    def __init__(self, server: MessagesServer, folder: Path, **patience: int) -> None:
        self.server = server
        self.path = folder / "1.jsonl"
        self.over = False
        toolbox = Toolbox([Tool("letters", "Some letters.", Many, _letters)])
        self.talk = Conversation(
            toolbox, "Begin.", Transcript(self.path), Patience(**({"turns": 12} | patience))
        )

    def hold(self) -> list[str]:
        """Hold it; returns what was said of the calls."""
        said: list[str] = []
        config = ModelConfig(provider="anthropic", model=MODEL, base_url=self.server.url)
        with Broker({"meta": config}, sleep=lambda _: None) as broker:
            self.talk.hold(broker, lambda: self.over, said.append)
        return said


def test_it_ends_when_it_is_over_and_the_last_result_is_written_down(
    server: MessagesServer, tmp_path: Path
) -> None:
    table = Table(server, tmp_path)

    def think(body: dict[str, Any]) -> Answer:
        table.over = len(body["messages"]) > 2
        return Answer([say("Three."), call("letters", letters=3)])

    server.mind = think
    assert table.hold() == ["letters(letters 3)"] * 2
    roles = [message["role"] for message in read_transcript(table.path)]
    assert roles == ["user", "assistant", "user", "assistant", "user"]
    last = read_transcript(table.path)[-1]["content"]
    assert [block["content"] for block in last] == ["xxx"]


def test_it_ends_when_nothing_but_words_come(server: MessagesServer, tmp_path: Path) -> None:
    server.mind = lambda _: Answer([say("Let me think.")])
    assert Table(server, tmp_path).hold() == []
    assert len(server.bodies) == NUDGES + 1
    assert "Use the tools" in str(server.bodies[1]["messages"][-1])


def test_it_ends_after_its_turns_and_says_so_before(server: MessagesServer, tmp_path: Path) -> None:
    server.mind = lambda _: Answer([call("letters", letters=1)])
    Table(server, tmp_path, turns=7).hold()
    assert len(server.bodies) == 7
    told = [str(body["messages"][-1]) for body in server.bodies]
    assert ["turns are left" in one for one in told] == [False] * 2 + [True] * 5
    assert "(1 turns are left" in told[-1]


def test_a_wrong_call_is_answered_and_not_the_end(server: MessagesServer, tmp_path: Path) -> None:
    wrong = [
        call("letters", letters=13),
        call("letters", letters=-1),
        call("letters", numbers=3),
        call("numbers"),
        call("letters", letters=RESULT_LIMIT + 5),
    ]
    table = Table(server, tmp_path, turns=2)
    server.mind = lambda _: Answer(wrong)
    table.hold()
    got = results(server.bodies[1])
    assert [block.get("is_error", False) for block in got] == [True] * 4 + [False]
    assert got[0]["content"] == "Not thirteen."
    assert "letters: Input should be greater than or equal to 0" in got[1]["content"]
    assert "numbers: Extra inputs are not permitted" in got[2]["content"]
    assert got[3]["content"] == "There is no tool 'numbers'. There are: letters."
    assert got[4]["content"].endswith("(5 more characters: ask for less at once)")


def test_the_oldest_results_go_when_it_grows_too_long(
    server: MessagesServer, tmp_path: Path
) -> None:
    server.mind = lambda _: Answer([call("letters", letters=4000)])
    Table(server, tmp_path, turns=8, characters=20_000).hold()
    sizes = [len(str(body["messages"])) for body in server.bodies]
    assert max(sizes) < 25_000
    last = [
        block["content"]
        for message in server.bodies[-1]["messages"]
        for block in message["content"]
        if isinstance(block, dict) and block["type"] == "tool_result"
    ]
    assert last[0] == (
        "(an earlier result of 4,000 characters was taken out to make room: call again if needed)"
    )
    assert last[-1] == "x" * 4000
    # The transcript for people keeps them.
    kept = read_transcript(tmp_path / "1.jsonl")[2]["content"][0]["content"]
    assert kept == "x" * 4000


def test_a_conversation_that_the_model_cannot_take_is_shortened_once(
    server: MessagesServer, tmp_path: Path
) -> None:
    def think(body: dict[str, Any]) -> Answer | Failure:
        if len(str(body["messages"])) > 9_000:
            return Failure(400, "invalid_request_error", "prompt is too long: 9001 tokens")
        return Answer([call("letters", letters=3000)])

    server.mind = think
    Table(server, tmp_path, turns=6).hold()
    assert len(server.bodies) > 6  # some were asked again, shorter
    server.mind = lambda _: Failure(400, "invalid_request_error", "prompt is too long")
    with pytest.raises(PromptTooLong):
        Table(server, tmp_path).hold()
