"""Steps per second of every environment, bare and with the agent.

For each environment that can be played here three figures, taken in turns so that a machine that
changes its speed changes it for all:

- ``native``: the game as its package gives it, without a text, under the same actions: crafter's
  ``Env.step`` without its picture, NLE's ``step`` with the observations that our text is made from;
- ``text``: our environment, each step with its observation;
- ``agent``: whole episodes through the real player, with the family's seed scaffold in the process
  sandbox and the heuristic model, starts of the sandbox included.

Games that end are begun again off the clock, but for ``agent``. Run it with
``python -m benchmarks.environments [--steps N] [--rounds N] [--json] [NAME ...]``.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import crafter

from benchmarks.machine import describe
from envs.minihack.native import task_class
from envs.minihack.tasks import TASKS
from envs.nethack.keys import KEYS
from envs.nethack.native import NLE
from envs.nethack.screen import OBSERVED
from envs.registry import SUITES, family, make, select
from orchestrator.config import Config
from orchestrator.episodes.job import run_job
from orchestrator.episodes.planner import EpisodePlanner
from orchestrator.scaffolds.trees import hash_tree, read_folder
from orchestrator.workspace import seed_scaffolds

NATIVE, TEXT, AGENT = "native", "text", "agent"
Play = Callable[[Sequence[str]], float]


class _Unrendered(crafter.Env):  # type: ignore[misc]
    def _obs(self) -> None:
        return None


def _native(name: str) -> Play:
    """The package's own environment under our names for actions."""
    if family(name) == "crafter":
        game: Any = _Unrendered(seed=1)
        numbers = {action: number for number, action in enumerate(crafter.constants.actions)}
        game.reset()
        return _player(game.reset, lambda action: bool(game.step(numbers[action])[1]))
    options: dict[str, Any] = {
        "observation_keys": OBSERVED,
        "allow_all_yn_questions": True,
        "allow_all_modes": True,
        "max_episode_steps": 10**9,
    }
    keys = tuple(dict.fromkeys(KEYS[action] for action in make(name).actions))
    index = {action: keys.index(key) for action, key in KEYS.items() if key in keys}
    kind: type[Any] = NLE
    if family(name) == "minihack":
        task = TASKS[name.partition("/")[2].rpartition("-v")[0]]
        kind = task_class(task.module, task.kind)
    else:
        options["character"] = "@"
    game = kind(actions=keys, **options)

    def reset() -> None:
        game.seed(core=1, disp=1, reseed=False, lgen=1)
        game.reset()

    reset()
    return _player(reset, lambda action: bool(game.step(index[action])[2]))


def _text(name: str) -> Play:
    environment = make(name)
    environment.reset(1)
    return _player(lambda: environment.reset(1), lambda action: environment.step(action).done)


def _player(reset: Callable[[], object], step: Callable[[str], bool]) -> Play:
    def play(actions: Sequence[str]) -> float:
        spent = 0.0
        for action in actions:
            start = time.perf_counter()
            done = step(action)
            spent += time.perf_counter() - start
            if done:
                reset()
        return spent

    return play


def _agent(name: str, artifacts: Path, steps: int, seed: int) -> float:
    """Steps per second of one episode through the player."""
    folder = seed_scaffolds() / family(name)
    planner = EpisodePlanner.make(Config(sandbox="process"), artifacts, name, steps=steps)
    (job,) = planner.jobs(folder, hash_tree(read_folder(folder)), [seed], author="")
    start = time.perf_counter()
    result = run_job(job)
    return result.steps / (time.perf_counter() - start)


def measure(name: str, steps: int, rounds: int) -> dict[str, float]:
    """The three rates of one environment.

    Args:
        name: Its id.
        steps: Actions in one round; an episode's limit for ``agent``.
        rounds: Rounds, of which the median counts.

    Returns:
        Steps per second by player, and the ratios of ``text`` to ``native`` and of ``agent`` to
        ``text``.
    """
    players = {NATIVE: _native(name), TEXT: _text(name)}
    moves = make(name).actions[:8]  # no key that asks a question
    rates: dict[str, list[float]] = {NATIVE: [], TEXT: [], AGENT: []}
    draw = random.Random(0)
    with tempfile.TemporaryDirectory() as scratch:
        _agent(name, Path(scratch), 5, 0)  # builds the bundle, imports what is imported late
        for number in range(rounds):
            actions = draw.choices(moves, k=steps)
            order = (NATIVE, TEXT) if number % 2 else (TEXT, NATIVE)
            for player in order:
                rates[player].append(steps / players[player](actions))
            rates[AGENT].append(_agent(name, Path(scratch), steps, number + 1))
    found = {player: statistics.median(values) for player, values in rates.items()}
    found["text_to_native"] = statistics.median(
        ours / theirs for ours, theirs in zip(rates[TEXT], rates[NATIVE], strict=True)
    )
    found["agent_to_text"] = statistics.median(
        ours / theirs for ours, theirs in zip(rates[AGENT], rates[TEXT], strict=True)
    )
    return found


def main() -> None:
    """Print the measurement."""
    parser = argparse.ArgumentParser(description="Steps per second of every environment.")
    parser.add_argument("names", nargs="*", help="environments or suites; default: all")
    parser.add_argument("--steps", type=int, default=300, help="actions a player and round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    if asked.steps < 2 or asked.rounds < 1:
        parser.error("--steps must be at least 2, --rounds at least 1")
    wanted = asked.names or ["crafter", "nethack", *SUITES]
    names = [one for name in wanted for one in select(name).ids if "boxoban" not in one]
    found = {name: measure(name, asked.steps, asked.rounds) for name in names}
    if asked.json:
        print(json.dumps({"machine": describe(), "environments": found}, indent=2))
        return
    print(", ".join(f"{name} {value}" for name, value in describe().items()))
    print(f"{asked.rounds} rounds of {asked.steps} steps, medians, steps/s:")
    print(f"{'':32}{'native':>10}{'text':>9}{'agent':>8}   text/native  agent/text")
    for name, rates in found.items():
        shown = f"{rates[NATIVE]:>10,.0f}{rates[TEXT]:>9,.0f}{rates[AGENT]:>8,.0f}"
        ratios = f"{rates['text_to_native']:>14.2f}{rates['agent_to_text']:>12.3f}"
        print(f"{name:32}{shown}{ratios}")


if __name__ == "__main__":
    main()
