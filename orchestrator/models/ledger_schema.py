"""The ledger's tables, and how its file is opened."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

from orchestrator.models.errors import StoreFailure

SCHEMA_VERSION = 1

BUSY_TIMEOUT_S = 60.0
"""How long a process waits for another's transaction, each of which takes milliseconds."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS spend_schema (version INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS spend_night (
    night TEXT PRIMARY KEY,
    nano INTEGER NOT NULL, tokens INTEGER NOT NULL, calls INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS spend_entry (
    key TEXT PRIMARY KEY,
    night TEXT NOT NULL, role TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('open', 'settled', 'void', 'presumed')),
    reserved_nano INTEGER NOT NULL CHECK (reserved_nano >= 0),
    reserved_tokens INTEGER NOT NULL CHECK (reserved_tokens >= 0),
    nano INTEGER NOT NULL CHECK (nano >= 0),
    tokens INTEGER NOT NULL CHECK (tokens >= 0),
    calls INTEGER NOT NULL CHECK (calls >= 0),
    at REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS spend_entry_by_night ON spend_entry (night, state);
"""


def open_ledger(path: Path) -> sqlite3.Connection:
    """Open the file, making it and its tables if they are not there.

    Raises:
        StoreFailure: Another version of slowwave wrote it.
        sqlite3.Error: It is not a database, or cannot be written.
        OSError: Its folder cannot be made.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    db = sqlite3.connect(
        path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
    )
    try:
        _prepare(db, path)
    except BaseException:
        db.close()
        raise
    return db


def _prepare(db: sqlite3.Connection, path: Path) -> None:
    _use_wal(db)
    db.execute("BEGIN IMMEDIATE")
    for statement in _SCHEMA.split(";"):
        db.execute(statement)
    row = db.execute("SELECT version FROM spend_schema").fetchone()
    if row is None:
        db.execute("INSERT INTO spend_schema VALUES (?)", (SCHEMA_VERSION,))
    db.execute("COMMIT")
    if row is not None and row[0] != SCHEMA_VERSION:
        raise StoreFailure(
            f"The spending ledger {path} has version {row[0]}, and this slowwave reads "
            f"{SCHEMA_VERSION}.",
            mend="Use the slowwave that wrote it, or begin a new workspace.",
        )


def _use_wal(db: sqlite3.Connection) -> None:
    """Switch to write-ahead logging; the switch itself does not wait for a busy file, so we do."""
    end = time.monotonic() + BUSY_TIMEOUT_S
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > end:
                raise
            time.sleep(0.01)
