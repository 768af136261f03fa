"""What is worth walking to, and what stands in the way."""

from __future__ import annotations

from orchestrator.models.heuristic.game import Decision
from orchestrator.models.heuristic.nethack.belongings import (
    FREEZING_HORNS,
    FREEZING_WANDS,
    carried,
)
from orchestrator.models.heuristic.nethack.scene import Scene
from orchestrator.models.heuristic.nethack.terrain import (
    CLOSED,
    DOOR,
    FREE,
    STEPS,
    WIDTH,
    number,
    place_of,
)

GUESS_EVERY = 8
"""Turns after which a player who remembers not even the last action tries to go down."""
FAR_FROM = 3
"""Steps in one direction that are worth a run."""

TRY, TRIES = 12, 5
"""Of so many spells of so many turns, one passes without a try to freeze lava."""
ACROSS = 8
"""Squares of lava that a ray may bridge."""

_NO_CHARGE = "Nothing happens"
_LAVA = "molten lava"
_LOCKED = ("This door is locked", "WHAMM", "door is locked")


def descend(scene: Scene) -> Decision | None:
    """Go to a known way down, and take it."""
    view, level = scene.view, scene.level
    if scene.can("down") and _stands_on_stairs(scene):
        return Decision("down", "descend")
    for place in level.down or scene.facts.ways_down:
        path = scene.ways.path(number(place))
        stairs = place in view.things.get("staircase down", ())
        # Who travels knows by the answer given last that the stairs, now hidden, are underfoot.
        if path and stairs and scene.can("travel") and not level.hostile:
            return Decision("travel", "descend")
        if path:
            return Decision(path[0], "descend")
    return None


def _stands_on_stairs(scene: Scene) -> bool:
    """The player's own sign hides the stairs: they are remembered, told of, or guessed."""
    view = scene.view
    if view.here in scene.facts.ways_down or "staircase down here" in view.message:
        return True
    if "can't go down here" in view.message or scene.level.down:
        return False
    return scene.last_action == "." or (not scene.last_action and view.turn % GUESS_EVERY == 0)


def break_door(scene: Scene) -> Decision | None:
    """Kick at a door that has just proved locked."""
    if not any(words in scene.view.message for words in _LOCKED) or not scene.can("kick"):
        return None
    return Decision("kick", "open the door") if door_beside(scene) else None


def door_beside(scene: Scene) -> str:
    """The direction of a closed door next to the player; empty without one."""
    squares = scene.level.squares
    order = sorted(STEPS, key=lambda word: word != scene.heading)
    for word in order:
        dx, dy = STEPS[word]
        if not (dx and dy) and squares[scene.here + dx + dy * WIDTH] == CLOSED:
            return word
    return ""


def freeze(scene: Scene) -> Decision | None:
    """Freeze lava that bars the way, with whatever may do it."""
    if _LAVA not in scene.view.things:
        return None
    command = "zap" if carried(scene, FREEZING_WANDS) else "apply"
    tool = command == "zap" or bool(carried(scene, FREEZING_HORNS))
    if not tool or not scene.can(command):
        return None
    # What has not frozen it yet may be no freezer at all: now and then the way is sought elsewhere.
    if _NO_CHARGE in scene.view.message or scene.mood(TRY, TRIES) == 0:
        return None
    if lava_ahead(scene):
        return Decision(command, "freeze the lava")
    banks = (
        (far, square)
        for square, far in scene.ways.distance.items()
        if square != scene.here and _barred(scene, square)
    )
    _, bank = min(banks, default=(0, scene.here))
    path = scene.ways.path(bank)
    return Decision(path[0], "go to the lava") if path else None


def lava_ahead(scene: Scene) -> str:
    """The direction in which lava next to the player keeps known ground out of reach."""
    return _barred(scene, scene.here)


def _barred(scene: Scene, square: int) -> str:
    glyph, squares, reached = scene.view.glyph, scene.level.squares, scene.ways.distance
    x, y = place_of(square)
    for word, (dx, dy) in STEPS.items():
        if (dx and dy) or glyph((x + dx, y + dy)) != "}":
            continue
        for step in range(2, ACROSS):
            place = x + step * dx, y + step * dy
            if glyph(place) == "}":
                continue
            beyond = number(place)
            if squares[beyond] == FREE and beyond not in reached:
                return word
            break
    return ""


def stride(scene: Scene, path: list[str]) -> str:
    """The next action along a path: a run where it leads far enough and nobody is near."""
    word = path[0]
    straight = next((at for at, step in enumerate(path) if step != word), len(path))
    if straight >= FAR_FROM and straight == len(path) and _ends_there(scene, word, straight):
        far = f"far_{word}"
        if scene.can(far) and not scene.level.hostile:
            return far
    return word


def _ends_there(scene: Scene, word: str, steps: int) -> bool:
    """Whether a run in that direction cannot lead past the end of the path."""
    dx, dy = STEPS[word]
    beyond = scene.here + (steps + 1) * (dx + dy * WIDTH)
    return scene.level.squares[beyond] not in (FREE, DOOR)
