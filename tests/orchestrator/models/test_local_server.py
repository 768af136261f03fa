"""The guard before the server and the watch over it, with an application that only repeats."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from orchestrator.models.local.folder import context_length, prepare
from orchestrator.models.local.server import CHAT, WHO, Guard, Watch
from orchestrator.models.local.users import Users

IDENTITY = {"weights": "w", "pid": 1, "port": 2}


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


async def repeat(scope: Any, receive: Any, send: Any) -> None:
    """Answer with the body of the request."""
    event = await receive()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": event["body"]})


def words(messages: list[dict[str, Any]]) -> int:
    return sum(len(one["content"].split()) for one in messages)


def ask(guard: Guard, path: str, *pieces: bytes) -> tuple[int, bytes]:
    """The status and body for a request that comes in pieces."""
    last = len(pieces) - 1
    events = [
        {"type": "http.request", "body": piece, "more_body": index < last}
        for index, piece in enumerate(pieces)
    ]
    sent: list[Any] = []

    async def receive() -> Any:
        return events.pop(0) if events else {"type": "http.disconnect"}

    async def send(event: Any) -> None:
        sent.append(event)

    asyncio.run(guard({"type": "http", "path": path}, receive, send))
    return sent[0]["status"], b"".join(one.get("body", b"") for one in sent[1:])


def make_guard(context: int = 10, clock: Clock | None = None) -> Guard:
    return Guard(repeat, words, context, IDENTITY, clock or Clock())


def chat(text: str, **more: Any) -> bytes:
    return json.dumps({"messages": [{"role": "user", "content": text}], **more}).encode()


def test_what_fits_is_passed_on_whole() -> None:
    body = chat("one two three four", max_tokens=6)
    assert ask(make_guard(), CHAT, body[:9], body[9:]) == (200, body)


def test_what_does_not_fit_is_refused_as_other_servers_do() -> None:
    status, said = ask(make_guard(), CHAT, chat("one two three four", max_tokens=7))
    error = json.loads(said)["error"]
    assert status == 400
    assert error["code"] == "context_length_exceeded"
    assert "maximum context length is 10 tokens" in error["message"]
    assert "has 4, with 7 more" in error["message"]


@pytest.mark.parametrize("body", [b"", b"[]", b'{"messages": [{}]}', b"\xff"])
def test_what_cannot_be_read_is_refused(body: bytes) -> None:
    status, said = ask(make_guard(), CHAT, body)
    assert status == 400
    assert "cannot be read" in json.loads(said)["error"]["message"]


def test_it_says_who_it_is_and_leaves_other_paths_alone() -> None:
    assert ask(make_guard(), WHO, b"") == (200, json.dumps(IDENTITY).encode())
    assert ask(make_guard(), "/v1/models", b"x") == (200, b"x")


def test_only_a_chat_ends_idleness() -> None:
    clock = Clock()
    guard = make_guard(clock=clock)
    clock.now += 5
    ask(guard, WHO, b"")
    assert guard.idle_s == 5
    ask(guard, CHAT, chat("one"))
    assert guard.idle_s == 0
    clock.now += 2
    assert guard.idle_s == 2


class TestWatch:
    @pytest.fixture
    def clock(self) -> Clock:
        return Clock()

    @pytest.fixture
    def watch(self, tmp_path: Path, clock: Clock) -> Watch:
        return Watch(tmp_path, make_guard(clock=clock), IDENTITY, 60, 10, clock)

    def test_the_state_file_is_there_from_the_start(self, watch: Watch, tmp_path: Path) -> None:
        assert json.loads((tmp_path / "server.json").read_text()) == IDENTITY

    def test_it_stays_while_a_user_lives(self, watch: Watch, tmp_path: Path, clock: Clock) -> None:
        Users(tmp_path / "users").add()
        clock.now += 59
        assert not watch.over()

    def test_it_ends_a_while_after_the_last_user(
        self, watch: Watch, tmp_path: Path, clock: Clock
    ) -> None:
        assert not watch.over()
        clock.now += 9.9
        assert not watch.over()
        clock.now += 0.1
        assert watch.over()
        assert not (tmp_path / "server.json").exists()

    def test_a_new_user_in_time_keeps_it(self, watch: Watch, tmp_path: Path, clock: Clock) -> None:
        assert not watch.over()
        clock.now += 9
        Users(tmp_path / "users").add()
        assert not watch.over()
        clock.now += 9
        assert not watch.over()

    def test_it_ends_when_nobody_asks_for_long(
        self, watch: Watch, tmp_path: Path, clock: Clock
    ) -> None:
        Users(tmp_path / "users").add()
        clock.now += 60
        assert watch.over()

    def test_it_does_not_end_under_one_who_is_just_finding_it(
        self, watch: Watch, tmp_path: Path, clock: Clock
    ) -> None:
        assert not watch.over()
        clock.now += 10
        with FileLock(tmp_path / "server.lock"):
            assert not watch.over()
        assert watch.over()

    def test_one_that_was_replaced_ends_and_leaves_the_other_s_state(
        self, watch: Watch, tmp_path: Path
    ) -> None:
        Users(tmp_path / "users").add()
        other = json.dumps(IDENTITY | {"pid": 7})
        (tmp_path / "server.json").write_text(other)
        assert watch.over()
        assert (tmp_path / "server.json").read_text() == other


class TestFolder:
    def test_a_folder_is_served_with_plain_sampling(self, tmp_path: Path) -> None:
        source = tmp_path / "mine"
        source.mkdir()
        (source / "config.json").write_text('{"max_position_embeddings": 2048}')
        (source / "generation_config.json").write_text('{"eos_token_id": 2, "top_k": 50}')
        target = tmp_path / "cache" / "mine"
        prepare(source, target, "float32")
        settings = json.loads((target / "generation_config.json").read_text())
        assert settings["eos_token_id"] == 2
        assert settings["do_sample"] is True
        assert settings["top_k"] == 0
        assert context_length(target) == 2048
        assert json.loads((source / "generation_config.json").read_text())["top_k"] == 50
        assert [one.name for one in target.parent.iterdir()] == ["mine"]

    def test_it_is_made_once(self, tmp_path: Path) -> None:
        target = tmp_path / "there"
        target.mkdir()
        prepare(tmp_path / "nowhere", target, "float32")
        assert list(target.iterdir()) == []
