"""The tasks: which class of MiniHack's each is, what may be done in it and what must be.

Nothing is imported from MiniHack here, so that the list can be read where it is not installed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

WALK = "walk"
DOORS = "doors"
EVERYTHING = "everything"
PUSH = "push"

_STAIRS = "Reach the staircase down (>): stepping on it wins."


@dataclass(frozen=True, slots=True)
class Task:
    """One task.

    Args:
        name: Its name in our ids, ``"mazewalk-9x9"``.
        module: Module of MiniHack's that defines it.
        kind: Its class there.
        actions: What may be done: `WALK`, `DOORS`, `EVERYTHING` or `PUSH`.
        goal: What wins, in a sentence or two.
        levels: Name of the Boxoban level set it needs; empty for none.
    """

    name: str
    module: str
    kind: str
    actions: str
    goal: str
    levels: str = ""

    @property
    def id(self) -> str:
        """The environment's id."""
        return f"minihack/{self.name}-v1"


_PUZZLE = (
    "Push every boulder onto a fountain. You push by walking into a boulder; you cannot pull, nor"
    " push two at once. You walk north, east, south and west only; iron bars (#) are the walls."
)
TASKS: Mapping[str, Task] = MappingProxyType(
    {
        task.name: task
        for task in (
            Task("mazewalk-9x9", "mazewalk", "MiniHackMazeWalk9x9", WALK, f"A maze. {_STAIRS}"),
            Task("mazewalk-15x15", "mazewalk", "MiniHackMazeWalk15x15", WALK, f"A maze. {_STAIRS}"),
            Task(
                "corridor-r3",
                "corridor",
                "MiniHackCorridor3",
                DOORS,
                f"Three rooms with corridors between them, some doors closed or hidden. {_STAIRS}",
            ),
            Task(
                "corridorbattle-dark",
                "fightcorridor",
                "MiniHackFightCorridorDark",
                WALK,
                "A dark room to the west, a corridor, and a dark hall to the east with giant rats;"
                f" in the corridor they come one at a time. {_STAIRS}",
            ),
            Task(
                "quest-easy",
                "skills_quest",
                "MiniHackQuestEasy",
                EVERYTHING,
                "Cross the river of lava (}) with the wand or the horn that lies near you: either"
                f" freezes it. Then pass the creatures and go on to the east. {_STAIRS}",
            ),
            Task(
                "quest-medium",
                "skills_quest",
                "MiniHackQuestMedium",
                EVERYTHING,
                "Go east through the corridor, fight the giant rats that come, and cross the lava"
                f" (}}) with the wand or the horn that lies near you: either freezes it. {_STAIRS}",
            ),
            Task("boxoban-medium", "boxohack", "BoxoHack", PUSH, _PUZZLE, levels="medium"),
            Task("boxoban-hard", "boxohack", "BoxoHack", PUSH, _PUZZLE, levels="hard"),
        )
    }
)
