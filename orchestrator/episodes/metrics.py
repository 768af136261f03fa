"""Behaviour metrics of an episode, computed on the host from its step records.

Every ratio with nothing under it is ``None``, never 0. Definitions: `memory-protocol` in the
documentation; the write/search ratio is the measure of the AutoMem paper (arXiv 2607.01224).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

READS = frozenset({"SEARCH", "READ", "TAIL", "COUNT"})

NAMES = (
    "progression",
    "invalid_action_rate",
    "stuck_rate",
    "oscillation_rate",
    "ineffective_action_rate",
    "redundant_write_rate",
    "memory_growth",
    "empty_search_rate",
    "write_search_ratio",
    "write_read_ratio",
    "override_rate",
    "memory_tokens_per_step",
    "model_calls_per_step",
)


def ratio(numerator: float, denominator: float) -> float | None:
    """A ratio, or ``None`` where there is nothing to divide by."""
    return numerator / denominator if denominator else None


class MetricsCounter:
    """Counts step records as they are made, so that a long episode needs little memory.

    Args:
        idle_actions: Actions that can change nothing; they are never counted as stuck.
    """

    def __init__(self, idle_actions: Iterable[str]) -> None:
        self._idle = frozenset(idle_actions)
        self._count: Counter[str] = Counter()
        # The last step and what was seen at it and before it: texts, for a text's number in the
        # trajectory changes when it comes again after long.
        self._previous: dict[str, Any] | None = None
        self._seen: str | None = None
        self._seen_before: str | None = None

    def add(self, step: dict[str, Any], seen: str) -> None:
        """Count one step record; the previous one's effect is known only now.

        Args:
            step: The record.
            seen: What of the observation tells whether anything changed.
        """
        self._settle(seen)
        self._previous, self._seen_before, self._seen = step, self._seen, seen
        count = self._count
        count["steps"] += 1
        count["override"] += step["overridden"]
        for turn in step["turns"]:
            count["calls"] += 1
            for command in turn["commands"]:
                self._add_command(command)

    def finish(
        self,
        *,
        last_seen: str,
        progression: float,
        growth: int,
        memory_tokens: int,
    ) -> dict[str, float | None]:
        """All metrics by name.

        Args:
            last_seen: The same of what the agent would have seen next.
            progression: The environment's score in [0, 1].
            growth: Characters of memory at the end minus at the start.
            memory_tokens: Tokens that LOG turns took.
        """
        self._settle(last_seen)
        self._previous = None
        count = self._count
        steps = count["steps"]
        reads = sum(count[f"log_{name}"] for name in READS)
        return {
            "progression": 100 * progression,
            "invalid_action_rate": ratio(count["invalid"], steps),
            "stuck_rate": ratio(count["stuck"], count["changing"]),
            "oscillation_rate": ratio(count["oscillating"], steps),
            "ineffective_action_rate": ratio(count["ineffective"], steps),
            "redundant_write_rate": ratio(count["redundant"], count["writes"]),
            "memory_growth": ratio(growth, steps),
            "empty_search_rate": ratio(count["empty"], count["searches"]),
            "write_search_ratio": ratio(count["log_writes"], count["log_SEARCH"]),
            "write_read_ratio": ratio(count["log_writes"], reads),
            "override_rate": ratio(count["override"], steps),
            "memory_tokens_per_step": ratio(memory_tokens, steps),
            "model_calls_per_step": ratio(count["calls"], steps),
        }

    def _add_command(self, command: dict[str, Any]) -> None:
        count = self._count
        name, phase = command["name"], command["phase"]
        if name == "SEARCH" and command["ok"]:
            count["searches"] += 1
            count["empty"] += command["matches"] == 0
        if command["novel"] is not None:
            count["writes"] += 1
            count["redundant"] += not command["novel"]
            count["log_writes"] += phase == "LOG"
        if phase == "LOG" and command["ok"]:
            count[f"log_{name}"] += 1

    def _settle(self, after: str) -> None:
        """Judge the previous step's action by what was seen after it."""
        step = self._previous
        if step is None:
            return
        count = self._count
        invalid = "invalid_action" in step["events"]
        changing = not invalid and step["action"] not in self._idle
        stuck = changing and after == self._seen
        oscillating = after == self._seen_before and after != self._seen
        count["invalid"] += invalid
        count["changing"] += changing
        count["stuck"] += stuck
        count["oscillating"] += oscillating
        count["ineffective"] += invalid or stuck or oscillating
