"""Questions, menus and lines of text that NetHack waits for."""

from __future__ import annotations

import re

from orchestrator.models.heuristic.game import Decision
from orchestrator.models.heuristic.nethack.belongings import (
    FOOD,
    FREEZING_HORNS,
    FREEZING_WANDS,
    HEALING,
    carried,
)
from orchestrator.models.heuristic.nethack.errands import door_beside, lava_ahead
from orchestrator.models.heuristic.nethack.scene import Scene

_CHOICES = re.compile(r"\[(.+?)(?: or \?\*)?\]")
_TRAVEL = "Where do you want to travel to"


def answer(scene: Scene) -> Decision | None:
    """What to answer; ``None`` if nothing is asked."""
    view = scene.view
    last = view.message.split("\n")[-1]
    if view.menu or view.typing:
        return Decision("escape", "leave")
    if _TRAVEL in view.message or (scene.last_action in ("travel", "down") and view.cursor):
        return _travel(scene)
    if not view.asked:
        return None
    if "direction" in last:
        return Decision(_direction(scene), "aim")
    if "want to pray" in last:
        return Decision("y", "pray")
    if "Stop eating" in last:
        return Decision("y", "eat")
    if "want to eat" in last:
        return Decision(_letter(scene, FOOD, last), "eat")
    if "want to drink" in last:
        return Decision(_letter(scene, HEALING, last), "heal")
    if "want to zap" in last or "want to use or apply" in last:
        return Decision(_letter(scene, FREEZING_WANDS + FREEZING_HORNS, last), "freeze")
    if "Improvise" in last:
        return Decision("n", "freeze")
    return Decision("n" if "[yn" in last else "escape", "leave")


def _travel(scene: Scene) -> Decision:
    """Point at the stairs, then go."""
    view = scene.view
    if view.cursor in scene.level.down:
        return Decision(".", "descend")
    if scene.last_action == "travel" and scene.level.down:
        return Decision("down", "descend")
    return Decision("escape", "leave")


def _direction(scene: Scene) -> str:
    if scene.last_action == "kick":
        return door_beside(scene) or "escape"
    return lava_ahead(scene) or "escape"


def _letter(scene: Scene, kinds: tuple[str, ...], question: str) -> str:
    """The first thing of the kinds that is offered, or else the first that is."""
    offered = _CHOICES.search(question)
    letters = _spelled(offered[1]) if offered else ""
    wanted = next((letter for letter in carried(scene, kinds) if letter in letters), "")
    return wanted or (letters[:1] if letters[:1].isalpha() else "escape")


def _spelled(letters: str) -> str:
    """``a-dg`` as ``abcdg``."""
    return re.sub(
        r"(\w)-(\w)", lambda span: "".join(map(chr, range(ord(span[1]), ord(span[2]) + 1))), letters
    )
