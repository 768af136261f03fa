"""The rules of Crafter and the legend of the map, for the system prompt.

Every amount is read from crafter's own table of rules, so that the text cannot disagree with the
game that is installed.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

from envs.crafter import native
from envs.crafter.text import LEGEND, VITALS

_FRAME = """\
You play Crafter, a survival game on a map of 64 by 64 cells seen from above. Stay alive and \
unlock as many of the {count} achievements as you can, each once; progression is the share \
unlocked. The game ends when you die.

What you see: the cell you stand on and the cell you face, the four cells next to you, the \
nearest cell of each kind in view, and a map of 9 columns by 7 rows with you (@) in the middle. \
A creature or plant hides the ground it stands on.
Legend: {legend}.

Actions: {actions}.
- move_left, move_right, move_up, move_down: turn that way and step there if the cell is free. \
You can walk on {walkable}. Walking into lava kills.
- do: act on the cell you face: collect a material, drink water, hit a creature, eat a ripe plant.
- sleep: sleep until energy is full or you are hurt. Only when energy is below {energy}. While \
you sleep every action is replaced by sleep. Waking up rested unlocks wake_up.
- place_*: puts the thing on the cell you face, which must be free. make_*: needs what it says \
within one cell of you, diagonals included.
- noop: wait.

Collect (do):
{collect}
Place:
{place}
Make:
{make}

Creatures: a cow gives 6 food when killed (eat_cow). Zombies appear on grass, more of them at \
night; one next to you hits for 2, or for 7 while you sleep, then not for 5 steps. Skeletons \
appear on paths in caves and shoot arrows that take 2; an arrow also destroys a table or furnace \
it hits. A cow and a skeleton have 3 health, a zombie 5. Your hit takes 1, with a wood_sword 2, a \
stone_sword 3, an iron_sword 5. A planted sapling is ripe after 300 steps unless a creature comes \
next to it and eats it; only then eat it: 4 food (eat_plant).
Vitals ({vitals}) go from 0 to {energy}. Awake you lose 1 food every 26 steps, 1 drink every 21, \
1 energy every 31; asleep food and drink fall half as fast and energy rises by 1 every 11 steps. \
While food, drink or energy is 0 you lose 1 health every 16 steps; otherwise you gain 1 every 26, \
asleep every 13. You carry at most {most} of each thing.
A day has 300 steps; it is night from about step 150 to step 270 of each. To sleep safely, put \
stone on every free cell next to you first.

Achievements: {achievements}.\
"""


@functools.cache
def instructions() -> str:
    """The rules and the legend; the same text every time.

    Returns:
        Plain text of some forty lines.
    """
    rules = native.constants
    return _FRAME.format(
        count=len(rules.achievements),
        legend=", ".join(f"{glyph} {kind}" for glyph, kind in LEGEND),
        actions=", ".join(rules.actions),
        walkable=_series(rules.walkable),
        energy=rules.items["energy"]["max"],
        collect="\n".join(_collect(name) for name in rules.collect),
        place="\n".join(_place(name) for name in rules.place),
        make="\n".join(_make(name) for name in rules.make),
        vitals=", ".join(VITALS),
        most=rules.items["wood"]["max"],
        achievements=", ".join(rules.achievements),
    )


def _collect(name: str) -> str:
    rule = native.constants.collect[name]
    gains = _amounts(rule["receive"])
    chance = rule.get("probability", 1)
    odds = f" with a chance of {chance * 100:.0f} in 100" if chance < 1 else ""
    needs = f", needs {_series(list(rule['require']))}" if rule["require"] else ""
    leaves = "" if rule["leaves"] == name else f", leaves {rule['leaves']}"
    return f"- {name}: gives {gains}{odds}{needs}{leaves}"


def _place(name: str) -> str:
    rule = native.constants.place[name]
    return f"- place_{name}: uses {_amounts(rule['uses'])}; on {_series(rule['where'], 'or')}"


def _make(name: str) -> str:
    rule = native.constants.make[name]
    return f"- make_{name}: uses {_amounts(rule['uses'])}; near a {_series(rule['nearby'])}"


def _amounts(amounts: Mapping[str, int]) -> str:
    return ", ".join(f"{amount} {name}" for name, amount in amounts.items())


def _series(words: Sequence[str], last: str = "and") -> str:
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {last} {words[-1]}"
