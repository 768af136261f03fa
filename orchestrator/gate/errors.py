"""What can go wrong at the gate, one class for each thing a person can do about it."""

from __future__ import annotations

from orchestrator.errors import SlowwaveError, UsageError


class UnknownRule(UsageError):
    """No acceptance rule has this name."""


class BadRule(UsageError):
    """The settings of a rule contradict each other."""


class CannotReach(UsageError):
    """The rule has too few pairs to reach its own level, whatever the scores are."""


class SameRevision(UsageError):
    """A candidate has the tree of the champion: there is nothing to judge."""


class BanksError(SlowwaveError):
    """The seed banks on disk cannot be used."""


class BanksEdited(BanksError):
    """The banks file does not say what its root seed gives."""


class BanksUnreadable(BanksError):
    """The banks file is missing, cannot be read or is not a banks file."""


class Halted(SlowwaveError):
    """Nothing more can be played, for a reason that says nothing about who plays."""


class BudgetError(SlowwaveError):
    """The error budget cannot be charged."""


class AlphaSpent(BudgetError):
    """The charge would take the night over its false-acceptance rate; nothing was charged.

    Attributes:
        limit: What the night may spend.
        left: What is left of it.
        asked: What this charge would have taken.
    """

    def __init__(self, night: str, *, limit: float, left: float, asked: float) -> None:
        """Say what was asked of which night."""
        super().__init__(
            f"Night {night} has {left:g} of its error budget of {limit:g} left and this "
            f"confirmation costs {asked:g}.",
            mend="Nothing more is accepted this night; a new night starts with a new budget.",
        )
        self.night, self.limit, self.left, self.asked = night, limit, left, asked


class ChargeConflict(BudgetError):
    """The same confirmation was charged before under another alpha or environment."""


class LedgerLocked(BudgetError):
    """Another process held the ledger for longer than we wait."""


class LedgerFull(BudgetError):
    """The disk (or the quota) that holds the ledger is full."""


class LedgerCorrupt(BudgetError):
    """The ledger is not a database, or a damaged one."""


class LedgerUnusable(BudgetError):
    """The ledger cannot be opened or written where it is."""
