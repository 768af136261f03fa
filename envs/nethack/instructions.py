"""What a player is told before the first move."""

from __future__ import annotations

from envs.nethack.keys import CHARACTERS, NAMED

READING = """\
What you see: the message (everything NetHack said since your last action), where you are, what is \
in view, the map, your status and what you carry. Positions are (column, row); columns grow to the \
east, rows to the south. Under "In view" each kind of thing stands once, with the number of moves \
to each one and the way there: "closed door: 4 (4 north, 2 west)" is four moves away, for a \
diagonal step is one move. The map shows all that is known of the level, also what is out of sight \
now: . floor or doorway, # corridor, | and - walls or open doors, + closed door, < and > stairs up \
and down, _ altar, { fountain, } water or lava, ^ trap, letters are creatures, other signs are \
things.
When NetHack asks a question or shows a menu, your next action is the answer: a single character, \
a direction, or escape to leave."""

NETHACK = f"""\
You play NetHack. Explore the dungeon, go deeper, grow stronger and stay alive; the aim is to \
fetch the Amulet of Yendor and ascend. Progression is measured by the greatest depth and the \
highest experience level you reach. The game ends when you die; it is broken off when the game's \
clock stands still for 150 actions.

{READING}

Moving: north, northeast, east, ... take one step; far_north, far_east, ... go on until something \
interesting. Walking into a creature attacks it, walking into a closed door opens it if it is not \
locked; kick breaks one that is. You cannot move diagonally through a doorway. down and up use \
the stairs you stand on. travel goes to a place in one action: answer with down or up for stairs, \
then with . to go. search looks for hidden doors and passages next to you. wait lets a turn pass, \
escape leaves any question or menu.
Staying alive: eat when hungry, but nothing that has lain dead for long; pray when hit points are \
below a seventh or you are weak with hunger, at most once in about a thousand turns; do not fight \
peaceful creatures, floating eyes, cockatrices or acid blobs by hand.

Named actions: {", ".join(NAMED)}.
Characters, for questions, menus and text: {" ".join(CHARACTERS)}
"""
