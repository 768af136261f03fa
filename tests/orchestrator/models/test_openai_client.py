"""The client against a real server, through the real SDK."""

from __future__ import annotations

import logging
import pickle
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import pytest

from orchestrator.errors import InfrastructureError, SlowwaveError
from orchestrator.models.base import Completion, Message, Usage
from orchestrator.models.config import ModelConfig
from orchestrator.models.errors import (
    BadModelReply,
    MissingKey,
    ModelOverloaded,
    ModelRefused,
    ModelTimeout,
    ModelUnreachable,
    PromptTooLong,
    RequestRejected,
    UnknownModel,
)
from orchestrator.models.openai_client import OpenAIClient
from tests.support import openai_server as behave
from tests.support.openai_server import OpenAIServer

KEY = "sk-very-secret-0123456789abcdef"
ASK: list[Message] = [
    {"role": "system", "content": "Be short."},
    {"role": "user", "content": "Where is the water? ☂"},
]


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_KEY", KEY)
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def config(url: str, **changes: Any) -> ModelConfig:
    settings: dict[str, Any] = {
        "provider": "openai",
        "model": "tiny-1",
        "base_url": url,
        "api_key_env": "LAB_KEY",
        "timeout_s": 5,
        "max_retries": 0,
    }
    return ModelConfig(**settings | changes)


@contextmanager
def client(url: str, **changes: Any) -> Iterator[OpenAIClient]:
    one = OpenAIClient(config(url, **changes))
    try:
        yield one
    finally:
        one.close()


def ask(url: str, **changes: Any) -> Completion:
    with client(url, **changes) as one:
        return one.complete(ASK)


E = TypeVar("E", bound=SlowwaveError)


def fail(kind: type[E], url: str, **changes: Any) -> E:
    with pytest.raises(kind) as caught:
        ask(url, **changes)
    assert KEY not in "".join(traceback.format_exception(caught.value))
    return caught.value


def test_a_streamed_answer_is_put_together(openai_server: OpenAIServer) -> None:
    openai_server.play(behave.answer("<|ACTION|>", "left", "<|END|> ☂", usage=(120, 9, 100)))
    assert ask(openai_server.url) == Completion(
        text="<|ACTION|>left<|END|> ☂",
        usage=Usage(120, 9, 100),
        finish_reason="stop",
        model="tiny-1",
    )


def test_the_request_says_what_the_configuration_says(openai_server: OpenAIServer) -> None:
    openai_server.play(behave.answer("ok"))
    ask(openai_server.url, temperature=0.25, top_p=0.9, max_tokens=77)
    assert openai_server.bodies == [
        {
            "model": "tiny-1",
            "messages": ASK,
            "temperature": 0.25,
            "top_p": 0.9,
            "max_tokens": 77,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
    ]
    assert openai_server.headers[0]["authorization"] == f"Bearer {KEY}"


def test_an_answer_cut_by_max_tokens_is_returned_as_such(openai_server: OpenAIServer) -> None:
    openai_server.play(behave.answer("half an ans", finish="length"))
    done = ask(openai_server.url)
    assert (done.text, done.finish_reason) == ("half an ans", "length")


def test_usage_that_is_not_reported_is_estimated_from_above(openai_server: OpenAIServer) -> None:
    openai_server.play(behave.answer("four", usage=None))
    usage = ask(openai_server.url).usage
    bytes_asked = len(b"Be short.") + len("Where is the water? ☂".encode())
    assert usage.estimated
    assert usage.input_tokens >= bytes_asked
    assert usage.output_tokens >= 4


def test_a_whole_answer_counts_although_the_connection_breaks_behind_it(
    openai_server: OpenAIServer,
) -> None:
    pieces = [behave.event(behave.chunk("whole")), behave.event(behave.chunk(finish="stop"))]
    openai_server.play(behave.stream(*pieces, crash=True))
    assert ask(openai_server.url).text == "whole"
    openai_server.play(behave.stream(*pieces, hang=True))
    done = ask(openai_server.url, timeout_s=0.2)
    assert (done.text, done.usage.estimated) == ("whole", True)


@pytest.mark.parametrize("crash", [True, False], ids=["broken", "ended"])
def test_a_stream_that_breaks_off_is_never_a_short_answer(
    openai_server: OpenAIServer, crash: bool
) -> None:
    openai_server.play(behave.stream(behave.event(behave.chunk("<|ACT")), crash=crash))
    error = fail(ModelUnreachable if crash else BadModelReply, openai_server.url)
    assert error.retryable
    assert error.billed
    assert isinstance(error, InfrastructureError)


def test_a_last_event_cut_in_the_middle_is_noticed(openai_server: OpenAIServer) -> None:
    whole = behave.event(behave.chunk("a"))
    openai_server.play(behave.stream(whole, behave.event(behave.chunk(finish="stop"))[:-9]))
    assert "without a finish_reason" in str(fail(BadModelReply, openai_server.url))


@pytest.mark.parametrize(
    "piece",
    [
        b'data: {"choices": [{"delta"\n\n',
        b"data: \xff\xfe\n\n",
        b"data: 42\n\n",
        b"data: null\n\n",
        b'data: {"choices": "many"}\n\n',
        b'data: {"choices": [{"index": 0, "delta": {"content": 7}}]}\n\n',
        b'data: {"choices": [], "usage": {"prompt_tokens": -4, "completion_tokens": 1}}\n\n',
        b'data: {"choices": [], "usage": {"prompt_tokens": "many", "completion_tokens": 1}}\n\n',
    ],
)
def test_a_piece_that_is_not_the_protocol_is_a_bad_reply(
    openai_server: OpenAIServer, piece: bytes
) -> None:
    openai_server.play(behave.stream(behave.event(behave.chunk("a")), piece))
    assert fail(BadModelReply, openai_server.url).retryable


@pytest.mark.parametrize("kind", ["application/json", "text/html"])
def test_a_success_that_is_no_stream_is_shown(openai_server: OpenAIServer, kind: str) -> None:
    openai_server.play(behave.stream(b"<h1>Welcome to the portal</h1>", content_type=kind))
    text = str(fail(BadModelReply, openai_server.url))
    assert kind in text
    assert "Welcome to the portal" in text


@pytest.mark.parametrize("reason", ["abort", "error"])
def test_a_finish_reason_that_is_no_finish_is_a_bad_reply(
    openai_server: OpenAIServer, reason: str
) -> None:
    openai_server.play(behave.answer("half", finish=reason))
    assert reason in str(fail(BadModelReply, openai_server.url))


def test_an_unasked_tool_call_names_the_mend(openai_server: OpenAIServer) -> None:
    openai_server.play(behave.answer(finish="tool_calls"))
    assert "tool-call parser" in str(fail(BadModelReply, openai_server.url))


def test_a_refusal_is_typed_and_carries_its_bill(openai_server: OpenAIServer) -> None:
    openai_server.play(
        behave.stream(
            behave.event(behave.chunk(refusal="I cannot ")),
            behave.event(behave.chunk(refusal="play this.")),
            behave.event(behave.chunk(finish="stop")),
            behave.event(behave.usage_chunk(11, 4)),
            behave.event("[DONE]"),
        ),
        behave.answer("some", finish="content_filter"),
        behave.status(400, {"error": {"message": "filtered", "code": "content_filter"}}),
    )
    error = fail(ModelRefused, openai_server.url)
    assert "I cannot play this." in str(error)
    assert error.usage == Usage(11, 4)
    assert "content filter" in str(fail(ModelRefused, openai_server.url))
    assert not fail(ModelRefused, openai_server.url).retryable


@pytest.mark.parametrize(
    ("headers", "wanted"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({}, None),
    ],
)
@pytest.mark.parametrize("code", [429, 503, 529])
def test_overload_carries_the_servers_wish(
    openai_server: OpenAIServer, code: int, headers: dict[str, str], wanted: float | None
) -> None:
    openai_server.play(behave.status(code, headers=headers))
    error = fail(ModelOverloaded, openai_server.url)
    assert error.retry_after == wanted
    assert error.retryable
    assert not error.billed
    assert len(openai_server.bodies) == 1  # the SDK did not try again by itself


def test_overload_in_mid_stream_is_overload(openai_server: OpenAIServer) -> None:
    broken = {"error": {"message": "Overloaded", "type": "overloaded_error", "code": None}}
    openai_server.play(behave.stream(behave.event(behave.chunk("a")), behave.event(broken)))
    error = fail(ModelOverloaded, openai_server.url)
    assert error.billed


def test_an_empty_account_is_not_tried_again(openai_server: OpenAIServer) -> None:
    broke = {"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}
    openai_server.play(behave.status(429, broke))
    assert not fail(ModelOverloaded, openai_server.url, max_retries=3).retryable
    assert len(openai_server.bodies) == 1


@pytest.mark.parametrize("body", [None, "<html>Bad gateway</html>", {"detail": ["odd"]}])
def test_a_server_error_shows_what_was_said(
    openai_server: OpenAIServer, body: dict[str, Any] | str | None
) -> None:
    openai_server.play(behave.status(502, body))
    error = fail(BadModelReply, openai_server.url)
    assert error.retryable
    assert "(502)" in str(error)
    assert {None: "status 502", str: "Bad gateway", dict: "odd"}[
        body if body is None else type(body)  # type: ignore[index]
    ] in str(error)


@pytest.mark.parametrize("code", [401, 403])
def test_a_key_that_is_not_accepted_is_named_by_its_variable(
    openai_server: OpenAIServer, code: int
) -> None:
    openai_server.play(behave.status(code, {"error": {"message": f"wrong key: {KEY}"}}))
    error = fail(MissingKey, openai_server.url)
    assert "LAB_KEY" in str(error)
    assert "wrong key: [key]" in str(error)
    assert error.variable == "LAB_KEY"


def test_a_server_that_wants_a_key_and_none_is_configured(openai_server: OpenAIServer) -> None:
    openai_server.play(behave.status(401))
    assert "api_key_env" in str(fail(MissingKey, openai_server.url, api_key_env=None))


def test_a_key_of_the_environment_goes_nowhere_unasked(
    openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_ORG_ID", "org-secret")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", f"Authorization: Bearer {KEY}")
    openai_server.play(behave.answer("ok"))
    ask(openai_server.url, api_key_env=None)
    sent = "".join(openai_server.headers[0].values())
    assert KEY not in sent
    assert "org-secret" not in sent


def test_a_missing_key_is_said_before_anything_is_sent(
    openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LAB_KEY")
    error = fail(MissingKey, openai_server.url)
    assert "LAB_KEY is not set" in str(error)
    assert openai_server.bodies == []


def test_an_unknown_model_lists_what_there_is(openai_server: OpenAIServer) -> None:
    openai_server.play(behave.status(404, {"error": {"message": "no such model"}}))
    error = fail(UnknownModel, openai_server.url, model="tiny-3")
    assert error.known == ("tiny-1", "tiny-2")
    assert "Did you mean" in str(error)
    assert "'tiny-1', 'tiny-2'" in str(error)


def test_a_404_without_a_listing_doubts_the_address(openai_server: OpenAIServer) -> None:
    openai_server.play(behave.status(404, "nothing here"))
    openai_server.models = None
    error = fail(UnknownModel, openai_server.url)
    assert "/v1" in str(error)
    assert "nothing here" in str(error)


@pytest.mark.parametrize(
    ("code", "body"),
    [
        (400, {"error": {"message": "too big", "code": "context_length_exceeded"}}),
        (400, {"message": "This model's maximum context length is 4096 tokens", "code": 400}),
        (400, {"error": {"type": "exceed_context_size_error", "message": "no"}}),
        (413, "Payload Too Large"),
    ],
)
def test_a_prompt_too_long_is_not_infrastructure(
    openai_server: OpenAIServer, code: int, body: dict[str, Any] | str
) -> None:
    openai_server.play(behave.status(code, body))
    assert not isinstance(fail(PromptTooLong, openai_server.url), InfrastructureError)


@pytest.mark.parametrize("code", [400, 422])
def test_a_rejected_request_is_not_infrastructure(openai_server: OpenAIServer, code: int) -> None:
    openai_server.play(behave.status(code, {"error": "roles must alternate"}))
    error = fail(RequestRejected, openai_server.url, max_retries=3)
    assert "roles must alternate" in str(error)
    assert not isinstance(error, InfrastructureError)
    assert len(openai_server.bodies) == 1


def test_half_a_surrogate_pair_is_the_scaffolds_fault(openai_server: OpenAIServer) -> None:
    with client(openai_server.url) as one, pytest.raises(RequestRejected):
        one.complete([{"role": "user", "content": "\ud800"}])


def test_nobody_listening_names_the_address_and_bills_nothing() -> None:
    with behave.closed_port() as url:
        error = fail(ModelUnreachable, url)
    assert url in str(error)
    assert not error.billed
    assert error.retryable


def test_a_server_that_hangs_up_may_have_billed() -> None:
    with behave.serve_raw() as url:
        error = fail(ModelUnreachable, url)
    assert error.billed
    with behave.serve_raw(b"SSH-2.0-OpenSSH_9.6\r\n") as url:
        fail(ModelUnreachable, url)


KEEP_ALIVE = behave.event({**behave.chunk(), "choices": []})


@pytest.mark.parametrize(
    "behaviour",
    [
        pytest.param(behave.silence, id="no headers"),
        pytest.param(lambda: behave.stream(hang=True), id="no body"),
        pytest.param(lambda: behave.stream(behave.event(behave.chunk("a")), hang=True), id="stops"),
        pytest.param(lambda: behave.drip(b": alive\n\n"), id="comments"),
        pytest.param(lambda: behave.drip(KEEP_ALIVE), id="empty pieces"),
        pytest.param(lambda: behave.drip(b"x"), id="endless line"),
    ],
)
def test_a_server_that_does_not_go_on_is_cut_off(
    openai_server: OpenAIServer, behaviour: Callable[[], behave.Behaviour]
) -> None:
    openai_server.play(behaviour())
    began = time.monotonic()
    error = fail(ModelTimeout, openai_server.url, timeout_s=0.15)
    assert 0.1 < time.monotonic() - began < 2
    assert error.retryable
    assert error.billed


def test_a_drip_of_good_pieces_is_cut_at_the_deadline(openai_server: OpenAIServer) -> None:
    openai_server.play(behave.drip(behave.event(behave.chunk("a"))))
    began = time.monotonic()
    fail(ModelTimeout, openai_server.url, timeout_s=5, deadline_s=0.2, max_retries=5)
    assert 0.15 < time.monotonic() - began < 2
    assert len(openai_server.bodies) == 1


def test_a_drip_of_headers_is_cut_off() -> None:
    drops = [b"HTTP/1.1 200 OK\r\n", *(b"x-a: b\r\n" for _ in range(300))]
    began = time.monotonic()
    with behave.serve_raw(*drops) as url:
        fail(ModelTimeout, url, timeout_s=0.1)
        assert time.monotonic() - began < 2


def test_a_drip_of_an_error_body_is_cut_off() -> None:
    head = b"HTTP/1.1 500 Oh\r\ncontent-length: 100000\r\n\r\n"
    began = time.monotonic()
    with behave.serve_raw(head, *(b"x" for _ in range(300))) as url:
        fail(ModelTimeout, url, timeout_s=0.1)
        assert time.monotonic() - began < 2


def test_a_long_answer_in_steady_pieces_is_not_cut(openai_server: OpenAIServer) -> None:
    """Longer in all than `timeout_s`, which bounds only the pause between two pieces."""
    pieces = [behave.event(behave.chunk("a")) for _ in range(30)]
    end = [behave.event(behave.chunk(finish="stop")), behave.event("[DONE]")]
    openai_server.play(behave.stream(*pieces, *end, every_s=0.02))
    assert ask(openai_server.url, timeout_s=0.3).text == "a" * 30


def test_it_works_again_after_a_failure_and_after_close(openai_server: OpenAIServer) -> None:
    openai_server.play(behave.status(500), behave.answer("one"), behave.answer("two"))
    with client(openai_server.url) as one:
        with pytest.raises(BadModelReply):
            one.complete(ASK)
        assert one.complete(ASK).text == "one"
        one.close()
        assert one.complete(ASK).text == "two"


def test_a_server_error_then_success_with_the_clients_own_retry(
    openai_server: OpenAIServer,
) -> None:
    openai_server.play(behave.status(503, headers={"retry-after": "0"}), behave.answer("ok"))
    assert ask(openai_server.url, max_retries=1).text == "ok"


def test_nothing_that_is_shown_or_stored_holds_the_key(
    openai_server: OpenAIServer, caplog: pytest.LogCaptureFixture
) -> None:
    openai_server.play(
        behave.status(500, {"error": {"message": f"leak {KEY}"}}),
        behave.stream(behave.event({"error": {"message": f"leak {KEY}", "type": "x"}})),
        behave.status(400, {"error": {"message": f"leak {KEY}"}}),
        behave.stream(f"leak {KEY}".encode(), content_type="text/html"),
    )
    with caplog.at_level(logging.DEBUG), client(openai_server.url) as one:
        shown = [repr(one), one.fingerprint(), repr(config(openai_server.url))]
        while openai_server.script:
            with pytest.raises(SlowwaveError) as caught:
                one.complete(ASK)
            error = caught.value
            shown += [repr(error), str(error), "".join(traceback.format_exception(error))]
            shown.append(pickle.dumps(error).decode("latin-1"))
            assert "leak [key]" in str(error)
    assert KEY not in "\n".join(shown)
    assert KEY not in caplog.text
