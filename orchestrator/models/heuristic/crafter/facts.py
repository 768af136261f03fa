"""What a prompt says of a game of Crafter beyond what is in view.

| text | fact |
|---|---|
| ``Position: (3, -2)`` | where the player is, counted from the start |
| ``done collect_wood`` | an achievement is done |
| ``Done so far: collect_wood, place_table`` | a list of them |
| ``water at (5, 1)`` | a place |
| ``Explored sectors: (0, 0) (1, 0)`` | where the player has been |
| ``going round in circles`` | a warning |
| ``Action: do`` between two observations | what the two prove to have been achieved |
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from orchestrator.models.heuristic.crafter.beliefs import Beliefs
from orchestrator.models.heuristic.crafter.progress import detect
from orchestrator.models.heuristic.crafter.view import parse_view

WARNING = "going round in circles"

_POSITION = re.compile(r"^Position: \((-?\d+), (-?\d+)\)", re.M)
_DONE = re.compile(r"\bdone (\w+)")
_DONE_LIST = re.compile(r"^Done so far: (.+)$", re.M)
_PLACE = re.compile(r"\b([a-z_]+) at \((-?\d+), (-?\d+)\)")
_EXPLORED = re.compile(r"^Explored sectors: (.+)$", re.M)
_ACTION = re.compile(r"^Action: (\S+)$", re.M)
_PAIR = re.compile(r"\((-?\d+), (-?\d+)\)")


def read_beliefs(
    around: str, looked: str, observations: Sequence[str], step: int | None
) -> Beliefs:
    """The facts.

    Args:
        around: The prompt without its observations.
        looked: Results of memory commands.
        observations: Every observation in the prompt, oldest first.
        step: Steps played, where the prompt says it.
    """
    text = f"{around}\n{looked}" if looked else around
    position = _POSITION.search(text)
    done = set(_DONE.findall(looked))
    for listed in _DONE_LIST.findall(text):
        done.update(word.strip() for word in listed.split(","))
    done |= _seen_done(observations, _ACTION.findall(around))
    return Beliefs(
        position=(int(position[1]), int(position[2])) if position else None,
        done=frozenset(done) if done else None,
        places=tuple((kind, (int(x), int(y))) for kind, x, y in _PLACE.findall(text)),
        explored=_pairs(text),
        warning=WARNING in text,
        step=step,
    )


def _seen_done(observations: Sequence[str], actions: Sequence[str]) -> set[str]:
    """What a window of observations with the actions in between proves."""
    if not actions or len(actions) != len(observations) - 1:
        return set()
    views = [parse_view(text) for text in observations]
    steps = zip(views, actions, views[1:], strict=False)
    return {name for before, action, after in steps for name in detect(before, action, after)}


def _pairs(text: str) -> frozenset[tuple[int, int]]:
    found = _EXPLORED.search(text)
    if not found:
        return frozenset()
    return frozenset((int(x), int(y)) for x, y in _PAIR.findall(found[1]))
