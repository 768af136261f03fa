"""What a player of a MiniHack task is told before the first move."""

from __future__ import annotations

from envs.minihack.tasks import DOORS, EVERYTHING, PUSH, Task
from envs.nethack.instructions import READING

_MOVING = {
    DOORS: "Walking into a closed door opens it if it is not locked; kick, then a direction,"
    " breaks one that is. You cannot move diagonally through a doorway. search looks for hidden"
    " doors and passages next to you.",
    EVERYTHING: "zap or apply asks which thing and in which direction. pickup takes what lies"
    " where you stand. You cannot move diagonally through a doorway.",
    PUSH: "",
}


def instructions(task: Task) -> str:
    """The goal, how to read the text, how to move.

    Args:
        task: The task.
    """
    moving = (
        "north, northeast, east, ... take one step. Walking into a creature attacks it."
        if task.actions != PUSH
        else "north, east, south, west take one step or push."
    )
    rules = " ".join(filter(None, [moving, _MOVING.get(task.actions, "")]))
    return (
        f"You play a task in NetHack's world. {task.goal} Progression is 1 if you succeed and 0 if"
        f" you do not; dying or running out of actions is failing.\n\n{READING}\n\n{rules}"
        " escape leaves any question or menu."
    )
