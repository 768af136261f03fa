"""The client: messages in, one completion out, nothing kept in between."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from orchestrator.models.base import Completion, Message, Usage
from orchestrator.models.config import ModelConfig
from orchestrator.models.heuristic.game import Situation
from orchestrator.models.heuristic.notes import log_turn, lookups
from orchestrator.models.heuristic.prompt import read_prompt

CHARACTERS_PER_TOKEN = 4
"""For the estimate of tokens; a tokenizer of English text makes about one token of four letters."""


class HeuristicClient:
    """Plays from what the prompt says; a pure function of the messages."""

    def complete(self, messages: Sequence[Message]) -> Completion:
        """Answer the conversation."""
        text = answer(messages)
        read = sum(len(message["content"]) for message in messages)
        usage = Usage(
            read // CHARACTERS_PER_TOKEN, len(text) // CHARACTERS_PER_TOKEN + 1, estimated=True
        )
        return Completion(text, usage, "stop", "heuristic")

    def fingerprint(self) -> str:
        """Hash of this package's source: any change of the policy makes another model."""
        return f"heuristic:{_source_hash()}"

    def close(self) -> None:
        """Nothing to give back."""


def make_heuristic(config: ModelConfig) -> HeuristicClient:
    """The factory that the broker calls for ``provider = "heuristic"``."""
    return HeuristicClient()


def answer(messages: Sequence[Message]) -> str:
    """The completion for a conversation."""
    reading = read_prompt(messages)
    asked = reading.asked
    if asked.phase == "LOG":
        return log_turn(reading)
    if not asked.observations:
        return f"<|ACTION|>{asked.game.idle}<|END|>"
    advised = reading.turn == 0 and asked.advised
    if advised and not any("KIND" in command for command in advised):
        return "\n".join(advised)  # what is wanted does not matter yet
    decision = asked.game.decide(
        Situation(asked.observations[-1], asked.last_action, reading.means.actions, reading.facts)
    )
    if advised:
        commands = lookups(reading, decision.wants)
        if commands:
            return "\n".join(commands)
    return f"{decision.goal}\n<|ACTION|>{decision.action}<|END|>"


@cache
def _source_hash() -> str:
    digest = hashlib.sha256()
    folder = Path(__file__).parent
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]
