"""How the `heuristic` model plays Crafter.

Everything here is a pure function of what the prompt says: `parse_view` reads one observation,
`Beliefs` holds what notes and trackers in the prompt claim (`facts` reads them), `decide` answers
with one action, and `player` shows it all to the client.
Nothing is remembered between calls, so that how far the game is played depends on what the
scaffold remembers.
"""

from orchestrator.models.heuristic.crafter.beliefs import Beliefs
from orchestrator.models.heuristic.crafter.decide import decide
from orchestrator.models.heuristic.crafter.player import CrafterPlayer
from orchestrator.models.heuristic.crafter.progress import detect, moved
from orchestrator.models.heuristic.crafter.view import View, parse_view
from orchestrator.models.heuristic.game import Decision

__all__ = [
    "Beliefs",
    "CrafterPlayer",
    "Decision",
    "View",
    "decide",
    "detect",
    "moved",
    "parse_view",
]
