"""What an episode is, and the key under which its result is stored.

The key is a hash of everything that decides the result. Two runs that could differ never share
one, and nothing else enters it: not the path of a folder, not the date, not a price.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from agents.manifest import Budgets
from agents.messages import PROTOCOL_VERSION
from orchestrator.sandbox.base import SandboxLimits

_HARNESS = (
    "agents.grammar",
    "agents.messages",
    "agents.memory.base",
    "agents.memory.files",
    "orchestrator.episodes.metrics",
    "orchestrator.episodes.player",
    "orchestrator.episodes.trajectory",
    "orchestrator.episodes.turns",
    "orchestrator.sandbox.containers.container",
    "orchestrator.sandbox.line",
    "orchestrator.sandbox.namespaces",
    "orchestrator.sandbox.process",
)


@cache
def harness_fingerprint() -> str:
    """SHA-256 over the host code that decides a result (16 hexadecimal digits)."""
    digest = hashlib.sha256(f"protocol {PROTOCOL_VERSION}".encode())
    for name in _HARNESS:
        spec = find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        digest.update(Path(spec.origin).read_bytes())
    return digest.hexdigest()[:16]


class EpisodeSpec(BaseModel):
    """Everything that decides an episode's result.

    Attributes:
        environment: Environment id with version, e.g. ``crafter-v1``.
        versions: Package versions on which the environment's stream depends.
        seed: The environment's seed.
        replicate: Number of this independent run of the same episode, from 0.
        steps: Step limit.
        tree: The scaffold's git tree hash.
        budgets: The scaffold's budgets under the workspace's ceilings.
        limits: What the sandbox allows: a scaffold that ran into a limit is another episode under
            another limit.
        models: Fingerprint of model and sampling by role.
        agent: Fingerprint of the code in the sandbox.
        harness: Fingerprint of the host code (`harness_fingerprint`).
        memory_base: Hash of the memory an episode starts from, for backends that persist.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    environment: str
    versions: dict[str, str]
    seed: int
    replicate: int = 0
    steps: int = Field(ge=1)
    tree: str
    budgets: Budgets
    limits: SandboxLimits = Field(default_factory=SandboxLimits)
    models: dict[str, str]
    agent: str
    harness: str = Field(default_factory=harness_fingerprint)
    memory_base: str | None = None

    @property
    def key(self) -> str:
        """SHA-256 of the canonical JSON of all fields (32 hexadecimal digits)."""
        text = json.dumps(self.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:32]


class EpisodeResult(BaseModel):
    """What an episode came to.

    Attributes:
        key: The episode's key.
        environment: Environment id.
        seed: The environment's seed.
        replicate: Number of the independent run.
        tree: The scaffold's tree hash.
        steps: Steps played.
        progression: The environment's score in [0, 1].
        outcome: ``died``, ``step_limit``, ... or ``scaffold_timeout`` and its like.
        digest: SHA-256 over everything the agent saw and did, and the progression.
        metrics: Behaviour metrics by name; ``None`` where there was nothing to divide by.
        details: What the environment tells about the game, for people.
        usage: Model use by role: calls, tokens, money in USD.
        seconds: Wall time.
        trajectory: The trajectory's file, relative to the artifacts folder.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    key: str
    environment: str
    seed: int
    replicate: int
    tree: str
    steps: int
    progression: float
    outcome: str
    digest: str
    metrics: dict[str, float | None]
    details: dict[str, object]
    usage: dict[str, dict[str, float]]
    seconds: float
    trajectory: str

    @property
    def tokens(self) -> int:
        """Model tokens of all roles, in and out."""
        return int(self._sum("input_tokens") + self._sum("output_tokens"))

    @property
    def money_usd(self) -> float:
        """Money spent on models, in USD."""
        return self._sum("money_usd")

    def _sum(self, name: str) -> float:
        uses: list[Mapping[str, float]] = list(self.usage.values())
        return sum(use.get(name, 0.0) for use in uses)


class MissingEpisode(BaseModel):
    """An episode that the machinery lost: to be retried, never scored."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    key: str
    environment: str
    seed: int
    error: str
    message: str
