"""Ways over a level: how far every square is, and the first step there."""

from __future__ import annotations

from collections.abc import Collection

from orchestrator.models.heuristic.nethack.terrain import (
    CLOSED,
    DOOR,
    FREE,
    PET,
    RISKY,
    ROCK,
    STEPS,
    WIDTH,
)

_FAR = 1 << 30
_COST = {FREE: 1, DOOR: 1, PET: 2, CLOSED: 4, RISKY: 12, ROCK: 8}
_STRAIGHT = (DOOR, CLOSED, ROCK)
# What a step onto each kind of square costs, straight and diagonally; 0 where there is none.
_ENTERING = bytes(_COST.get(kind, 0) for kind in range(256))
_CUTTING = bytes(0 if kind in _STRAIGHT else _COST.get(kind, 0) for kind in range(256))
AROUND = tuple(dx + dy * WIDTH for dx, dy in STEPS.values())
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
        entering = bytearray(squares.translate(_ENTERING))
        cutting = bytearray(squares.translate(_CUTTING))
        for square in shut:
            entering[square] = cutting[square] = 0
        moves = tuple(zip(STEPS, AROUND, 4 * (entering,) + 4 * (cutting,), strict=True))
        self._start = start
        self._came: dict[int, tuple[int, str]] = {}
        self.distance = {start: 0}
        distance, came = self.distance, self._came
        # Costs are small: squares wait in a ring for each distance, and no heap is needed.
        rings, far = {0: [start]}, 0
        while rings:
            for square in rings.pop(far, ()):
                if far > distance[square]:
                    continue
                bound = straight_only or squares[square] in _STRAIGHT
                for word, offset, costs in moves[:4] if bound else moves:
                    other = square + offset
                    cost = costs[other]
                    if cost and far + cost < distance.get(other, _FAR):
                        distance[other] = far + cost
                        came[other] = square, word
                        rings.setdefault(far + cost, []).append(other)
            far += 1

    def path(self, goal: int) -> list[str]:
        """The steps to a square, empty if it is the start or cannot be reached."""
        steps = []
        while goal != self._start and goal in self._came:
            goal, word = self._came[goal]
            steps.append(word)
        return steps[::-1]
