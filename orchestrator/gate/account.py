"""The arithmetic of a night's error budget, without storage.

The night's false-acceptance rate is at most the sum of the alphas of its confirmations (Boole's
inequality; each confirmation is an exact test on fresh seeds, whatever led to it). So a night that
never charges more than its rate keeps it. `MemoryBudget` here and `budget.ErrorBudget` on SQLite
both decide by `admit`: the simulation spends by the code that the night spends by.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from orchestrator.gate.errors import AlphaSpent, BudgetError, ChargeConflict

UNITS = 10**9
"""Alphas are counted in billionths, so that five times .01 is exactly .05."""


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What identifies a confirmation; the same one is charged once.

    Attributes:
        night: Id of the night.
        environment: Id with version; slices are counted per environment.
        candidate: Tree hash of the candidate.
        champion: Tree hash of what it is compared with: the same candidate against another
            champion is another confirmation.
        stage: Stage of the rule.
    """

    night: str
    environment: str
    candidate: str
    champion: str = ""
    stage: Literal["confirm"] = "confirm"


@dataclass(frozen=True, slots=True)
class Charge:
    """A granted charge.

    Attributes:
        slice: Index of the fresh slice of the confirm bank that goes with it.
        alpha: What was charged.
        again: It had been granted before; nothing was charged this time.
    """

    slice: int
    alpha: float
    again: bool


class Budget(Protocol):
    """Who may confirm, and on which slice."""

    @property
    def night_alpha(self) -> float:
        """False-acceptance rate that a night may spend."""
        ...

    def charge(self, confirmation: Confirmation, alpha: float) -> Charge:
        """Charge a confirmation once and give it its slice; `AlphaSpent` if it is too much."""
        ...

    def charged(self, confirmation: Confirmation) -> bool:
        """Whether a confirmation has been charged."""
        ...

    def left(self, night: str) -> float:
        """What the night has left."""
        ...


def to_units(alpha: float) -> int:
    """Alpha in billionths."""
    units = round(alpha * UNITS)
    if not 0 < units <= UNITS:
        raise BudgetError(f"An alpha of {alpha} cannot be charged; it must lie in (0, 1].")
    return units


def admit(night: str, *, spent: int, asked: int, limit: int) -> None:
    """Refuse a charge that would overdraw the night; all amounts in `UNITS`."""
    if spent + asked > limit:
        raise AlphaSpent(
            night, limit=limit / UNITS, left=max(0, limit - spent) / UNITS, asked=asked / UNITS
        )


def same_charge(confirmation: Confirmation, *, before: int, asked: int) -> None:
    """Refuse to let a repeated confirmation run under another alpha than it was charged."""
    if before != asked:
        raise ChargeConflict(
            f"The confirmation of {confirmation.candidate[:12]} in night {confirmation.night} was "
            f"charged {before / UNITS:g} and now asks for {asked / UNITS:g}.",
            mend="Finish the night with the rule it was started with, or start a new one.",
        )


class MemoryBudget:
    """The error budget of a simulation: the same decisions, kept in memory."""

    def __init__(self, night_alpha: float = 0.05) -> None:
        """Start with nothing spent.

        Args:
            night_alpha: False-acceptance rate that each night may spend.
        """
        self._limit = to_units(night_alpha)
        self._granted: dict[Confirmation, tuple[int, int]] = {}
        self._spent: dict[str, int] = {}
        self._next_slice: dict[str, int] = {}

    @property
    def night_alpha(self) -> float:
        """False-acceptance rate that a night may spend."""
        return self._limit / UNITS

    def charge(self, confirmation: Confirmation, alpha: float) -> Charge:
        """Charge a confirmation once and give it its slice; `AlphaSpent` if it is too much."""
        asked = to_units(alpha)
        before = self._granted.get(confirmation)
        if before is not None:
            same_charge(confirmation, before=before[1], asked=asked)
            return Charge(before[0], alpha, again=True)
        night, environment = confirmation.night, confirmation.environment
        spent = self._spent.get(night, 0)
        admit(night, spent=spent, asked=asked, limit=self._limit)
        index = self._next_slice.get(environment, 0)
        self._next_slice[environment] = index + 1
        self._spent[night] = spent + asked
        self._granted[confirmation] = (index, asked)
        return Charge(index, alpha, again=False)

    def charged(self, confirmation: Confirmation) -> bool:
        """Whether a confirmation has been charged."""
        return confirmation in self._granted

    def left(self, night: str) -> float:
        """What the night has left."""
        return max(0, self._limit - self._spent.get(night, 0)) / UNITS
