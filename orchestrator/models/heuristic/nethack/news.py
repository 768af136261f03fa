"""What two observations in a row say that is worth a note."""

from __future__ import annotations

from orchestrator.models.heuristic.game import News
from orchestrator.models.heuristic.nethack.facts import Facts, level_name
from orchestrator.models.heuristic.nethack.scene import Scene, is_one_of
from orchestrator.models.heuristic.nethack.terrain import FREE, STEPS
from orchestrator.models.heuristic.nethack.view import Place, View

_STUCK = ("in vain", "perhaps that's why you cannot")
_PRAYERS = ("You begin praying", "You are surrounded by")


def news(before: View, action: str, after: View, facts: Facts) -> News:
    """See `News`.

    Args:
        before: What was seen before the action.
        action: The action.
        after: What was seen then.
        facts: What else is known.
    """
    at = f"at ({after.here[0]}, {after.here[1]}) on level {level_name(after)}"
    achieved = []
    if any(words in after.message for words in _PRAYERS):
        achieved.append(f"prayed on turn {after.turn}")
    if after.level > before.level:
        achieved.append(f"reached level {level_name(after)}")
    sights = []
    if action == "search" and after.here == before.here:
        sights.append(f"searched {at}")
    if _is_dead_end(after, facts):
        sights.append(f"dead end {at}")
    if action in STEPS and is_one_of(after.message.lower(), _STUCK):
        x, y = (there + step for there, step in zip(after.here, STEPS[action], strict=True))
        sights.append(f"blocked at ({x}, {y}) on level {level_name(after)}")
    for place in _new_ways_down(before, after):
        sights.append(f"way down at ({place[0]}, {place[1]}) on level {level_name(after)}")
    return News((action, f"was {at}"), tuple(achieved), tuple(sights))


def _is_dead_end(view: View, facts: Facts) -> bool:
    """Nothing leads on from here but the way that was come."""
    if view.here in facts.dead_ends:
        return False
    scene = Scene(view, facts, "", frozenset())
    return scene.level.squares[scene.here] == FREE and scene.openings[scene.here] <= 1


def _new_ways_down(before: View, after: View) -> list[Place]:
    known = set(before.things.get("staircase down", ()))
    if level_name(before) != level_name(after):
        known = set()
    return [place for place in after.things.get("staircase down", ()) if place not in known]
