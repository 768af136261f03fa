"""What the prompt claims beyond the observation."""

from __future__ import annotations

from dataclasses import dataclass

Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Beliefs:
    """What trackers and notes in the prompt said; everything may be missing.

    Args:
        position: Where the player is, relative to the start, x to the right and y down.
        done: Achievements known to be unlocked. None: nothing is known about them; then, as for
            a name that is missing, the achievement is taken to be still open.
        places: Remembered places as ``(kind, (x, y))`` in the coordinates of `position`.
        explored: Sectors the player has been in, see `sector`.
        warning: The prompt says that the player is going round in circles.
        step: How many steps have been played.
    """

    position: Place | None = None
    done: frozenset[str] | None = None
    places: tuple[tuple[str, Place], ...] = ()
    explored: frozenset[Place] = frozenset()
    warning: bool = False
    step: int | None = None


NOTHING_KNOWN = Beliefs()


def sector(position: Place) -> Place:
    """The block of 9 by 7 cells that a position lies in; the start is the middle of (0, 0)."""
    return (position[0] + 4) // 9, (position[1] + 3) // 7
