"""The real SDK against a real server that speaks the Messages API."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from orchestrator.models.anthropic_client import AnthropicClient
from orchestrator.models.base import Question, ToolSpec, Usage
from orchestrator.models.broker import Broker
from orchestrator.models.config import ModelConfig
from orchestrator.models.errors import (
    BadModelReply,
    MissingKey,
    ModelOverloaded,
    ModelRefused,
    ModelTimeout,
    PromptTooLong,
    RequestRejected,
    UnknownModel,
)
from orchestrator.models.journal import ResponseJournal
from orchestrator.models.ledger import Limits, SpendLedger
from tests.support.messages_server import (
    MODEL,
    Answer,
    Failure,
    MessagesServer,
    call,
    say,
    serve,
)

LOOK = ToolSpec(
    "look", "Look at a step.", {"type": "object", "properties": {"step": {"type": "integer"}}}
)
SECRET = "sk-ant-0123456789abcdef0123"


@pytest.fixture(scope="module")
def running() -> Iterator[MessagesServer]:
    with serve() as server:
        yield server


@pytest.fixture
def server(running: MessagesServer, monkeypatch: pytest.MonkeyPatch) -> MessagesServer:
    running.bodies, running.headers, running.usages = [], [], []
    monkeypatch.setenv("SLOWWAVE_TEST_KEY", SECRET)
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"):
        monkeypatch.setenv(name, "http://elsewhere.invalid")
    return running


def config(server: MessagesServer, **fields: Any) -> ModelConfig:
    return ModelConfig(
        provider="anthropic",
        model=MODEL,
        base_url=server.url,
        api_key_env="SLOWWAVE_TEST_KEY",
        **fields,
    )


@pytest.fixture
def client(server: MessagesServer) -> Iterator[AnthropicClient]:
    made = AnthropicClient(config(server))
    yield made
    made.close()


def question(*messages: Any, tools: tuple[ToolSpec, ...] = (LOOK,)) -> Question:
    return Question("Be brief.", messages or ({"role": "user", "content": "Look."},), tools)


def test_a_call_of_a_tool_comes_back_whole(server: MessagesServer, client: AnthropicClient) -> None:
    server.mind = lambda _: Answer([say("Let me see."), call("look", step=3)])
    answer = client.converse(question(), seconds=10)
    assert (answer.text, answer.finish_reason, answer.model) == ("Let me see.", "tools", MODEL)
    text, used = answer.blocks
    assert text == {"type": "text", "text": "Let me see."}
    assert (used["type"], used["name"], used["input"]) == ("tool_use", "look", {"step": 3})


def test_the_conversation_goes_on_with_the_results(
    server: MessagesServer, client: AnthropicClient
) -> None:
    server.mind = lambda _: Answer([call("look", step=3)])
    first = client.converse(question(), seconds=10)
    result = {"type": "tool_result", "tool_use_id": first.blocks[0]["id"], "content": "a tree"}
    server.mind = lambda _: Answer([say("A tree.")])
    talk = (
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": list(first.blocks)},
        {"role": "user", "content": [result]},
    )
    assert client.converse(question(*talk), seconds=10).finish_reason == "stop"
    sent = server.bodies[-1]["messages"]
    assert sent[1]["content"] == list(first.blocks)
    assert sent[2]["content"] == [{**result, "cache_control": {"type": "ephemeral"}}]


def test_a_conversation_with_tools_is_cached_and_a_single_question_is_not(
    server: MessagesServer, client: AnthropicClient
) -> None:
    server.mind = lambda _: Answer([say("Yes.")])
    client.converse(question(), seconds=10)
    with_tools = server.bodies[-1]
    assert with_tools["system"][0]["cache_control"] == {"type": "ephemeral"}
    assert with_tools["messages"][-1]["content"][-1]["cache_control"] == {"type": "ephemeral"}
    client.complete([{"role": "system", "content": "S"}, {"role": "user", "content": "U"}])
    plain = server.bodies[-1]
    assert (plain["system"], plain["messages"]) == ("S", [{"role": "user", "content": "U"}])
    assert "cache_control" not in str(plain)


def test_the_key_goes_where_it_is_configured_for_and_nothing_of_the_environment_does(
    server: MessagesServer, client: AnthropicClient
) -> None:
    server.mind = lambda _: Answer([say("Yes.")])
    client.converse(question(), seconds=10)
    headers = server.headers[-1]
    assert headers["x-api-key"] == SECRET
    assert "authorization" not in headers


def test_prices_are_those_of_what_was_read_written_and_cached(server: MessagesServer) -> None:
    prices = config(server, price_input=3, price_output=15, price_cached="0.3").prices
    assert prices.cache_write == Decimal("3.75")
    usage = Usage(1000, 100, 600, 300)  # 100 fresh, 600 read from the cache, 300 written to it
    assert prices.cost(usage) == Decimal("0.003105")
    assert prices.ceiling(1000, 100) == Decimal("0.00525")


def test_usage_counts_the_cache(server: MessagesServer, client: AnthropicClient) -> None:
    server.mind = lambda _: Answer([say("Yes.")], cached=20, cached_anew=30)
    usage = client.converse(question(), seconds=10).usage
    said = server.usages[-1]
    assert usage == Usage(said["input_tokens"] + 50, said["output_tokens"], 20, 30)


@pytest.mark.parametrize(
    ("mind", "kind", "says"),
    [
        (Failure(529, "overloaded_error"), ModelOverloaded, "has no room"),
        (Failure(200, "overloaded_error", "Overloaded"), ModelOverloaded, "broke off the answer"),
        (Failure(200, "api_error", "Oops"), BadModelReply, "broke off the answer"),
        (Failure(429, "rate_limit_error"), ModelOverloaded, "has no room"),
        (Failure(402, "billing_error"), ModelOverloaded, "no credit left"),
        (Failure(401, "authentication_error"), MissingKey, "does not accept the key"),
        (Failure(404, "not_found_error"), UnknownModel, MODEL),
        (Failure(413, "request_too_large"), PromptTooLong, "does not fit"),
        (
            Failure(400, "invalid_request_error", "prompt is too long: 200001 tokens"),
            PromptTooLong,
            "does not fit",
        ),
        (Failure(400, "invalid_request_error", "tools.0: bad"), RequestRejected, "tools.0: bad"),
        (Failure(500, "api_error", f"key {SECRET}"), BadModelReply, "[key]"),
        (Answer([say("I cannot.")], stop="refusal"), ModelRefused, "refused to answer"),
        (Answer([say("…")], stop="pause_turn"), BadModelReply, "pause_turn"),
    ],
)
def test_what_can_go_wrong_is_a_sentence(
    server: MessagesServer,
    client: AnthropicClient,
    mind: Answer | Failure,
    kind: type[Exception],
    says: str,
) -> None:
    server.mind = lambda _: mind
    with pytest.raises(kind) as failure:
        client.converse(question(), seconds=10)
    assert says in str(failure.value)
    assert SECRET not in str(failure.value)
    assert failure.value.__cause__ is None


def test_a_cut_answer_and_a_full_context_end_for_their_length(
    server: MessagesServer, client: AnthropicClient
) -> None:
    for stop in ("max_tokens", "model_context_window_exceeded"):
        server.mind = lambda _, stop=stop: Answer([say("And so")], stop=stop)
        assert client.converse(question(), seconds=10).finish_reason == "length"


def test_a_wish_to_wait_is_kept(server: MessagesServer, client: AnthropicClient) -> None:
    server.mind = lambda _: Failure(429, "rate_limit_error", headers={"retry-after": "7"})
    with pytest.raises(ModelOverloaded) as failure:
        client.converse(question(), seconds=10)
    assert failure.value.retry_after == 7


def test_a_silent_server_is_not_waited_for(server: MessagesServer) -> None:
    over = threading.Event()

    def think(_: dict[str, Any]) -> Answer:
        over.wait(5)
        return Answer([say("late")])

    server.mind = think
    hasty = AnthropicClient(config(server, timeout_s=0.2))
    try:
        with pytest.raises(ModelTimeout):
            hasty.converse(question(), seconds=0.3)
    finally:
        over.set()
        hasty.close()


# --- through the broker -------------------------------------------------------------------------


def broker(server: MessagesServer, folder: Path, waits: list[float] | None = None) -> Broker:
    waited = waits if waits is not None else []
    return Broker(
        {"meta": config(server, price_input=3, price_output=15)},
        night="n",
        episode="n/editor/1",
        ledger=SpendLedger(folder / "ledger.db", Limits(money_usd=Decimal(1))),
        journal=ResponseJournal(folder / "kept.jsonl", "n/editor/1"),
        sleep=waited.append,
    )


def test_a_busy_server_is_asked_again_and_every_try_is_accounted_for(
    server: MessagesServer, tmp_path: Path
) -> None:
    answers = [
        Failure(529, "overloaded_error", headers={"retry-after": "7"}),
        Failure(200, "overloaded_error"),
        Answer([call("look", step=1)]),
    ]
    server.mind = lambda _: answers.pop(0)
    waits: list[float] = []
    with broker(server, tmp_path, waits) as asked:
        assert asked.converse("meta", question()).finish_reason == "tools"
    assert waits[0] >= 7
    assert len(waits) == 2
    ledger = SpendLedger(tmp_path / "ledger.db")
    totals = ledger.totals("n")
    ledger.close()
    # The second try broke off in its middle and may have been billed: it counts as reserved.
    assert totals.presumed_calls == 1
    assert totals.calls == 2


def test_a_conversation_that_was_cut_off_is_not_paid_for_twice(
    server: MessagesServer, tmp_path: Path
) -> None:
    server.mind = lambda _: Answer([say("Once."), call("look", step=1)])
    with broker(server, tmp_path) as asked:
        first = asked.converse("meta", question())
    with broker(server, tmp_path) as asked:  # as after a kill: the journal is still there
        again = asked.converse("meta", question())
        assert again == first
        assert len(server.bodies) == 1
        asked.converse("meta", question({"role": "user", "content": "Look again."}))
        assert len(server.bodies) == 2
        asked.finish()
    assert not (tmp_path / "kept.jsonl").exists()
