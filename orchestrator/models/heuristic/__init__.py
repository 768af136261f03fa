"""The `heuristic` model client: plays from the prompt's text alone, without a language model.

It answers the prompts a language model would get, in the same grammar, and is a pure function of
the messages. `prompt` reads what the prompt and the memory results say, `notes` decides what to
write and look up, `crafter` and `nethack` (MiniHack too) each know a `game`.
"""

from orchestrator.models.heuristic.client import HeuristicClient, make_heuristic

__all__ = ["HeuristicClient", "make_heuristic"]
