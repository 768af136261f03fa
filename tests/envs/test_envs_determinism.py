"""The promise of exact seeds, and that its breaking shows.

A process is slow to start, so each plays every environment, and the tests compare what they found.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from envs import determinism
from envs.crafter.environment import CrafterEnvironment
from envs.crafter.world import ChunkMembers, World
from envs.determinism import FULL_MOON, NEW_MOON, check_determinism, digest_of, digest_trial
from envs.errors import UnknownEnvironment
from envs.minihack.boxoban import DATA_VARIABLE
from envs.registry import SPECS, available, make

ROOT = Path(__file__).resolve().parents[2]
STEPS = 1_000

pytestmark = pytest.mark.xdist_group("determinism")  # what a process found is shared
NETHACKS = tuple(name for name in SPECS if name != "crafter-v1")

# NetHack's phase_of_the_moon is 0 at NEW_MOON, 4 at FULL_MOON and neither on these; the first is a
# Friday the 13th, and what begins on the last goes on through midnight.
FRIDAY, PLAIN, MIDNIGHT = "2026-11-13 12:00:00", "2027-11-19 12:00:00", "2026-11-13 23:59:55"


def _at(date: str) -> tuple[str, ...]:
    """What runs a command on another date; nothing where that cannot be done."""
    found = shutil.which("faketime")
    return (found, date) if found and date else ()


def need_other_dates() -> None:
    if shutil.which("faketime") is None:
        why = "faketime is not installed, so nothing is known about other dates"
        pytest.fail(why) if os.environ.get("CI") else pytest.skip(why)


def play(data: Path, *, date: str = "", hash_seed: str = "0", **asked: Any) -> dict[str, str]:
    """The digests of one fresh process."""
    done = subprocess.run(
        [*_at(date), sys.executable, "-m", "tests.envs.trial",
         json.dumps(asked)],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": hash_seed, DATA_VARIABLE: str(data)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads(done.stdout)
    assert set(found) == set(asked["ids"])
    return found


@pytest.fixture(scope="module")
def reference(data_with_levels: Path) -> dict[str, str]:
    return play(data_with_levels, ids=available(), steps=STEPS)


# --- it holds ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def others(data_with_levels: Path) -> dict[str, dict[str, str]]:
    """Processes with another hash seed, heap, order and date, whose instances played before."""
    every = {"ids": available(), "steps": STEPS}
    return {
        "through midnight": play(
            data_with_levels, **every, ballast=50_003, hash_seed="1", date=MIDNIGHT
        ),
        "used, under a full moon": play(
            data_with_levels,
            **{**every, "ids": available()[::-1]},
            ballast=200_017,
            warm_up=2,
            hash_seed="random",
            date=FULL_MOON,
        ),
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", available())
def test_processes_dates_and_used_instances_give_one_stream(
    reference: dict[str, str], others: dict[str, dict[str, str]], name: str
) -> None:
    assert len(reference[name]) == 64
    found = {how: digests[name] for how, digests in others.items()}
    assert found == dict.fromkeys(others, reference[name])


def test_other_dates_can_be_tried() -> None:
    need_other_dates()
    command = (sys.executable, "-c", "import time; print(time.localtime()[:3])")
    said = subprocess.run([*_at(FRIDAY), *command], capture_output=True, text=True, check=True)
    assert said.stdout == "(2026, 11, 13)\n"


@pytest.mark.slow
def test_a_death_is_the_same_in_another_year_and_after_others(data: Path) -> None:
    asked = {"ids": ["nethack-v1"], "seed": 5, "until": "death"}
    assert play(data, **asked) == play(data, **asked, date=PLAIN, warm_up=2)


@pytest.mark.slow
def test_the_environments_are_different_games(reference: dict[str, str]) -> None:
    assert len(set(reference.values())) == len(reference) == len(available())


# --- it breaks when a fix is taken out -----------------------------------------------------------


@pytest.mark.slow
def test_crafters_own_set_breaks_the_promise_and_the_digest_shows_it(data: Path) -> None:
    asked = {"ids": ["crafter-v1"], "steps": 150, "without": "members"}
    found = {play(data, **asked, ballast=1_000 * n)["crafter-v1"] for n in (0, 1)}
    for n in range(2, 8):  # the order of addresses may agree by chance; not eight times
        if len(found) > 1:
            break
        found.add(play(data, **asked, ballast=7_919 * n)["crafter-v1"])
    assert len(found) > 1


@pytest.fixture(scope="module")
def unseeded(data_with_levels: Path) -> list[dict[str, str]]:
    asked = {"ids": NETHACKS, "steps": 20, "without": "seeds"}
    return [play(data_with_levels, **asked) for _ in range(2)]


@pytest.mark.slow
@pytest.mark.parametrize("name", NETHACKS)
def test_a_seed_handed_to_reset_alone_means_nothing(
    unseeded: list[dict[str, str]], name: str
) -> None:
    assert unseeded[0][name] != unseeded[1][name]


@pytest.mark.slow
def test_a_level_drawn_at_random_is_another_in_every_process(data_with_levels: Path) -> None:
    asked = {"ids": ["minihack/boxoban-medium-v1"], "steps": 1, "without": "levels"}
    found = set()
    for _ in range(12):  # of a few levels the same may come twice by chance
        found |= set(play(data_with_levels, **asked).values())
        if len(found) > 1:
            break
    assert len(found) > 1


@pytest.fixture(scope="module")
def moonstruck(data_with_levels: Path) -> dict[str, dict[str, str]]:
    need_other_dates()
    asked = {"ids": NETHACKS, "steps": 20, "without": "moon"}
    dates = (NEW_MOON, FRIDAY, FULL_MOON, PLAIN)
    return {date: play(data_with_levels, **asked, date=date) for date in dates}


@pytest.mark.slow
@pytest.mark.parametrize("name", NETHACKS)
def test_the_moon_of_the_clock_shows(moonstruck: dict[str, dict[str, str]], name: str) -> None:
    assert len({found[name] for found in moonstruck.values()}) == 4


@pytest.mark.slow
def test_the_pages_after_a_death_are_dated(data: Path) -> None:
    need_other_dates()
    asked = {"ids": ["nethack-v1"], "seed": 5, "until": "death", "without": "closing"}
    shown = [play(data, **asked, date=date) for date in (FRIDAY, FULL_MOON, PLAIN)]
    assert shown[0] == shown[1] != shown[2]  # the gravestone bears the year


# --- single parts --------------------------------------------------------------------------------


def test_a_used_instance_gives_the_stream_of_a_new_one() -> None:
    environment = CrafterEnvironment()
    digest_of(environment, 40, 60)
    assert digest_of(environment, 0, 120) == digest_trial("crafter-v1", 0, 120)


@pytest.mark.parametrize("name", ["crafter-v1", "nethack-v1", "minihack/quest-easy-v1"])
def test_the_digest_tells_seeds_and_lengths_apart(name: str) -> None:
    digests = {digest_trial(name, seed, steps) for seed in (0, 1) for steps in (20, 21)}
    assert len(digests) == 4


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


@pytest.mark.parametrize("name", [name for name in NETHACKS if "boxoban" not in name])
def test_the_first_actions_are_moves(name: str) -> None:
    """A trial draws them more often, or it would not leave its first room."""
    assert {"north", "east", "south", "west"} <= set(make(name).actions[: determinism.MOVES])
