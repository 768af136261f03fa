"""NetHack and MiniHack for the client."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.models.heuristic.game import Decision, News, Situation
from orchestrator.models.heuristic.nethack.decide import decide
from orchestrator.models.heuristic.nethack.facts import Facts, read_facts
from orchestrator.models.heuristic.nethack.news import news
from orchestrator.models.heuristic.nethack.view import OBSERVATION, parse_view


class NetHackPlayer:
    """NetHack and MiniHack as a `Game`."""

    observation = OBSERVATION
    idle = "escape"

    def facts(
        self, around: str, looked: str, observations: Sequence[str], step: int | None
    ) -> Facts:
        """See `Game.facts`."""
        return read_facts(f"{around}\n{looked}", observations)

    def news(self, before: str, action: str, after: str, facts: Facts) -> News:
        """See `Game.news`."""
        return news(parse_view(before), action, parse_view(after), facts)

    def decide(self, situation: Situation) -> Decision:
        """See `Game.decide`."""
        view = parse_view(situation.observation)
        return decide(view, situation.facts, situation.last_action, situation.actions)
