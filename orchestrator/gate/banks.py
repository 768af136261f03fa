"""Seed banks: disjoint by construction, the same on every machine and version.

Every 31-bit seed belongs to exactly one class. A keyed permutation of the 31-bit numbers maps
*(class, slice, position)* to a seed, so that

- two banks, or two slices of one, can never share a seed, however many are drawn;
- the permutation can be run backwards: `SeedBanks.slice_of` names the bank of any seed;
- nothing but SHA-256 decides: no random stream whose algorithm a library may change.

The permutation is a Feistel network on 32 bits (Luby & Rackoff 1988) walked until it lands in 31
(cycle walking, Black & Rogaway 2002). It need not keep a secret; it only has to look like chance.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

Bank = Literal["propose", "screen", "confirm", "report", "training"]
"""`propose`: the editor sees these trajectories. `screen`: the first look at a candidate.
`confirm`: a fresh slice per use, never shown to an editor. `report`: sealed until a night is
finished. `training`: loop 2's seeds, outside the four."""

BANKS: tuple[Bank, ...] = get_args(Bank)

SLICE_SEEDS = 1 << 12
SLICES = 1 << 16
SEEDS_BELOW = 1 << 31

_HALF = 16
_MASK = (1 << _HALF) - 1
_ROUNDS = 8


@dataclass(frozen=True, slots=True)
class Slice:
    """A named set of seeds of one bank.

    Attributes:
        bank: The bank.
        index: Which slice of it.
        seeds: The seeds, in playing order.
    """

    bank: Bank
    index: int
    seeds: tuple[int, ...]

    @property
    def name(self) -> str:
        """``screen`` or ``confirm[3]``: what may be told, where seeds may not."""
        return slice_name(self.bank, self.index)


def slice_name(bank: Bank, index: int) -> str:
    """Name of a slice; the banks that stay the same all night go by their bare name."""
    return bank if index == 0 and bank != "confirm" else f"{bank}[{index}]"


@dataclass(frozen=True, slots=True)
class SeedBanks:
    """All seeds of one environment, drawn from one root seed.

    Attributes:
        environment: Id with version, such as ``crafter-v1``; each has seeds of its own.
        root_seed: The workspace's root seed.
    """

    environment: str
    root_seed: int

    def slice(self, bank: Bank, count: int, index: int = 0) -> Slice:
        """The first ``count`` seeds of a slice; a larger count only appends.

        Args:
            bank: Which bank.
            count: Seeds wanted, at most `SLICE_SEEDS`.
            index: Which slice of it, below `SLICES`.

        Returns:
            The slice, seeds in ``[0, 2**31)``.

        Raises:
            ValueError: There is no such bank or slice, or it is not that long.
        """
        if bank not in BANKS:
            raise ValueError(f"there is no seed bank {bank!r}; there are {', '.join(BANKS)}")
        if not 0 <= index < SLICES or not 0 <= count <= SLICE_SEEDS:
            raise ValueError(
                f"{bank}[{index}] with {count} seeds: slices go to {SLICES - 1} and hold "
                f"{SLICE_SEEDS} seeds"
            )
        first = (BANKS.index(bank) * SLICES + index) * SLICE_SEEDS
        key = self._key()
        return Slice(bank, index, tuple(_walk(first + at, key) for at in range(count)))

    def seeds(self, bank: Bank, count: int, index: int = 0) -> tuple[int, ...]:
        """The seeds of `slice` alone."""
        return self.slice(bank, count, index).seeds

    def bank_of(self, seed: int) -> Bank | None:
        """The bank a seed belongs to; ``None`` for one that no bank will ever draw."""
        place = self._place(seed)
        return None if place is None else place[0]

    def slice_of(self, seed: int) -> str | None:
        """Name of the slice a seed belongs to, such as ``confirm[3]``."""
        place = self._place(seed)
        return None if place is None else slice_name(*place)

    def not_for_training(self, seeds: Iterable[int]) -> tuple[int, ...]:
        """Those of the seeds that lie in one of the four banks; a data set with any must not train.

        Args:
            seeds: Seeds that a data set's provenance names.

        Returns:
            The offending seeds in the order given.
        """
        return tuple(seed for seed in seeds if self.bank_of(seed) not in (None, "training"))

    def _place(self, seed: int) -> tuple[Bank, int] | None:
        if not 0 <= seed < SEEDS_BELOW:
            return None
        number = _walk_back(seed, self._key()) // SLICE_SEEDS
        return None if number >= len(BANKS) * SLICES else (BANKS[number // SLICES], number % SLICES)

    def _key(self) -> bytes:
        return _key(self.environment, self.root_seed)


@lru_cache(maxsize=256)
def _key(environment: str, root_seed: int) -> bytes:
    return hashlib.sha256(f"slowwave seed banks 1\n{environment}\n{root_seed}".encode()).digest()


def _walk(number: int, key: bytes) -> int:
    while True:
        number = _permute(number, key, range(_ROUNDS))
        if number < SEEDS_BELOW:
            return number


def _walk_back(seed: int, key: bytes) -> int:
    while True:
        seed = _swap(_permute(_swap(seed), key, reversed(range(_ROUNDS))))
        if seed < SEEDS_BELOW:
            return seed


def _permute(number: int, key: bytes, rounds: Iterable[int]) -> int:
    left, right = number >> _HALF, number & _MASK
    for turn in rounds:
        digest = hashlib.sha256(key + bytes([turn]) + right.to_bytes(2, "big")).digest()
        left, right = right, left ^ int.from_bytes(digest[:2], "big")
    return left << _HALF | right


def _swap(number: int) -> int:
    return (number & _MASK) << _HALF | number >> _HALF
