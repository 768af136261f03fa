"""How fast is `crafter-v1` as text?

Three players take the same random actions, in turns, in one process:

- ``text``: `crafter-v1`, each step with its observation;
- ``unrendered``: crafter's own ``Env.step`` with the picture left out and no text made: the named
  baseline, which has less to do;
- ``rendered text``: crafter's own ``Env.step`` with its picture, and a text made from the map of
  the whole world in ``info``, the way text wrappers of Crafter usually work.

Episodes that end are begun again off the clock; what a reset costs is measured apart. Run it with
``python -m benchmarks.crafter_speed [--steps N] [--rounds N] [--json]``.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from collections.abc import Callable
from typing import Any

import crafter
import numpy as np

from benchmarks.machine import describe
from envs.crafter import cache
from envs.registry import make

TEXT, UNRENDERED, RENDERED = "text", "unrendered", "rendered text"
SEED = 1
Play = Callable[[list[str]], float]


class _Unrendered(crafter.Env):  # type: ignore[misc]
    def _obs(self) -> None:
        return None


class _SemanticText:
    """A text from crafter's picture environment: crop the map of the world, name what is in it."""

    _NAMES = (
        "nothing", *crafter.constants.materials,
        "player", "cow", "zombie", "skeleton", "arrow", "plant",
    )  # fmt: skip

    def __init__(self) -> None:
        self._env = crafter.Env(seed=SEED)

    def reset(self) -> None:
        self._env.reset()

    def step(self, action: int) -> tuple[str, bool]:
        _, _, done, info = self._env.step(action)
        return self._describe(info), done

    def _describe(self, info: dict[str, Any]) -> str:
        x, y = info["player_pos"]
        padded = np.pad(info["semantic"], ((4, 4), (3, 3)))
        view = padded[x : x + 9, y : y + 7]
        seen: list[str] = []
        for code in np.unique(view):
            cells = np.argwhere(view == code) - np.array([4, 3])
            dx, dy = cells[np.abs(cells).sum(axis=1).argmin()]
            east_west = "east" if dx > 0 else "west" if dx < 0 else ""
            north_south = "south" if dy > 0 else "north" if dy < 0 else ""
            steps = abs(dx) + abs(dy)
            seen.append(f"- {self._NAMES[code]} {steps} steps to your {north_south}{east_west}")
        status = [f"- {name}: {amount}" for name, amount in info["inventory"].items() if amount]
        return "You see:\n" + "\n".join(seen) + "\nYou have:\n" + "\n".join(status)


def _text_player() -> Play:
    environment = make("crafter-v1")
    environment.reset(SEED)

    def play(actions: list[str]) -> float:
        spent = 0.0
        for action in actions:
            start = time.perf_counter()
            done = environment.step(action).done
            spent += time.perf_counter() - start
            if done:
                environment.reset(SEED)
        return spent

    return play


def _crafter_player(env: Any) -> Play:
    env.reset()
    numbers = {name: number for number, name in enumerate(crafter.constants.actions)}

    def play(actions: list[str]) -> float:
        spent = 0.0
        for action in actions:
            number = numbers[action]
            start = time.perf_counter()
            result = env.step(number)
            spent += time.perf_counter() - start
            if result[1] if len(result) == 2 else result[2]:
                env.reset()
        return spent

    return play


def measure_steps(steps: int, rounds: int) -> dict[str, list[float]]:
    """Let the three players play in turns.

    Args:
        steps: Actions of one player in one round.
        rounds: Rounds, each begun by another player.

    Returns:
        Steps per second of each round by player.
    """
    players = {
        TEXT: _text_player(),
        UNRENDERED: _crafter_player(_Unrendered(seed=SEED)),
        RENDERED: _crafter_player(_SemanticText()),
    }
    rates: dict[str, list[float]] = {name: [] for name in players}
    draw = random.Random(0)
    order = list(players)
    for number in range(rounds):
        actions = draw.choices(crafter.constants.actions, k=steps)
        turn = number % len(order)
        for name in order[turn:] + order[:turn]:
            rates[name].append(steps / players[name](actions))
    return rates


def measure_resets(count: int) -> dict[str, float]:
    """Measure what a reset costs.

    Args:
        count: Resets of each sort, of which the median counts.

    Returns:
        Seconds by sort.
    """
    environment = make("crafter-v1")
    cache.world_at_start.cache_clear()
    cache._generate.cache_clear()
    stock = crafter.Env(seed=SEED)
    spent: dict[str, list[float]] = {"crafter.Env": [], "first": [], "kept": []}
    for seed in range(count):
        for name, reset in (
            ("crafter.Env", stock.reset),
            ("first", lambda seed=seed: environment.reset(seed)),
            ("kept", lambda seed=seed: environment.reset(seed)),
        ):
            start = time.perf_counter()
            reset()
            spent[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in spent.items()}


def report(steps: int, rounds: int) -> dict[str, Any]:
    """Measure everything.

    Args:
        steps: Actions of one player in one round.
        rounds: Rounds.

    Returns:
        Machine, versions, rates, ratios against ``unrendered`` and seconds a reset.
    """
    rates = measure_steps(steps, rounds)
    ratios = {
        name: statistics.median(
            own / base for own, base in zip(rates[name], rates[UNRENDERED], strict=True)
        )
        for name in rates
    }
    return {
        "machine": describe(),
        "versions": dict(make("crafter-v1").versions),
        "steps": steps,
        "rounds": rounds,
        "steps_per_second": {name: statistics.median(values) for name, values in rates.items()},
        "ratio_to_unrendered": ratios,
        "reset_seconds": measure_resets(5),
    }


def main() -> None:
    """Print the measurement."""
    parser = argparse.ArgumentParser(description="Speed of crafter-v1 as text.")
    parser.add_argument("--steps", type=int, default=600, help="actions a player and round")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    if asked.steps < 1 or asked.rounds < 1:
        parser.error("--steps and --rounds must be at least 1")
    found = report(asked.steps, asked.rounds)
    if asked.json:
        print(json.dumps(found, indent=2))
        return
    print(", ".join(f"{name} {value}" for name, value in found["machine"].items()))
    print(", ".join(f"{name} {value}" for name, value in found["versions"].items()))
    print(f"{asked.rounds} rounds of {asked.steps} steps, medians:")
    for name, rate in found["steps_per_second"].items():
        ratio = found["ratio_to_unrendered"][name]
        print(f"  {name:<14} {rate:>9,.0f} steps/s   {ratio:6.2f} x unrendered")
    text, rendered = (found["ratio_to_unrendered"][name] for name in (TEXT, RENDERED))
    print(f"  text is {text / rendered:.0f} x rendered text")
    for name, seconds in found["reset_seconds"].items():
        print(f"  reset, {name:<12} {seconds * 1000:>9,.2f} ms")


if __name__ == "__main__":
    main()
