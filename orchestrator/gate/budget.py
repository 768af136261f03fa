"""The error budget in the workspace's ledger (SQLite, WAL).

Who may spend it: only a confirmation, through `charge`, before its first episode. Charge and
slice are granted in one transaction under the confirmation's identity, so that a night killed
anywhere and started again gets the same slice and pays once. Nothing is ever given back: a
confirmation that was charged and not finished may already have been looked at.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from orchestrator.gate.account import UNITS, Charge, Confirmation, admit, same_charge, to_units
from orchestrator.gate.banks import SLICES
from orchestrator.gate.errors import (
    BudgetError,
    LedgerCorrupt,
    LedgerFull,
    LedgerLocked,
    LedgerUnusable,
)

_SCHEMA = """
CREATE TABLE IF NOT EXISTS gate_charges (
    night TEXT NOT NULL,
    environment TEXT NOT NULL,
    candidate TEXT NOT NULL,
    champion TEXT NOT NULL,
    stage TEXT NOT NULL,
    alpha_units INTEGER NOT NULL CHECK (alpha_units > 0),
    slice INTEGER NOT NULL,
    PRIMARY KEY (night, environment, candidate, champion, stage),
    UNIQUE (environment, slice)
) WITHOUT ROWID
"""

_KEY = "night = ? AND environment = ? AND candidate = ? AND champion = ? AND stage = ?"


class ErrorBudget:
    """Charges confirmations to nights and numbers their slices, safely across processes."""

    def __init__(self, path: Path, night_alpha: float = 0.05, *, wait_s: float = 30.0) -> None:
        """Open the ledger, making it if it is not there.

        Args:
            path: The SQLite file; other parts may keep their tables in it.
            night_alpha: False-acceptance rate that each night may spend.
            wait_s: How long to wait for another process to finish writing, in seconds.

        Raises:
            BudgetError: The file cannot be opened or is not a database.
        """
        self._path = path
        self._limit = to_units(night_alpha)
        self._wait_s = wait_s
        with _explained(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            with closing(self._connect()) as connection:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute(_SCHEMA)

    @property
    def night_alpha(self) -> float:
        """False-acceptance rate that a night may spend."""
        return self._limit / UNITS

    def charge(self, confirmation: Confirmation, alpha: float) -> Charge:
        """Charge a confirmation once and give it a fresh slice of the confirm bank.

        Args:
            confirmation: What is confirmed; asking again for the same charges nothing.
            alpha: Level of its test.

        Returns:
            The charge, with the index of the slice.

        Raises:
            AlphaSpent: The night cannot afford it; nothing was charged.
            ChargeConflict: It was charged before under another alpha.
            BudgetError: The ledger is locked, full, damaged or unusable; nothing was charged.
        """
        asked = to_units(alpha)
        with self._writing() as connection:
            before = connection.execute(
                f"SELECT slice, alpha_units FROM gate_charges WHERE {_KEY}", _key(confirmation)
            ).fetchone()
            if before is not None:
                same_charge(confirmation, before=before[1], asked=asked)
                return Charge(before[0], alpha, again=True)
            spent = _spent(connection, confirmation.night)
            admit(confirmation.night, spent=spent, asked=asked, limit=self._limit)
            index = _next_slice(connection, confirmation.environment)
            connection.execute(
                "INSERT INTO gate_charges (night, environment, candidate, champion, stage,"
                " alpha_units, slice) VALUES (?, ?, ?, ?, ?, ?, ?)",
                (*_key(confirmation), asked, index),
            )
            return Charge(index, alpha, again=False)

    def left(self, night: str) -> float:
        """What the night has left of its rate."""
        return max(0, self._limit - self._spent_units(night)) / UNITS

    def spent(self, night: str) -> float:
        """What the night has charged."""
        return self._spent_units(night) / UNITS

    def charged(self, confirmation: Confirmation) -> bool:
        """Whether a confirmation has been charged."""
        return any(one == confirmation for one, _ in self.charges(confirmation.night))

    def charges(self, night: str) -> tuple[tuple[Confirmation, Charge], ...]:
        """All charges of a night in the order in which their slices were given."""
        with _explained(self._path), closing(self._connect()) as connection:
            rows = connection.execute(
                "SELECT environment, candidate, champion, alpha_units, slice FROM gate_charges"
                " WHERE night = ? ORDER BY environment, slice",
                (night,),
            ).fetchall()
        return tuple(
            (
                Confirmation(night, environment, candidate, champion),
                Charge(index, units / UNITS, again=True),
            )
            for environment, candidate, champion, units, index in rows
        )

    def _spent_units(self, night: str) -> int:
        with _explained(self._path), closing(self._connect()) as connection:
            return _spent(connection, night)

    def _connect(self) -> sqlite3.Connection:
        # A connection per call: they are rare, and it may be used from any thread or fork.
        connection = sqlite3.connect(self._path, timeout=self._wait_s, isolation_level=None)
        connection.execute("PRAGMA synchronous = FULL")
        return connection

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction that holds the write lock from its first read."""
        with _explained(self._path), closing(self._connect()) as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise


def _key(confirmation: Confirmation) -> tuple[str, ...]:
    return (
        confirmation.night,
        confirmation.environment,
        confirmation.candidate,
        confirmation.champion,
        confirmation.stage,
    )


def _spent(connection: sqlite3.Connection, night: str) -> int:
    row = connection.execute(
        "SELECT COALESCE(SUM(alpha_units), 0) FROM gate_charges WHERE night = ?", (night,)
    ).fetchone()
    return int(row[0])


def _next_slice(connection: sqlite3.Connection, environment: str) -> int:
    row = connection.execute(
        "SELECT COALESCE(MAX(slice), -1) + 1 FROM gate_charges WHERE environment = ?",
        (environment,),
    ).fetchone()
    index = int(row[0])
    if index >= SLICES:
        raise BudgetError(
            f"All {SLICES} slices of the confirm bank of {environment} have been used.",
            mend="Start a new workspace with another root seed.",
        )
    return index


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn what SQLite and the file system say into what a person can do."""
    try:
        yield
    except sqlite3.Error as error:
        raise ledger_error(error, path) from error
    except OSError as error:
        raise LedgerUnusable(
            f"The ledger {path} cannot be used: {error.strerror or error}.",
            mend="Check that its folder exists and may be written.",
        ) from error


def ledger_error(error: sqlite3.Error, path: Path) -> BudgetError:
    """The typed error for what SQLite reported.

    Args:
        error: SQLite's error.
        path: The ledger.

    Returns:
        What to raise.
    """
    # The low byte is the primary code; extended codes add detail above it.
    code = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return LedgerLocked(
            f"The ledger {path} is being written by another process and did not come free.",
            mend="Wait for the other run to finish, or stop it, and start again; nothing is lost.",
        )
    if code == sqlite3.SQLITE_FULL:
        return LedgerFull(
            f"The disk that holds the ledger {path} is full; nothing was charged.",
            mend="Make room and start again; nothing is lost.",
        )
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return LedgerCorrupt(
            f"The ledger {path} is not a readable database: {error}.",
            mend="Move it away and restore a copy. Without its charges a night's error budget "
            "cannot be kept, so none is made in its place.",
        )
    return LedgerUnusable(
        f"The ledger {path} cannot be used: {error}.",
        mend="Check that its folder exists and may be written.",
    )
