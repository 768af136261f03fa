"""Crafter for the client."""

from __future__ import annotations

import re
from collections.abc import Sequence

from orchestrator.models.heuristic.crafter.beliefs import Beliefs
from orchestrator.models.heuristic.crafter.decide import decide
from orchestrator.models.heuristic.crafter.facts import read_beliefs
from orchestrator.models.heuristic.crafter.progress import detect
from orchestrator.models.heuristic.crafter.view import View, parse_view
from orchestrator.models.heuristic.game import Decision, News, Situation

RARE = ("iron", "diamond", "coal", "table", "furnace", "sapling", "ripe_plant")
COMMON = ("water", "tree", "stone", "cow")


class CrafterPlayer:
    """Crafter as a `Game`."""

    observation = re.compile(r"^(?:You are asleep\.\n)?You stand on (?:.*\n)*?Inventory: .*$", re.M)
    idle = "noop"

    def facts(
        self, around: str, looked: str, observations: Sequence[str], step: int | None
    ) -> Beliefs:
        """See `Game.facts`."""
        return read_beliefs(around, looked, observations, step)

    def news(self, before: str, action: str, after: str, facts: Beliefs) -> News:
        """See `Game.news`."""
        old, new = parse_view(before), parse_view(after)
        achieved = tuple(f"done {name}" for name in sorted(detect(old, action, new)))
        return News((action,), achieved, tuple(_sights(old, new, facts)))

    def decide(self, situation: Situation) -> Decision:
        """See `Game.decide`."""
        return decide(parse_view(situation.observation), situation.facts)


def _sights(before: View, after: View, beliefs: Beliefs) -> list[str]:
    """A note for each useful kind that has come into sight, with its place if that is known."""
    notes = []
    for kind in (*RARE, *COMMON):
        seen = after.cells(kind)
        if not seen or before.cells(kind):
            continue
        x, y = min(seen, key=lambda cell: (abs(cell[0]) + abs(cell[1]), cell))
        position = beliefs.position
        if position is not None:
            notes.append(f"{kind} at ({position[0] + x}, {position[1] + y})")
        else:
            notes.append(f"saw {kind} {_way(x, y)}")
    return notes


def _way(x: int, y: int) -> str:
    parts = []
    if x:
        parts.append(f"{abs(x)} {'right' if x > 0 else 'left'}")
    if y:
        parts.append(f"{abs(y)} {'down' if y > 0 else 'up'}")
    return " and ".join(parts)
