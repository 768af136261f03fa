"""A process of its own that plays trials and prints their digests, for the tests of determinism.

``python -m tests.envs.trial '{"ids": [...], "without": "seeds"}'``. ``without`` takes one of the
fixes out before anything is played, so that a test can see the promise break.
"""

from __future__ import annotations

import functools
import hashlib
import json
import random
import sys
from typing import Any

from envs.determinism import digest_of
from envs.registry import make

WALK = ("north", "east", "south", "west", "northeast", "southeast", "southwest", "northwest")
RISKS = ("fight", "kick", "pray", "eat", "y", "a", "escape", "down", "search")


def main(asked: dict[str, Any]) -> dict[str, str]:
    """Play what was asked for.

    Args:
        asked: ``ids`` to play; ``seed``, ``steps``; ``warm_up`` episodes of other seeds to play
            before in the same instance; ``ballast`` objects to put on the heap first; ``until``
            ``death`` to play one NetHack game to its end; ``without`` a fix.

    Returns:
        A digest for each id.
    """
    ballast = [bytearray(index % 509 + 1) for index in range(asked.get("ballast", 0))]
    del ballast[::3]  # holes, so that later objects land in another order
    if fix := asked.get("without"):
        WITHOUT[fix]()
    seed, steps = asked.get("seed", 0), asked.get("steps", 150)
    found = {}
    for name in asked["ids"]:
        environment = make(name)
        for other in range(asked.get("warm_up", 0)):
            digest_of(environment, seed + 1_000 + other, 50)
        if asked.get("until") == "death":
            found[name] = digest_of_a_death(environment, seed)
        else:
            found[name] = digest_of(environment, seed, steps)
        environment.close()
    return found


def digest_of_a_death(environment: Any, seed: int) -> str:
    """Blunder about until the game is over; the digest of its last text and of its record."""
    environment.reset(seed)
    draw = random.Random(seed)
    for _ in range(3_000):
        among = WALK if draw.random() < 0.9 else RISKS
        step = environment.step(among[int(draw.random() * len(among))])
        if step.done:
            assert step.outcome == "died"
            told = step.observation.text + json.dumps(environment.details())
            return hashlib.sha256(told.encode()).hexdigest()
    raise AssertionError(f"seed {seed} is still alive")


# --- each fix, taken out -------------------------------------------------------------------------


def _members() -> None:
    """Crafter's own set of the members of a chunk."""
    from envs.crafter.world import World

    World.members = set  # type: ignore[assignment, misc]


def _seeds() -> None:
    """What MiniHack's and NLE's documentation suggests: ``reset(seed=...)``."""

    def begin(self: Any, seed: int) -> Any:
        self.succeeded = self.over = False
        self._native.opening.clear()
        try:
            self._native.reset(seed=seed)
        except TypeError:  # Boxoban's takes none
            self._native.reset()
        return self._read(list(self._native.opening))

    from envs.nethack.game import Game

    Game.begin = begin  # type: ignore[method-assign]


def _moon() -> None:
    """The phase of the moon, from the clock."""
    from envs.nethack.native import NLE

    original = NLE.__init__

    @functools.wraps(original)
    def begin(self: Any, *args: Any, **options: Any) -> None:
        assert options.pop("fix_moon_phase")
        original(self, *args, **options)

    NLE.__init__ = begin


def _closing() -> None:
    """Closing unseen what follows a death: its pages are read and shown."""
    from envs.nethack.game import Game

    original = Game.finish

    def read(self: Any, said: list[str]) -> Any:
        screen = reading(self, said)
        pages = []
        done = not self.over
        while not done:
            rows = self.terminal()[0]
            pages.append("\n".join(bytes(row).decode("latin-1").rstrip() for row in rows))
            done = self._native.nethack.step(13)[1]
        return type(screen)(
            **{name: getattr(screen, name) for name in screen.__slots__ if name != "said"},
            said=(*screen.said, *pages),
        )

    def finish(self: Any) -> tuple[str, str]:
        step, self._native.nethack.step = self._native.nethack.step, lambda key: (None, True)
        try:
            return original(self)
        finally:
            self._native.nethack.step = step

    reading = Game._read
    Game._read = read  # type: ignore[method-assign]
    Game.finish = finish  # type: ignore[method-assign]


def _levels() -> None:
    """A Boxoban level from Python's shared generator, as MiniHack draws it."""
    from envs.minihack.boxoban import _PuzzleGame
    from envs.nethack.game import Game

    def begin(self: Any, seed: int) -> Any:
        self._native.level = self._levels.level(random.randrange(self._levels.count))
        return Game.begin(self, seed)

    _PuzzleGame.begin = begin  # type: ignore[method-assign]


WITHOUT = {
    "levels": _levels,
    "members": _members,
    "seeds": _seeds,
    "moon": _moon,
    "closing": _closing,
}

if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(json.loads(sys.argv[1]))) + "\n")
