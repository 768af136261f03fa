"""Who may spend, and what was spent: the only place that decides.

A call's worst price is *reserved* before the call and *settled* at its true price after it. An
open reservation counts in full, so several processes at once cannot overdraw; the check and the
entry are one SQLite transaction. A reservation whose process died is settled at the reserved
amount by `recover` (the vendor may have billed it) and corrected if the truth turns up later, in
a journal. Money is counted in whole billionths of a dollar; nothing is ever rounded down.

States of an entry: ``open`` → ``settled`` | ``void`` | ``presumed``; ``presumed`` → ``settled`` |
``void``.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from pathlib import Path
from typing import Literal

from orchestrator.models.errors import BudgetExhausted, DuplicateCall, StoreFailure
from orchestrator.models.ledger_schema import open_ledger

State = Literal["open", "settled", "void", "presumed"]

NANO = 10**9
_MAX = 2**62  # leaves the sum of two amounts inside SQLite's 64 bits

_inherited: list[sqlite3.Connection] = []
"""Connections that came through a fork: closing one would disturb the parent, so none is freed."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a night may use; ``None`` is no limit.

    Args:
        money_usd: Dollars.
        tokens: Prompt and completion tokens together.
        calls: Model calls, every try counted.
        hours: Hours since the night started; the broker watches it, the ledger has no clock.
        where: Where a person finds the limits, for messages.
    """

    money_usd: Decimal | None = None
    tokens: int | None = None
    calls: int | None = None
    hours: float | None = None
    where: str = "slowwave.toml, [budget]"


@dataclass(frozen=True, slots=True)
class Reservation:
    """Room kept for one call."""

    key: str
    night: str
    money_usd: Decimal
    tokens: int
    state: State = "open"


@dataclass(frozen=True, slots=True)
class Totals:
    """What a night has used; open reservations are included at their full amount."""

    money_usd: Decimal = Decimal(0)
    tokens: int = 0
    calls: int = 0
    open_money_usd: Decimal = Decimal(0)
    open_calls: int = 0
    presumed_money_usd: Decimal = Decimal(0)
    presumed_calls: int = 0


class SpendLedger:
    """The spending of all nights in one SQLite file, safe for many processes.

    An instance may be pickled and may cross a fork: each process opens its own connection.

    Args:
        path: The database file; made with its folder when first used.
        limits: What each night may spend.
    """

    def __init__(self, path: Path, limits: Limits | None = None) -> None:
        self.path = Path(path)
        self.limits = limits or Limits()
        self._db: sqlite3.Connection | None = None
        self._durable: bool | None = None
        self._pid = 0

    def __getstate__(self) -> dict[str, object]:
        return {"path": self.path, "limits": self.limits}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state, _db=None, _durable=None, _pid=0)

    def reserve(
        self, night: str, key: str, money_usd: Decimal, tokens: int, *, role: str = ""
    ) -> Reservation:
        """Keep room for one call, or refuse.

        Args:
            night: Whose budget.
            key: The call's name; asking twice under one key reserves once.
            money_usd: The most it can cost.
            tokens: The most it can use.
            role: The model's role, for the breakdown.

        Returns:
            The reservation; under a known key the one made before, in its present state.

        Raises:
            BudgetExhausted: A limit leaves no room.
            DuplicateCall: The key stands for another night or amount.
            StoreFailure: The ledger cannot be used.
        """
        nano, tokens = _nano(money_usd), _whole(tokens)
        with self._transaction(durable=nano > 0) as db:
            row = db.execute(
                "SELECT night, reserved_nano, reserved_tokens, state FROM spend_entry"
                " WHERE key = ?",
                (key,),
            ).fetchone()
            if row is not None:
                if row[:3] != (night, nano, tokens):
                    raise DuplicateCall(f"The ledger key {key!r} was used for another call.")
                return Reservation(key, night, _usd(nano), tokens, row[3])
            self._check(db, night, nano, tokens)
            self._enter(db, key, night, role, "open", nano, tokens, 1)
        return Reservation(key, night, _usd(nano), tokens)

    def settle(self, key: str, money_usd: Decimal, tokens: int) -> None:
        """Replace a reservation by what the call really took.

        Also corrects a ``presumed`` entry. Settling again with the same amounts changes nothing.

        Raises:
            DuplicateCall: No such reservation, or already settled at other amounts.
        """
        self._end_call(key, "settled", _nano(money_usd), _whole(tokens), 1)

    def correct(self, key: str, money_usd: Decimal, tokens: int) -> None:
        """Settle what a killed run left open or presumed; an entry that is settled stays."""
        nano, tokens = _nano(money_usd), _whole(tokens)
        with self._transaction("BEGIN") as db:
            row = db.execute(
                "SELECT 1 FROM spend_entry WHERE key = ? AND state IN ('open', 'presumed')", (key,)
            ).fetchone()
        if row is not None:
            self._end_call(key, "settled", nano, tokens, 1)

    def presume(self, key: str) -> Decimal:
        """Settle at the reserved amount: the call failed, and the vendor may have billed it.

        Returns:
            That amount in USD.
        """
        return _usd(self._end_call(key, "presumed", None, None, 1))

    def void(self, key: str) -> None:
        """Give the room back: the call surely was not billed."""
        self._end_call(key, "void", 0, 0, 0)

    def record(
        self, night: str, key: str, money_usd: Decimal, tokens: int, *, calls: int, role: str = ""
    ) -> None:
        """Enter use that needed no reservation, past any limit.

        Recording again under the same key replaces what was there: an episode played again counts
        once.
        """
        nano, tokens, calls = _nano(money_usd), _whole(tokens), _whole(calls)
        with self._transaction() as db:
            row = db.execute(
                "DELETE FROM spend_entry WHERE key = ? RETURNING night, nano, tokens, calls", (key,)
            ).fetchone()
            if row is not None:
                _add(db, row[0], -row[1], -row[2], -row[3])
            self._enter(db, key, night, role, "settled", nano, tokens, calls)

    def recover(self, night: str) -> int:
        """Settle what a killed run left open, at the reserved amounts.

        For the start of a night. A call of another process that is still running loses nothing:
        its own `settle` replaces the presumption.

        Returns:
            How many reservations were found.
        """
        with self._transaction(durable=True) as db:
            return db.execute(
                "UPDATE spend_entry SET state = 'presumed' WHERE night = ? AND state = 'open'",
                (night,),
            ).rowcount

    def totals(self, night: str) -> Totals:
        """The sums of a night."""
        with self._transaction("BEGIN") as db:
            row = db.execute(
                "SELECT nano, tokens, calls FROM spend_night WHERE night = ?", (night,)
            ).fetchone()
            rows = db.execute(
                "SELECT state, SUM(nano), SUM(calls) FROM spend_entry"
                " WHERE night = ? AND state IN ('open', 'presumed') GROUP BY state",
                (night,),
            ).fetchall()
        nano, tokens, calls = row or (0, 0, 0)
        part = {state: (_usd(money), number) for state, money, number in rows}
        none = (Decimal(0), 0)
        return Totals(
            _usd(nano), tokens, calls, *part.get("open", none), *part.get("presumed", none)
        )

    def by_role(self, night: str) -> dict[str, Totals]:
        """Money, tokens and calls of a night by role."""
        with self._transaction("BEGIN") as db:
            rows = db.execute(
                "SELECT role, SUM(nano), SUM(tokens), SUM(calls) FROM spend_entry"
                " WHERE night = ? GROUP BY role ORDER BY role",
                (night,),
            ).fetchall()
        return {role: Totals(_usd(nano), tokens, calls) for role, nano, tokens, calls in rows}

    def close(self) -> None:
        """Close this process's connection; the next use opens it again."""
        if self._db is not None and self._pid == os.getpid():
            self._db.close()
        self._db = None

    def _check(self, db: sqlite3.Connection, night: str, nano: int, tokens: int) -> None:
        row = db.execute(
            "SELECT nano, tokens, calls FROM spend_night WHERE night = ?", (night,)
        ).fetchone()
        spent, used, calls = row or (0, 0, 0)
        limits = self.limits
        if limits.money_usd is not None and nano and spent + nano > _nano_floor(limits.money_usd):
            raise BudgetExhausted(
                "money", value=_usd(spent + nano), limit=limits.money_usd, where=limits.where
            )
        if limits.tokens is not None and used + tokens > limits.tokens:
            raise BudgetExhausted(
                "tokens", value=used + tokens, limit=limits.tokens, where=limits.where
            )
        if limits.calls is not None and calls + 1 > limits.calls:
            raise BudgetExhausted("calls", value=calls + 1, limit=limits.calls, where=limits.where)

    @staticmethod
    def _enter(
        db: sqlite3.Connection,
        key: str,
        night: str,
        role: str,
        state: State,
        nano: int,
        tokens: int,
        calls: int,
    ) -> None:
        db.execute(
            "INSERT INTO spend_entry VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (key, night, role, state, nano, tokens, nano, tokens, calls, time.time()),
        )
        _add(db, night, nano, tokens, calls)

    def _end_call(
        self, key: str, state: State, nano: int | None, tokens: int | None, calls: int
    ) -> int:
        """Change an entry's state and amounts (``None``: as reserved); returns its nano-dollars."""
        with self._transaction() as db:
            row = db.execute(
                "SELECT night, state, nano, tokens, calls, reserved_nano, reserved_tokens"
                " FROM spend_entry WHERE key = ?",
                (key,),
            ).fetchone()
            if row is None:
                raise DuplicateCall(f"The ledger has no reservation {key!r}.")
            night, before, old_nano, old_tokens, old_calls, reserved_nano, reserved_tokens = row
            nano = int(reserved_nano) if nano is None else nano
            tokens = int(reserved_tokens) if tokens is None else tokens
            if before in ("settled", "void"):
                if (before, old_nano, old_tokens) != (state, nano, tokens):
                    raise DuplicateCall(f"The ledger entry {key!r} is already {before}.")
                return nano
            db.execute(
                "UPDATE spend_entry SET state = ?, nano = ?, tokens = ?, calls = ? WHERE key = ?",
                (state, nano, tokens, calls, key),
            )
            _add(db, night, nano - old_nano, tokens - old_tokens, calls - old_calls)
            return nano

    @contextmanager
    def _transaction(
        self, begin: str = "BEGIN IMMEDIATE", *, durable: bool = False
    ) -> Iterator[sqlite3.Connection]:
        """One transaction, for writing unless `begin` says otherwise.

        Reserving money is flushed to the disk, so that not even a power cut forgets it. The rest
        need not be: a lost settlement leaves the reservation, which is on the safe side.
        """
        try:
            db = self._connection()
            if durable != self._durable:
                db.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
                self._durable = durable
            db.execute(begin)
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # after a full disk SQLite has rolled back by itself
                    db.execute("ROLLBACK")
                raise
        except (sqlite3.Error, OSError) as error:
            raise StoreFailure(
                f"The spending ledger {self.path} cannot be used: {error}.",
                mend="Check that the disk has room, and that the file is a SQLite database and "
                "yours to write.",
            ) from error

    def _connection(self) -> sqlite3.Connection:
        if self._db is not None and self._pid == os.getpid():
            return self._db
        db = open_ledger(self.path)
        if self._db is not None:
            _inherited.append(self._db)
        self._db, self._durable, self._pid = db, None, os.getpid()
        return db


def _add(db: sqlite3.Connection, night: str, nano: int, tokens: int, calls: int) -> None:
    db.execute(
        "INSERT INTO spend_night VALUES (?, ?, ?, ?) ON CONFLICT (night) DO UPDATE SET"
        " nano = nano + excluded.nano, tokens = tokens + excluded.tokens,"
        " calls = calls + excluded.calls",
        (night, nano, tokens, calls),
    )


def _nano(money_usd: Decimal) -> int:
    value = int((Decimal(money_usd) * NANO).to_integral_value(rounding=ROUND_CEILING))
    return _whole(value)


def _nano_floor(money_usd: Decimal) -> int:
    return int(Decimal(money_usd) * NANO)


def _usd(nano: int) -> Decimal:
    return Decimal(nano).scaleb(-9)


def _whole(value: int) -> int:
    if not 0 <= value < _MAX:
        raise ValueError(f"an amount must be between 0 and {_MAX}, and {value} is not")
    return value
