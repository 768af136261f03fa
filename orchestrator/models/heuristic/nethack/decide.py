"""One action for one observation."""

from __future__ import annotations

from orchestrator.models.heuristic.game import Decision
from orchestrator.models.heuristic.nethack.answers import answer
from orchestrator.models.heuristic.nethack.danger import fight, recover, retreat
from orchestrator.models.heuristic.nethack.errands import break_door, descend, freeze
from orchestrator.models.heuristic.nethack.explore import explore
from orchestrator.models.heuristic.nethack.facts import Facts
from orchestrator.models.heuristic.nethack.scene import Scene
from orchestrator.models.heuristic.nethack.view import View


def decide(
    view: View,
    facts: Facts | None = None,
    last_action: str = "",
    actions: frozenset[str] = frozenset(),
) -> Decision:
    """Choose an action from what is seen and what is known, and from nothing else.

    Args:
        view: What is seen.
        facts: What else is known.
        last_action: The action just played, empty if that is not known.
        actions: What can be done; empty for everything.
    """
    scene = Scene(view, facts or Facts(), last_action, actions)
    for consider in (answer, recover, retreat, fight, break_door, freeze, descend):
        decision = consider(scene)
        if decision is not None:
            return decision
    return explore(scene)
