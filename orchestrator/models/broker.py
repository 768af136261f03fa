"""The one choke point: every model call and every cent passes here.

A call goes by role to a client. If it can cost something, room is reserved in the ledger before
each try and settled after it; a try that failed and may have been billed is settled at its
reservation. Answers that a rerun could not reproduce are journalled, so that an interrupted
episode asks and pays only for the rest. A free, reproducible model skips all of that: its use is
summed up here and entered once an episode.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from types import TracebackType

from orchestrator.errors import SlowwaveError, UsageError
from orchestrator.models import retry
from orchestrator.models.base import (
    Ask,
    Completion,
    Message,
    ModelClient,
    Question,
    RemoteModelClient,
    ToolModelClient,
    ask_ceiling,
)
from orchestrator.models.clients import ClientFactory, make_client
from orchestrator.models.config import ModelConfig, Role
from orchestrator.models.errors import BudgetExhausted, ModelFailure
from orchestrator.models.journal import Entry, ResponseJournal, request_hash
from orchestrator.models.ledger import Limits, SpendLedger
from orchestrator.models.route import RoleMetrics, Route

__all__ = ["Broker", "RoleMetrics"]

_Keep = Callable[[Completion, str, Decimal, float], None]
"""Keeps an answer: the completion, its ledger key, its cost, its seconds."""


class Broker:
    """The model calls of one episode, or of one editor's conversation.

    For use from one thread. Close it, or use it in a ``with``.

    Args:
        models: The model of each role that is used.
        factories: Makers of clients by provider, for those that this package does not have.
        night: Whose budget is spent.
        episode: The episode's key, or another name that no other broker of the night has.
        ledger: Where spending is reserved and settled; ``None`` counts without limits.
        journal: Where answers are kept for resumption; ``None`` keeps none.
        started_at: When the night started (seconds since the epoch); needed by a limit in hours.
        sleep: Waits that many seconds between tries.
        clock: A monotonic clock in seconds.
        now: Seconds since the epoch.
    """

    def __init__(
        self,
        models: Mapping[Role, ModelConfig],
        *,
        factories: Mapping[str, ClientFactory] | None = None,
        night: str = "",
        episode: str = "",
        ledger: SpendLedger | None = None,
        journal: ResponseJournal | None = None,
        started_at: float | None = None,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._night = night
        self._episode = episode
        self._ledger = ledger
        self._journal = journal
        self._limits = ledger.limits if ledger is not None else Limits()
        if self._limits.hours is not None and started_at is None:
            raise ValueError("a limit in hours needs to know when the night started")
        self._started_at = started_at if self._limits.hours is not None else None
        self._sleep, self._clock, self._now = sleep, clock, now
        self._ordinal = 0
        self._run = uuid.uuid4().hex[:12]
        self._keys = 0
        self._closed = False
        self._clients: dict[ModelConfig, ModelClient] = {}
        self._routes: dict[Role, Route] = {}
        try:
            for role, config in models.items():
                self._routes[role] = self._route(role, config, factories or {})
            self._settle_kept()
        except BaseException:
            self._close_clients()
            raise

    def complete(self, role: Role, messages: Sequence[Message]) -> Completion:
        """Have the model of a role answer a conversation.

        Args:
            role: Whose model.
            messages: The conversation.

        Returns:
            The whole answer; ``finish_reason`` is ``length`` if `max_tokens` cut it.

        Raises:
            ModelFailure: No answer after all retries; the episode is missing.
            BudgetExhausted: A limit leaves no room for the call.
            MissingKey: A key is missing or not accepted.
            UnknownModel: The server does not have the model.
            PromptTooLong: The conversation does not fit the model.
            RequestRejected: The server calls the request wrong.
            UsageError: The role has no model.
        """
        route, ordinal = self._next_call(role)
        if not route.direct:
            return self._kept_or_asked(route, ordinal, messages)
        if self._started_at is not None:
            self._check_hours()
        began = self._clock()
        try:
            completion = route.client.complete(messages)
        except BaseException:
            route.metrics.failures += 1
            raise
        route.metrics.add(completion.usage, self._clock() - began)
        return completion

    def converse(self, role: Role, question: Question) -> Completion:
        """Have the model of a role go on with a conversation in which it may call tools.

        Args:
            role: Whose model.
            question: The conversation and the tools.

        Returns:
            The answer; its blocks hold the calls.

        Raises:
            ModelFailure: No answer after all retries. The rest as `complete`.
            UsageError: The role has no model, or one that cannot call tools.
        """
        route, ordinal = self._next_call(role)
        if not isinstance(route.client, ToolModelClient):
            raise UsageError(
                f"The provider {route.config.provider!r} of the role {role!r} cannot call tools.",
                mend=f"Use 'anthropic' or 'openai' in slowwave.toml, under [models.{role}].",
            )
        return self._kept_or_asked(route, ordinal, question)

    def fingerprints(self) -> dict[Role, str]:
        """What decides each role's answers, for the episode's key."""
        return {role: route.fingerprint for role, route in self._routes.items()}

    @property
    def metrics(self) -> dict[Role, RoleMetrics]:
        """The counters of each role, as they stand."""
        return {role: route.metrics for role, route in self._routes.items()}

    def flush(self) -> None:
        """Enter the use of free models in the ledger, replacing what was entered before.

        Replayed answers are included: the entry says what the episode took in all, so that it
        comes out the same whether a run was interrupted or not.
        """
        if self._ledger is None:
            return
        for route in self._routes.values():
            use = route.metrics
            tokens = use.input_tokens + use.output_tokens
            if route.metered or (use.calls, tokens) == route.entered:
                continue
            key = f"{self._episode or self._run}/{route.role}"
            self._ledger.record(
                self._night, key, Decimal(0), tokens, calls=use.calls, role=route.role
            )
            route.entered = (use.calls, tokens)

    def finish(self) -> None:
        """Call when the episode's result is safely stored: its kept answers are deleted."""
        self.flush()
        if self._journal is not None:
            self._journal.delete()

    def close(self) -> None:
        """Flush, and close clients and files; kept answers stay for a later run."""
        if self._closed:
            return
        self._closed = True
        try:
            self.flush()
        finally:
            self._close_clients()
            if self._journal is not None:
                self._journal.close()
            if self._ledger is not None:
                self._ledger.close()

    def __enter__(self) -> Broker:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _route(
        self, role: Role, config: ModelConfig, factories: Mapping[str, ClientFactory]
    ) -> Route:
        client = self._clients.get(config)
        if client is None:
            client = self._clients[config] = make_client(config, factories)
        counted = self._limits.tokens is not None or self._limits.calls is not None
        metered = self._ledger is not None and (counted or not config.prices.free)
        journalled = self._journal is not None and config.provider != "heuristic"
        return Route(
            role=role,
            config=config,
            client=client,
            prices=config.prices,
            fingerprint=client.fingerprint(),
            metered=metered,
            journalled=journalled,
            direct=not (metered or journalled or isinstance(client, RemoteModelClient)),
        )

    def _next_call(self, role: Role) -> tuple[Route, int]:
        route = self._routes.get(role)
        if route is None:
            raise UsageError(
                f"No model is configured for the role {role!r}.",
                mend=f"Add one to slowwave.toml, under [models.{role}].",
            )
        ordinal = self._ordinal
        self._ordinal = ordinal + 1
        return route, ordinal

    def _kept_or_asked(self, route: Route, ordinal: int, ask: Ask) -> Completion:
        journal = self._journal if route.journalled else None
        if journal is None:
            return self._ask(route, ask, None)
        request = request_hash(route.role, route.fingerprint, ask)
        kept = journal.replay(ordinal, request)
        if kept is not None:
            route.metrics.add(kept.completion.usage, kept.seconds)
            route.metrics.money_usd += kept.money_usd
            route.metrics.replayed += 1
            return kept.completion

        def keep(completion: Completion, reservation: str, cost: Decimal, seconds: float) -> None:
            journal.append(Entry(ordinal, request, reservation, cost, seconds, completion))

        return self._ask(route, ask, keep)

    def _ask(self, route: Route, ask: Ask, keep: _Keep | None) -> Completion:
        """Ask until there is an answer, and count how that went."""
        began = self._clock()
        tries = 0

        def attempt(seconds: float) -> Completion:
            nonlocal tries
            tries += 1
            return self._try(route, ask, seconds, began, keep)

        config = route.config
        policy = retry.RetryPolicy(config.max_retries, config.deadline_s, self._sleep, self._clock)
        try:
            completion = retry.call(attempt, policy)
        except BaseException:
            route.metrics.failures += 1
            raise
        finally:
            route.metrics.retries += max(0, tries - 1)
        route.metrics.add(completion.usage, self._clock() - began)
        return completion

    def _try(
        self,
        route: Route,
        ask: Ask,
        seconds: float,
        began: float,
        keep: _Keep | None,
    ) -> Completion:
        """Reserve, ask once, keep the answer, settle."""
        if self._started_at is not None:
            self._check_hours()
        key = self._reserve(route, ask)
        try:
            completion = _put(route.client, ask, seconds)
        except BaseException as error:
            self._settle_failure(route, key, error)
            raise
        cost = route.prices.cost(completion.usage)
        try:
            # Kept before it is settled: were we killed between the two, the journal would correct
            # the ledger, and not the other way round.
            if keep is not None:
                keep(completion, key, cost, self._clock() - began)
        finally:
            self._settle(route, key, cost, completion.usage.total)
        return completion

    def _reserve(self, route: Route, ask: Ask) -> str:
        """Keep room for one try; returns its ledger key, empty for a route that is not metered."""
        if self._ledger is None or not route.metered:
            return ""
        prompt, answer = ask_ceiling(ask), route.config.max_tokens
        key = self._key()
        self._ledger.reserve(
            self._night,
            key,
            route.prices.ceiling(prompt, answer),
            prompt + answer,
            role=route.role,
        )
        return key

    def _settle(self, route: Route, key: str, cost: Decimal, tokens: int) -> None:
        if self._ledger is not None and key:
            self._ledger.settle(key, cost, tokens)
        route.metrics.money_usd += cost

    def _settle_failure(self, route: Route, key: str, error: BaseException) -> None:
        """Settle a failed try by what is known of its bill."""
        if isinstance(error, ModelFailure):
            usage, billed = error.usage, error.billed
        else:  # a request that the server would not take costs nothing; a broken-off one may
            usage, billed = None, not isinstance(error, SlowwaveError)
        if usage is not None:
            self._settle(route, key, route.prices.cost(usage), usage.total)
        elif self._ledger is not None and key:
            if billed:
                route.metrics.money_usd += self._ledger.presume(key)
            else:
                self._ledger.void(key)

    def _settle_kept(self) -> None:
        """Correct what a killed run could not settle, from the answers it had kept."""
        if self._ledger is None or self._journal is None:
            return
        for entry in self._journal.entries():
            if entry.reservation:
                self._ledger.correct(
                    entry.reservation, entry.money_usd, entry.completion.usage.total
                )

    def _check_hours(self) -> None:
        limit, started_at = self._limits.hours, self._started_at
        if limit is None or started_at is None:
            return
        hours = (self._now() - started_at) / 3600
        if hours >= limit:
            raise BudgetExhausted("hours", value=hours, limit=limit, where=self._limits.where)

    def _key(self) -> str:
        self._keys += 1
        return f"{self._episode}/{self._run}/{self._keys}"

    def _close_clients(self) -> None:
        for client in self._clients.values():
            client.close()


def _put(client: ModelClient, ask: Ask, seconds: float) -> Completion:
    """Ask once."""
    if isinstance(ask, Question):
        assert isinstance(client, ToolModelClient)
        return client.converse(ask, seconds=seconds)
    if isinstance(client, RemoteModelClient):
        return client.attempt(ask, seconds=seconds)
    return client.complete(ask)
