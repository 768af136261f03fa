"""What the player carries, by what it is good for."""

from __future__ import annotations

import re
from functools import cache

from orchestrator.models.heuristic.nethack.scene import Scene

FOOD = (
    "food ration", "cram ration", "lembas wafer", "apple", "orange", "pear", "melon", "banana",
    "carrot", "fortune cookie", "candy bar", "pancake", "cream pie", "slime mold", "tripe ration",
    "egg", "K-ration", "C-ration", "gunyoki", "meatball", "huge chunk of meat", "frond",
)  # fmt: skip
"""What keeps, best first."""
HEALING = ("potion of healing", "potion of extra healing", "potion of full healing")
FREEZING_WANDS = ("wand of cold", "wand")
FREEZING_HORNS = ("frost horn", "a horn", "uncursed horn", "blessed horn")
"""What freezes lava, and what may: a wand or a horn that is not known to be another."""

# "(unpaid, 4 zorkmids)" and a name that was given say nothing of what a thing is.
_REMARK = re.compile(r" (?:\(.*|(?:named|called) .*)$")


def carried(scene: Scene, kinds: tuple[str, ...]) -> list[str]:
    """Letters of what is carried of some kinds, in the order of the kinds.

    A kind ends the description of a thing of it, so that a spear is no pear and an orange potion
    no orange.
    """
    things = [(letter, _REMARK.sub("", name)) for letter, name in scene.view.inventory]
    return [letter for kind in kinds for letter, name in things if _ending(kind).search(name)]


@cache
def _ending(kind: str) -> re.Pattern[str]:
    one_or_more = re.escape(kind).replace(r"\ of\ ", r"s?\ of\ ")
    return re.compile(rf"\b{one_or_more}s?$")
