"""How the `heuristic` model plays NetHack and MiniHack.

Everything here is a pure function of what the prompt says. `view` reads an observation, `terrain`
makes a level of it and `ways` finds paths over it; `facts` reads what memory and trackers claim;
`answers` deals with questions and menus, `danger` with hunger, wounds and creatures, `errands` with
stairs, lava and doors, `explore` with the unknown; `decide` puts them in order, `news` says what is
worth a note, and `player` shows it all to the client.
"""

from orchestrator.models.heuristic.nethack.player import NetHackPlayer

__all__ = ["NetHackPlayer"]
