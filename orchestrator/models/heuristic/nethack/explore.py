"""Where to go when no way on is known."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.models.heuristic.game import Decision
from orchestrator.models.heuristic.nethack.errands import stride
from orchestrator.models.heuristic.nethack.scene import OPPOSITE, Scene
from orchestrator.models.heuristic.nethack.terrain import (
    BLOCKED,
    DOOR,
    FREE,
    UNKNOWN,
    WIDTH,
    number,
    place_of,
)
from orchestrator.models.heuristic.nethack.ways import Ways

TURN_BACK = 8
"""What turning round is taken to cost, so that a player without memory goes on."""
PASSED_BY = 6
"""What a square counts more from which more than one way leads: most were walked past."""
DARK = 3
"""Unseen neighbors that make the floor of a dark room worth a visit."""
SEARCHES = 12
"""Searches after which a place is given up; each finds what is next to it one time in seven."""
FORGETFUL = 8
"""Fewer remembered places than that are as good as none."""
WAVERING = 40
"""Moves by which a forgetful player may prefer one place to another, for a spell: or it would go to
and fro between the two nearest for ever."""
PUSH_EVERY = 3
"""Of so many spells, boulders are pushed in one."""
BREAK_OUT = 3
"""One of so many actions goes anywhere while the prompt warns of circles."""
SPELL = 24
"""Turns for which a player who remembers nothing searches on at one place."""


def explore(scene: Scene) -> Decision:
    """One step into the unknown, or a search where nothing unknown is left."""
    if scene.facts.warning and scene.chance % BREAK_OUT == 0:
        return Decision(_any_way(scene), "break out")
    path = _into_the_unknown(scene, scene.ways)
    if path:
        return Decision(stride(scene, path), "explore")
    # A boulder may bar the way, and pushing it may bar it for good: now the one, now the other.
    if scene.mood(SPELL, PUSH_EVERY) == 0:
        path = _into_the_unknown(scene, scene.pushing)
        if path:
            return Decision(path[0], "push on")
    return _search(scene)


def _into_the_unknown(scene: Scene, ways: Ways) -> list[str]:
    """The way to the best square from which something new may be seen."""
    best, chosen = 1 << 30, []
    wavers = len(scene.facts.visited) < FORGETFUL
    for square, far in _frontier(scene, ways):
        if far >= best:
            continue
        if wavers:
            far += scene.whim(square, SPELL) % WAVERING
        if far < best:
            path = ways.path(square)
            far += TURN_BACK if path[0] == OPPOSITE.get(scene.heading) else 0
            if far < best:
                best, chosen = far, path
    return chosen


def _frontier(scene: Scene, ways: Ways) -> Iterator[tuple[int, int]]:
    """Squares from which something new may be seen, with the moves that each counts for."""
    squares, facts = scene.level.squares, scene.facts
    unknown, openings = scene.unknown, scene.openings
    least = 1 if facts.visited else DARK
    done = {number(place) for place in facts.visited | facts.dead_ends}
    done.add(scene.here)
    for square, far in ways.distance.items():
        if not unknown[square] or square in done:
            continue
        if openings[square] <= 1 or squares[square] == DOOR:
            yield square, far
        elif unknown[square] >= least:
            yield square, far + PASSED_BY


def _search(scene: Scene) -> Decision:
    """Look for hidden doors and passages where one is most likely."""
    spots = sorted(_spots(scene))
    if not spots:
        return Decision(_any_way(scene), "wander")
    goal = _least_searched(scene, spots) if _remembers(scene) else _by_mood(scene, spots)
    if goal == scene.here:
        return Decision("search" if scene.can("search") else _any_way(scene), "search")
    path = scene.ways.path(goal)
    return Decision(stride(scene, path) if path else _any_way(scene), "search")


def _remembers(scene: Scene) -> bool:
    return bool(scene.facts.visited or scene.facts.searched)


def _least_searched(scene: Scene, spots: list[tuple[bool, int]]) -> int:
    """The nearest of the places that were searched least, dead ends first."""
    searched, distance = scene.facts.searched, scene.ways.distance
    return min(
        (searched.get(place_of(square), 0) // SEARCHES + wall, distance[square], square)
        for wall, square in spots
    )[2]


def _by_mood(scene: Scene, spots: list[tuple[bool, int]]) -> int:
    """One place for some turns, then another, so that none is searched for ever."""
    ends = [square for wall, square in spots if not wall]
    among = ends if ends and scene.mood(SPELL, 3) else [square for _, square in spots]
    return among[scene.mood(SPELL, len(among))]


def _spots(scene: Scene) -> Iterator[tuple[bool, int]]:
    """Places worth a search: dead ends, and those along walls behind which there is room."""
    squares = scene.level.squares
    for square in scene.ways.distance:
        if squares[square] != FREE:
            continue
        if scene.openings[square] <= 1:
            yield False, square
        elif scene.walls[square] >= 3 and _beyond(scene, square):
            yield True, square


def _beyond(scene: Scene, square: int) -> bool:
    for dx, dy in ((0, -1), (1, 0), (0, 1), (-1, 0)):
        step = dx + dy * WIDTH
        x, y = place_of(square + 3 * step)
        if (
            scene.level.squares[square + step] == BLOCKED
            and 2 < x < 77
            and 1 < y < 20
            and scene.level.squares[square + 2 * step] == UNKNOWN
        ):
            return True
    return False


def _any_way(scene: Scene) -> str:
    """Some step that can be taken, by chance."""
    free = scene.steps()
    if not free:
        return "search" if scene.can("search") else "escape"
    return free[scene.chance // BREAK_OUT % len(free)]
