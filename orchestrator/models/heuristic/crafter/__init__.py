"""How the `heuristic` model plays Crafter.

Everything here is a pure function of what the prompt says: `parse_view` reads one observation,
`Beliefs` holds what notes and trackers in the prompt claim, `decide` answers with one action.
Nothing is remembered between calls, so that how far the game is played depends on what the
scaffold remembers.
"""

from orchestrator.models.heuristic.crafter.beliefs import Beliefs
from orchestrator.models.heuristic.crafter.decide import Decision, decide
from orchestrator.models.heuristic.crafter.progress import detect, moved
from orchestrator.models.heuristic.crafter.view import View, parse_view

__all__ = ["Beliefs", "Decision", "View", "decide", "detect", "moved", "parse_view"]
