"""Does a seed mean one thing on this machine?

A trial plays a fixed pseudo-random sequence of actions and digests everything the agent could see
and the progression. `check_determinism` runs the same trial in fresh processes that differ in what
must not matter (the seed of string hashing, the layout of the heap, the date where ``faketime`` is
installed, what the instance played before) and compares.

Run by hand: ``python -m envs.determinism crafter-v1 --seed 0 --steps 300``.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from envs.base import Environment
from envs.registry import make, resolve

TIMEOUT_S = 120.0
"""How long one process of the check may take."""

MOVES = 8
"""How many of the first actions are drawn more often."""

NEW_MOON, FULL_MOON = "2026-11-10 12:00:00", "2026-11-24 03:00:00"
"""Dates on which luck and the first message of a game by the clock differ from each other's."""


@dataclass(frozen=True, slots=True)
class DeterminismCheck:
    """What the check found.

    Args:
        environment_id: The environment that was tried.
        ok: All processes gave the same digest.
        digests: The digest of each process that gave one, in order.
        sentence: What was found, for a person.
    """

    environment_id: str
    ok: bool
    digests: tuple[str, ...]
    sentence: str


@dataclass(frozen=True, slots=True)
class _Variant:
    hash_seed: str
    ballast: int
    warm_up: int
    date: str


_VARIANTS = (
    _Variant(hash_seed="0", ballast=0, warm_up=0, date=NEW_MOON),
    _Variant(hash_seed="1", ballast=50_003, warm_up=1, date=FULL_MOON),
    _Variant(hash_seed="2", ballast=200_017, warm_up=0, date=""),
)


def digest_trial(environment_id: str, seed: int, steps: int) -> str:
    """Play a fixed sequence of actions in a new instance and digest the stream.

    Args:
        environment_id: The environment.
        seed: The first episode's seed; when it ends early the next seed follows.
        steps: Actions to play.

    Returns:
        SHA-256 over every text and progression, in hexadecimal.
    """
    environment = make(environment_id)
    try:
        return digest_of(environment, seed, steps)
    finally:
        environment.close()


def digest_of(environment: Environment, seed: int, steps: int) -> str:
    """As `digest_trial`, in an instance that exists.

    Args:
        environment: The instance; its episode is lost.
        seed: The first episode's seed.
        steps: Actions to play.

    Returns:
        SHA-256 over every text and progression, in hexadecimal.
    """
    digest = hashlib.sha256()

    def note(text: str, done: bool) -> None:
        record = f"{len(text)}\n{text}\n{environment.progression!r} {done}\n"
        digest.update(record.encode())

    draw = random.Random(seed)
    note(environment.reset(seed).text, False)
    for _ in range(steps):
        action = _drawn(environment.actions, draw)
        step = environment.step(action)
        note(step.observation.text, step.done)
        if step.done:
            seed += 1
            note(environment.reset(seed).text, False)
    return digest.hexdigest()


def _drawn(actions: Sequence[str], draw: random.Random) -> str:
    """An action: every other time one of the first few, among which a vocabulary has its moves.

    Drawn from all of them alone, a game with two hundred keys would not leave its first room.
    """
    # Only random() is promised to give the same numbers in every version of Python.
    among = actions[:MOVES] if draw.random() < 0.5 else actions
    return among[int(draw.random() * len(among))]


def check_determinism(
    environment_id: str, *, seed: int = 0, steps: int = 150, processes: int = 2
) -> DeterminismCheck:
    """Run a trial in fresh processes and compare.

    Args:
        environment_id: An id, or an id without its version.
        seed: The first episode's seed.
        steps: Actions to play in each process.
        processes: How many, from 2 to 3.

    Returns:
        Whether all agree, with a sentence that says so or what to do.

    Raises:
        UnknownEnvironment: Nothing has this name.
    """
    name = resolve(environment_id)
    digests: list[str] = []
    for variant in _VARIANTS[: max(2, processes)]:
        found = _run(name, seed, steps, variant)
        if isinstance(found, _Failure):
            sentence = f"{name} could not be tried for determinism: {found.reason}"
            return DeterminismCheck(name, False, tuple(digests), sentence)
        digests.append(found)
    return _judge(name, seed, steps, tuple(digests))


def _judge(name: str, seed: int, steps: int, digests: tuple[str, ...]) -> DeterminismCheck:
    if len(set(digests)) == 1:
        sentence = (
            f"{name}: {len(digests)} processes gave the same stream "
            f"over {steps} steps from seed {seed}."
        )
        return DeterminismCheck(name, True, digests, sentence)
    sentence = (
        f"{name}: the same seed and actions gave {len(set(digests))} different streams in "
        f"{len(digests)} processes ({', '.join(digest[:8] for digest in digests)}), so no two "
        "scores can be compared. Install the versions in constraints.txt and check again."
    )
    return DeterminismCheck(name, False, digests, sentence)


@dataclass(frozen=True, slots=True)
class _Failure:
    reason: str


def _run(name: str, seed: int, steps: int, variant: _Variant) -> str | _Failure:
    command = [
        *(("faketime", variant.date) if variant.date and shutil.which("faketime") else ()),
        *(sys.executable, "-m", "envs.determinism", name),
        *("--seed", str(seed), "--steps", str(steps)),
        *("--ballast", str(variant.ballast), "--warm-up", str(variant.warm_up)),
    ]
    root = str(Path(__file__).resolve().parents[1])
    path = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
    env = {**os.environ, "PYTHONHASHSEED": variant.hash_seed, "PYTHONPATH": path}
    try:
        done = subprocess.run(
            command, env=env, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return _Failure(f"a process had not ended after {TIMEOUT_S:.0f} s.")
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["it said nothing"]
        return _Failure(f"a process ended with code {done.returncode}: {last[0]}")
    return done.stdout.strip()


def main(arguments: Sequence[str] | None = None) -> int:
    """Play one trial and print its digest.

    Args:
        arguments: Command-line arguments; those of the process if ``None``.

    Returns:
        The exit code, 0.
    """
    parser = argparse.ArgumentParser(prog="envs.determinism", description=main.__doc__)
    parser.add_argument("environment")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--ballast", type=int, default=0, help="objects to put on the heap first")
    parser.add_argument("--warm-up", type=int, default=0, help="episodes of other seeds to play")
    asked = parser.parse_args(arguments)
    ballast = [bytearray(index % 509 + 1) for index in range(asked.ballast)]
    del ballast[::3]  # holes, so that later objects land in another order
    environment = make(asked.environment)
    for other in range(asked.warm_up):
        digest_of(environment, asked.seed + 1_000 + other, 50)
    sys.stdout.write(digest_of(environment, asked.seed, asked.steps) + "\n")
    environment.close()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
