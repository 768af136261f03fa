"""What the broker knows of a role: its client, its treatment, its counters."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal

from orchestrator.models.base import ModelClient, Usage
from orchestrator.models.config import ModelConfig, Prices, Role


@dataclass(slots=True)
class RoleMetrics:
    """What one role has used in this broker's life.

    Attributes:
        calls: Answers, those replayed from the journal included.
        input_tokens: Prompt tokens of those answers.
        output_tokens: Tokens written in those answers.
        cached_tokens: Prompt tokens that a server's cache held.
        money_usd: What the answers cost, and what failed tries were settled at.
        seconds: Time spent on them, waits and retries included.
        retries: Tries after a first one.
        failures: Calls that got no answer.
        replayed: Answers that came from the journal and were not paid again.
    """

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    money_usd: Decimal = field(default_factory=Decimal)
    seconds: float = 0.0
    retries: int = 0
    failures: int = 0
    replayed: int = 0

    def add(self, usage: Usage, seconds: float) -> None:
        """Count one answer."""
        self.calls += 1
        self.input_tokens += usage.input_tokens
        self.output_tokens += usage.output_tokens
        self.cached_tokens += usage.cached_tokens
        self.seconds += seconds


@dataclass(slots=True)
class Route:
    """One role's client and how its calls are treated.

    Args:
        role: The role.
        config: Its model.
        client: What answers.
        prices: What it costs.
        fingerprint: What decides its answers.
        metered: Every try is reserved in the ledger.
        journalled: Answers are kept for resumption, because a rerun would get others.
        direct: None of these, and no network either: the client is simply asked.
        metrics: What it has used.
        entered: Calls and tokens already in the ledger; only of routes that are not metered.
    """

    role: Role
    config: ModelConfig
    client: ModelClient
    prices: Prices
    fingerprint: str
    metered: bool
    journalled: bool
    direct: bool
    metrics: RoleMetrics = field(default_factory=RoleMetrics)
    entered: tuple[int, int] = (0, 0)
