from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import UsageError
from orchestrator.models.base import Completion, Message, Usage, prompt_ceiling
from orchestrator.models.broker import Broker, RoleMetrics
from orchestrator.models.config import ModelConfig
from orchestrator.models.errors import (
    BadModelReply,
    BudgetExhausted,
    MissingKey,
    ModelOverloaded,
    ModelRefused,
    RequestRejected,
)
from orchestrator.models.journal import ResponseJournal
from orchestrator.models.ledger import Limits, SpendLedger, Totals
from tests.support import openai_server as behave
from tests.support.openai_server import OpenAIServer

ROOT = Path(__file__).parents[3]
ASK: list[Message] = [{"role": "user", "content": "0123456789"}]
MILLION = Decimal(10**6)

# With 2 $/M in and 10 $/M out, by hand: the prompt's ceiling is 10 + 16 + 64 = 90 tokens, so
# 90 x 2 + 100 x 10 = 1180 millionths are reserved; 11 in and 7 out cost 22 + 70 = 92.
RESERVED = Decimal(1180) / MILLION
COST = Decimal(92) / MILLION


class Echo:
    """A free and reproducible client; it answers with the last message."""

    def __init__(self, config: ModelConfig, error: Exception | None = None) -> None:
        self.config = config
        self.error = error
        self.closed = 0

    def complete(self, messages: Sequence[Message]) -> Completion:
        if self.error is not None:
            raise self.error
        text = messages[-1]["content"]
        return Completion(text, Usage(len(text), 2), "stop", "echo")

    def fingerprint(self) -> str:
        return "echo-1"

    def close(self) -> None:
        self.closed += 1


class Waits(list[float]):
    """A sleep that only writes down."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


HEURISTIC = ModelConfig(provider="heuristic")
FACTORIES: dict[str, Callable[[ModelConfig], Echo]] = {"heuristic": Echo}


def paid(server: OpenAIServer, **changes: Any) -> ModelConfig:
    settings: dict[str, Any] = {
        "provider": "openai",
        "model": "tiny-1",
        "base_url": server.url,
        "max_tokens": 100,
        "timeout_s": 5,
        "max_retries": 2,
        "price_input": 2,
        "price_output": 10,
        "price_cached": 2,
    }
    return ModelConfig(**settings | changes)


@contextmanager
def brokered(config: ModelConfig, folder: Path, **options: Any) -> Iterator[Broker]:
    limits = options.pop("limits", Limits())
    ledger = SpendLedger(folder / "ledger.db", limits)
    if options.pop("journal", False):
        options["journal"] = ResponseJournal(folder / "e.jsonl", "e")
    options = {"night": "n", "episode": "e", "factories": FACTORIES, "sleep": Waits()} | options
    with Broker({"action": config}, ledger=ledger, **options) as broker:
        yield broker


def totals(folder: Path) -> Totals:
    ledger = SpendLedger(folder / "ledger.db")
    try:
        return ledger.totals("n")
    finally:
        ledger.close()


def test_a_paid_call_is_settled_at_its_price(openai_server: OpenAIServer, tmp_path: Path) -> None:
    openai_server.play(behave.answer("left"))
    with brokered(paid(openai_server), tmp_path) as broker:
        assert broker.complete("action", ASK).text == "left"
        metrics = broker.metrics["action"]
        assert (metrics.calls, metrics.input_tokens, metrics.output_tokens) == (1, 11, 7)
        assert (metrics.cached_tokens, metrics.retries, metrics.failures) == (3, 0, 0)
        assert metrics.money_usd == COST
        assert metrics.seconds > 0
    assert totals(tmp_path) == Totals(COST, 18, 1)


def test_the_room_is_reserved_before_the_request_goes_out(
    openai_server: OpenAIServer, tmp_path: Path
) -> None:
    seen: list[Totals] = []

    async def look(request: Any) -> Any:
        seen.append(totals(tmp_path))
        return await behave.answer("left")(request)

    openai_server.play(look)
    with brokered(paid(openai_server), tmp_path) as broker:
        broker.complete("action", ASK)
    assert seen == [Totals(RESERVED, 190, 1, open_money_usd=RESERVED, open_calls=1)]
    assert prompt_ceiling(ASK) == 90


@pytest.mark.parametrize(
    ("limits", "kind"),
    [
        (Limits(money_usd=RESERVED - Decimal("1e-9")), "money"),
        (Limits(tokens=189), "tokens"),
        (Limits(calls=0), "calls"),
    ],
)
def test_without_room_nothing_is_sent(
    openai_server: OpenAIServer, tmp_path: Path, limits: Limits, kind: str
) -> None:
    openai_server.play(behave.answer("left"))
    with (
        brokered(paid(openai_server), tmp_path, limits=limits) as broker,
        pytest.raises(BudgetExhausted) as caught,
    ):
        broker.complete("action", ASK)
    assert caught.value.kind == kind
    assert openai_server.bodies == []
    assert totals(tmp_path) == Totals()


def test_overload_waits_as_told_and_costs_nothing(
    openai_server: OpenAIServer, tmp_path: Path
) -> None:
    waits = Waits()
    openai_server.play(
        behave.status(429, headers={"retry-after": "7"}),
        behave.status(
            503,
            headers={
                "date": "Thu, 01 Jan 2026 13:00:00 GMT",
                "retry-after": "Thu, 01 Jan 2026 13:00:20 GMT",
            },
        ),
        behave.answer("left"),
    )
    with brokered(paid(openai_server), tmp_path, sleep=waits) as broker:
        broker.complete("action", ASK)
        assert broker.metrics["action"].retries == 2
    assert [int(wait) for wait in waits] == [7, 20]
    assert totals(tmp_path) == Totals(COST, 18, 1)


def test_a_server_error_then_success(openai_server: OpenAIServer, tmp_path: Path) -> None:
    waits = Waits()
    openai_server.play(behave.status(500), behave.answer("left"))
    with brokered(paid(openai_server), tmp_path, sleep=waits) as broker:
        assert broker.complete("action", ASK).text == "left"
    assert len(waits) == 1
    assert 0.25 <= waits[0] <= 0.5
    assert totals(tmp_path) == Totals(COST, 18, 1)


def test_an_answer_that_broke_off_is_presumed_billed(
    openai_server: OpenAIServer, tmp_path: Path
) -> None:
    openai_server.play(
        behave.stream(behave.event(behave.chunk("le")), crash=True), behave.answer("left")
    )
    with brokered(paid(openai_server), tmp_path) as broker:
        assert broker.complete("action", ASK).text == "left"
        assert broker.metrics["action"].money_usd == RESERVED + COST
    assert totals(tmp_path) == Totals(
        RESERVED + COST, 190 + 18, 2, presumed_money_usd=RESERVED, presumed_calls=1
    )


def test_a_refusal_is_settled_at_what_it_used(openai_server: OpenAIServer, tmp_path: Path) -> None:
    refusal = behave.answer("no", finish="content_filter")
    openai_server.play(refusal, refusal, refusal)
    with brokered(paid(openai_server), tmp_path) as broker:
        with pytest.raises(ModelRefused):
            broker.complete("action", ASK)
        assert broker.metrics["action"].failures == 1
        assert broker.metrics["action"].calls == 0
    assert totals(tmp_path) == Totals(3 * COST, 3 * 18, 3)


def test_a_rejected_request_costs_nothing(openai_server: OpenAIServer, tmp_path: Path) -> None:
    openai_server.play(behave.status(400))
    with brokered(paid(openai_server), tmp_path) as broker, pytest.raises(RequestRejected):
        broker.complete("action", ASK)
    assert totals(tmp_path) == Totals()


def test_each_try_needs_room(openai_server: OpenAIServer, tmp_path: Path) -> None:
    """A server that breaks off every answer cannot spend more than there is."""
    broken = behave.stream(behave.event(behave.chunk("le")), crash=True)
    openai_server.play(*[broken] * 6)
    limits = Limits(money_usd=RESERVED * 2)
    config = paid(openai_server, max_retries=5)
    with brokered(config, tmp_path, limits=limits) as broker, pytest.raises(BudgetExhausted):
        broker.complete("action", ASK)
    assert len(openai_server.bodies) == 2
    assert totals(tmp_path).money_usd == RESERVED * 2


def test_a_bug_in_a_client_is_presumed_billed(tmp_path: Path) -> None:
    factories = {"heuristic": lambda config: Echo(config, ZeroDivisionError())}
    limits = Limits(tokens=10_000)
    with (
        brokered(HEURISTIC, tmp_path, limits=limits, factories=factories) as broker,
        pytest.raises(ZeroDivisionError),
    ):
        broker.complete("action", ASK)
    assert totals(tmp_path).presumed_calls == 1


def test_a_free_model_never_touches_the_ledger_before_the_end(tmp_path: Path) -> None:
    options: dict[str, Any] = {"limits": Limits(money_usd=Decimal(1), hours=8), "started_at": 0.0}
    with brokered(HEURISTIC, tmp_path, journal=True, now=lambda: 60.0, **options) as broker:
        for _ in range(3):
            assert broker.complete("action", ASK).text == "0123456789"
        assert list(tmp_path.iterdir()) == []
        broker.flush()
        assert totals(tmp_path) == Totals(Decimal(0), 36, 3)
        broker.flush()
        assert totals(tmp_path) == Totals(Decimal(0), 36, 3)
        broker.complete("action", ASK)
    assert totals(tmp_path) == Totals(Decimal(0), 48, 4)
    assert not (tmp_path / "e.jsonl").exists()


def test_a_limit_on_tokens_holds_for_free_models_too(tmp_path: Path) -> None:
    # 90 + 1024 tokens are reserved a call and 12 used
    limits = Limits(tokens=90 + 1024 + 12)
    with brokered(HEURISTIC, tmp_path, limits=limits) as broker:
        broker.complete("action", ASK)
        broker.complete("action", ASK)
        with pytest.raises(BudgetExhausted):
            broker.complete("action", ASK)
    assert totals(tmp_path) == Totals(Decimal(0), 24, 2)


def test_the_hours_are_watched_for_every_model(tmp_path: Path) -> None:
    now = [1_000_000.0]
    options: dict[str, Any] = {
        "limits": Limits(hours=2, where="slowwave.toml"),
        "started_at": now[0],
        "now": lambda: now[0],
    }
    with brokered(HEURISTIC, tmp_path, **options) as broker:
        now[0] += 7199
        broker.complete("action", ASK)
        now[0] += 1
        with pytest.raises(BudgetExhausted) as caught:
            broker.complete("action", ASK)
    assert (caught.value.kind, caught.value.value, caught.value.limit) == ("hours", 2.0, 2)


def test_a_limit_in_hours_needs_a_start(tmp_path: Path) -> None:
    with (
        pytest.raises(ValueError, match="started"),
        brokered(HEURISTIC, tmp_path, limits=Limits(hours=1)),
    ):
        pass


def test_a_free_server_without_ledger_or_journal_is_retried_here(
    openai_server: OpenAIServer,
) -> None:
    waits = Waits()
    openai_server.play(behave.status(429, headers={"retry-after": "60"}), behave.answer("left"))
    free = paid(openai_server, price_input=0, price_output=0, price_cached=0)
    with Broker({"action": free}, sleep=waits) as broker:
        assert broker.complete("action", ASK).text == "left"
        assert broker.metrics["action"].retries == 1
    assert [int(wait) for wait in waits] == [60]


def asks(count: int) -> list[list[Message]]:
    return [[{"role": "user", "content": f"call {number}"}] for number in range(count)]


def test_an_interrupted_episode_pays_only_for_the_rest(
    openai_server: OpenAIServer, tmp_path: Path
) -> None:
    openai_server.play(behave.answer("a"), behave.answer("b"))
    with brokered(paid(openai_server), tmp_path, journal=True) as broker:
        first = [broker.complete("action", ask) for ask in asks(2)]
    openai_server.play(behave.answer("c"))
    with brokered(paid(openai_server), tmp_path, journal=True) as broker:
        again = [broker.complete("action", ask) for ask in asks(3)]
        metrics = broker.metrics["action"]
        assert (metrics.calls, metrics.replayed) == (3, 2)
        assert metrics.money_usd == 3 * COST
        assert metrics.input_tokens == 33
        broker.finish()
    assert again[:2] == first
    assert [body["messages"][0]["content"] for body in openai_server.bodies] == ["call 2"]
    assert totals(tmp_path) == Totals(3 * COST, 3 * 18, 3)
    assert not (tmp_path / "e.jsonl").exists()


def test_an_episode_that_takes_another_course_asks_anew(
    openai_server: OpenAIServer, tmp_path: Path
) -> None:
    openai_server.play(behave.answer("a"), behave.answer("b"))
    with brokered(paid(openai_server), tmp_path, journal=True) as broker:
        for ask in asks(2):
            broker.complete("action", ask)
    openai_server.play(behave.answer("x"), behave.answer("y"))
    with brokered(paid(openai_server), tmp_path, journal=True) as broker:
        assert broker.complete("action", ASK).text == "x"
        assert broker.complete("action", asks(2)[1]).text == "y"
        assert broker.metrics["action"].replayed == 0


def test_answers_of_a_free_server_are_kept_too(openai_server: OpenAIServer, tmp_path: Path) -> None:
    """They cost nothing, but a rerun would sample others and the paid ones would not fit."""
    free = paid(openai_server, price_input=0, price_output=0, price_cached=0)
    openai_server.play(behave.answer("a"))
    with brokered(free, tmp_path, journal=True) as broker:
        broker.complete("action", ASK)
    assert totals(tmp_path) == Totals(Decimal(0), 18, 1)
    with brokered(free, tmp_path, journal=True) as broker:
        assert broker.complete("action", ASK).text == "a"
    assert totals(tmp_path) == Totals(Decimal(0), 18, 1)


KILLED = """
import os, signal, sys
from decimal import Decimal
from pathlib import Path
from orchestrator.models.broker import Broker
from orchestrator.models.config import ModelConfig
from orchestrator.models.journal import ResponseJournal
from orchestrator.models.ledger import SpendLedger
folder, url, when = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)
class Ledger(SpendLedger):
    settle = die if when == "kept" else SpendLedger.settle
class Journal(ResponseJournal):
    append = die if when == "answered" else ResponseJournal.append
config = ModelConfig(provider="openai", model="tiny-1", base_url=url, max_tokens=100,
                     price_input=2, price_output=10, price_cached=2)
broker = Broker({"action": config}, night="n", episode="e",
                ledger=Ledger(folder / "ledger.db"), journal=Journal(folder / "e.jsonl", "e"))
broker.complete("action", [{"role": "user", "content": "0123456789"}])
"""


@pytest.mark.parametrize("when", ["answered", "kept"])
def test_killed_between_answer_and_settlement(
    openai_server: OpenAIServer, tmp_path: Path, when: str
) -> None:
    openai_server.play(behave.answer("left"))
    dead = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path), openai_server.url, when],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if name != "OPENAI_API_KEY"},
        check=False,
    )
    assert dead.returncode == -signal.SIGKILL
    ledger = SpendLedger(tmp_path / "ledger.db")
    assert ledger.recover("n") == 1
    ledger.close()
    assert totals(tmp_path).presumed_money_usd == RESERVED
    openai_server.play(behave.answer("right"))
    with brokered(paid(openai_server), tmp_path, journal=True) as broker:
        text = broker.complete("action", ASK).text
    if when == "kept":  # the answer is there, so the bill is known after all
        assert (text, totals(tmp_path)) == ("left", Totals(COST, 18, 1))
    else:
        assert text == "right"
        assert totals(tmp_path).money_usd == RESERVED + COST


def test_roles_with_one_configuration_share_a_client() -> None:
    made: list[Echo] = []

    def make(config: ModelConfig) -> Echo:
        made.append(Echo(config))
        return made[-1]

    models = {"action": HEURISTIC, "memory": ModelConfig(provider="heuristic")}
    with Broker(models, factories={"heuristic": make}) as broker:  # type: ignore[arg-type]
        broker.complete("action", ASK)
        broker.complete("memory", ASK)
        broker.complete("memory", ASK)
        assert {role: one.calls for role, one in broker.metrics.items()} == {
            "action": 1,
            "memory": 2,
        }
        assert broker.fingerprints() == {"action": "echo-1", "memory": "echo-1"}
        broker.finish()
    broker.close()
    assert [one.closed for one in made] == [1]


def test_a_role_without_a_model_is_named() -> None:
    with (
        Broker({"action": HEURISTIC}, factories=FACTORIES) as broker,
        pytest.raises(UsageError, match=r"\[models\.judge\]"),
    ):
        broker.complete("judge", ASK)


def test_a_provider_without_a_maker_is_named() -> None:
    with pytest.raises(UsageError, match="'heuristic'"):
        Broker({"action": HEURISTIC})


def test_a_broker_that_cannot_be_made_closes_what_it_had(
    openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LAB_KEY", raising=False)
    made: list[Echo] = []

    def make(config: ModelConfig) -> Echo:
        made.append(Echo(config))
        return made[-1]

    models = {"action": HEURISTIC, "memory": paid(openai_server, api_key_env="LAB_KEY")}
    with pytest.raises(MissingKey):
        Broker(models, factories={"heuristic": make})  # type: ignore[arg-type]
    assert made[0].closed == 1


def test_failures_of_a_free_model_are_counted() -> None:
    factories = {"heuristic": lambda config: Echo(config, BadModelReply("no"))}
    with Broker({"action": HEURISTIC}, factories=factories) as broker:
        with pytest.raises(BadModelReply):
            broker.complete("action", ASK)
        assert broker.metrics["action"] == RoleMetrics(failures=1)


def test_a_server_that_stays_overloaded_is_given_up(
    openai_server: OpenAIServer, tmp_path: Path
) -> None:
    openai_server.play(*[behave.status(529)] * 3)
    with brokered(paid(openai_server), tmp_path) as broker, pytest.raises(ModelOverloaded):
        broker.complete("action", ASK)
    assert len(openai_server.bodies) == 3
    assert totals(tmp_path) == Totals()
