"""The promise of exact seeds, and that its breaking shows."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from envs import determinism
from envs.crafter.environment import CrafterEnvironment
from envs.crafter.world import ChunkMembers, World
from envs.determinism import check_determinism, digest_of, digest_trial
from envs.errors import UnknownEnvironment

ROOT = Path(__file__).resolve().parents[2]
STEPS = 1_000

# Without faketime the child moves Python's own clocks before anything else is imported; nothing of
# Crafter reads another clock.
OTHER_DAY = """
import datetime, time
shift = 4 * 365 * 86400 + 12345
now, now_ns = time.time, time.time_ns
time.time = lambda: now() + shift
time.time_ns = lambda: now_ns() + shift * 10**9
class Later(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls.fromtimestamp(time.time(), tz)
datetime.datetime = Later
assert datetime.datetime.now().year > 2026
"""
PLAY = "from envs.determinism import main; main({arguments!r})"
STOCK_SET = "from envs.crafter.world import World; World.members = set\n"


def _child(
    *arguments: str, hash_seed: str = "0", before: str = "", wrapper: tuple[str, ...] = ()
) -> str:
    script = before + PLAY.format(arguments=["crafter-v1", *arguments])
    done = subprocess.run(
        [*wrapper, sys.executable, "-c", script],
        env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.slow
def test_three_processes_two_dates_and_a_used_instance_give_one_stream() -> None:
    faketime = shutil.which("faketime")
    other_day = (
        {"wrapper": (faketime, "2031-02-13 23:59:50")} if faketime else {"before": OTHER_DAY}
    )
    steps = ("--steps", str(STEPS))
    digests = [
        _child(*steps),
        _child(*steps, "--ballast", "50003", hash_seed="1", **other_day),  # type: ignore[arg-type]
        _child(*steps, "--ballast", "200017", "--warm-up", "2", hash_seed="random"),
    ]
    assert len(digests[0]) == 64
    assert digests == digests[:1] * 3


def test_a_used_instance_gives_the_stream_of_a_new_one() -> None:
    environment = CrafterEnvironment()
    digest_of(environment, 40, 60)
    assert digest_of(environment, 0, 120) == digest_trial("crafter-v1", 0, 120)


def test_the_digest_tells_seeds_and_lengths_apart() -> None:
    digests = {digest_trial("crafter-v1", seed, steps) for seed in (0, 1) for steps in (20, 21)}
    assert len(digests) == 4


@pytest.mark.slow
def test_crafters_own_set_breaks_the_promise_and_the_digest_shows_it() -> None:
    found = {_child("--steps", "150", "--ballast", str(1000 * n), before=STOCK_SET) for n in (0, 1)}
    for n in range(2, 8):  # the order of addresses may agree by chance; not eight times
        if len(found) > 1:
            break
        found.add(_child("--steps", "150", "--ballast", str(7919 * n), before=STOCK_SET))
    assert len(found) > 1


class _LastFirst(ChunkMembers):
    """Another order, as a set might have it by chance."""

    def __iter__(self) -> Iterator[object]:  # type: ignore[override]
        return reversed(list(super().__iter__()))


def test_the_game_depends_on_the_order_of_members(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = digest_trial("crafter-v1", 0, 150)
    monkeypatch.setattr(World, "members", _LastFirst)
    assert digest_trial("crafter-v1", 0, 150) != ours
    monkeypatch.undo()
    assert digest_trial("crafter-v1", 0, 150) == ours


@pytest.mark.slow
def test_the_check_says_that_all_is_well() -> None:
    check = check_determinism("crafter", steps=60)
    assert check.ok
    assert len(check.digests) == 2
    assert check.sentence == (
        "crafter-v1: 2 processes gave the same stream over 60 steps from seed 0."
    )


def test_the_check_says_what_differs() -> None:
    check = determinism._judge("crafter-v1", 3, 60, ("a" * 64, "b" * 64))
    assert not check.ok
    assert check.sentence == (
        "crafter-v1: the same seed and actions gave 2 different streams in 2 processes (aaaaaaaa, "
        "bbbbbbbb), so no two scores can be compared. Install the versions in constraints.txt and "
        "check again."
    )


def test_a_process_that_fails_is_reported_and_not_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    check = check_determinism("crafter", steps=5)
    assert not check.ok
    assert check.sentence == (
        "crafter-v1 could not be tried for determinism: a process ended with code 1: "
        "it said nothing"
    )


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(UnknownEnvironment):
        check_determinism("craftr")
