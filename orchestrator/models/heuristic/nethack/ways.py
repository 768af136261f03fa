"""Ways over a level: how far every square is, and the first step there."""

from __future__ import annotations

from collections.abc import Collection
from heapq import heappop, heappush

from orchestrator.models.heuristic.nethack.terrain import (
    BLOCKED,
    CLOSED,
    DOOR,
    FREE,
    HEIGHT,
    PET,
    RISKY,
    ROCK,
    STEPS,
    UNKNOWN,
    WIDTH,
)

_COST = {FREE: 1, DOOR: 1, PET: 2, CLOSED: 4, RISKY: 12, ROCK: 8}
_CLOSED_TO_ALL = (UNKNOWN, BLOCKED)
_STRAIGHT = (DOOR, CLOSED, ROCK)
_MOVES = tuple((word, dx + dy * WIDTH, bool(dx and dy)) for word, (dx, dy) in STEPS.items())
AROUND = tuple(offset for _, offset, _ in _MOVES)
"""Offsets of the eight neighbors, straight ones first."""


class Ways:
    """Shortest ways from one square.

    Args:
        squares: What each square is.
        start: The square to start from.
        shut: Squares that may not be entered, whatever they are.
        straight_only: The player cannot step diagonally.
    """

    def __init__(
        self,
        squares: bytes,
        start: int,
        shut: Collection[int] = (),
        *,
        straight_only: bool = False,
    ) -> None:
        self._came: dict[int, tuple[int, str]] = {}
        self.distance = {start: 0}
        heap = [(0, start)]
        distance, came = self.distance, self._came
        while heap:
            far, square = heappop(heap)
            if far > distance[square]:
                continue
            straight = straight_only or squares[square] in _STRAIGHT
            for word, offset, diagonal in _MOVES:
                other = square + offset
                kind = squares[other]
                if kind in _CLOSED_TO_ALL or other in shut:
                    continue
                if diagonal and (straight or kind in _STRAIGHT):
                    continue
                cost = far + _COST[kind]
                if cost < distance.get(other, 1 << 30):
                    distance[other] = cost
                    came[other] = square, word
                    heappush(heap, (cost, other))
        self._start = start

    def path(self, goal: int) -> list[str]:
        """The steps to a square, empty if it is the start or cannot be reached."""
        steps = []
        while goal != self._start and goal in self._came:
            goal, word = self._came[goal]
            steps.append(word)
        return steps[::-1]


def is_inside(square: int) -> bool:
    """Whether a square belongs to the map and not to the border."""
    return 0 < square % WIDTH < WIDTH - 1 and 0 < square // WIDTH < HEIGHT - 1
