"""Answers already paid for, kept so that an interrupted episode need not buy them again.

One JSON Lines file per episode, flushed to the disk line by line and deleted when the episode's
result is stored. An answer is found by the call's number within the episode and the hash of its
request. It is never shared between episodes: that would freeze a sampled model and correlate the
candidates.
"""

from __future__ import annotations

import errno
import hashlib
import json
import logging
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from decimal import Decimal
from io import FileIO
from pathlib import Path
from typing import Any

from orchestrator.models.base import Ask, Block, Completion, Question, Usage
from orchestrator.models.errors import StoreFailure

SCHEMA_VERSION = 1

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Entry:
    """One answer.

    Args:
        ordinal: The call's number within the episode, from 0.
        request: Hash of role, model and messages.
        reservation: The ledger key that paid for it; empty if nothing did.
        money_usd: What it cost.
        seconds: How long the call took.
        completion: The answer.
    """

    ordinal: int
    request: str
    reservation: str
    money_usd: Decimal
    seconds: float
    completion: Completion


def request_hash(role: str, fingerprint: str, ask: Ask) -> str:
    """What makes two requests the same request."""
    if isinstance(ask, Question):
        parts: list[Any] = [role, fingerprint, "tools", ask.as_json()]
    else:
        parts = [role, fingerprint, *([m["role"], m["content"]] for m in ask)]
    text = json.dumps(parts, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


class ResponseJournal:
    """The answers of one episode.

    A long episode has hundreds of thousands: they stay on the disk, and one at a time is read.

    Args:
        path: The episode's own file; made by the first answer, so an episode that pays for
            nothing leaves none.
        episode: The episode's key. A file of another episode is discarded.

    Attributes:
        diverged_at: The call at which this run asked something else than the interrupted one;
            ``None`` while it has not.
    """

    def __init__(self, path: Path, episode: str) -> None:
        self.path = Path(path)
        self.episode = episode
        self.diverged_at: int | None = None
        self._file: FileIO | None = None
        self._count = self._end = 0
        for _, _, end in self._scan(None):
            self._count, self._end = self._count + 1, end
        # What the interrupted run left, from its beginning; what this run adds is not asked again.
        self._kept = self._scan(self._end)
        self._passed = 0
        self._next = next(self._kept, None)

    def __len__(self) -> int:
        return self._count

    def entries(self) -> Iterator[Entry]:
        """Every answer that can still be used, in order."""
        return (entry for _, entry, _ in self._scan(self._end))

    def replay(self, ordinal: int, request: str) -> Entry | None:
        """Find the answer to a call of the interrupted run.

        Args:
            ordinal: The call's number within the episode; never less than one asked for before.
            request: Its `request_hash`.

        Returns:
            The answer, or ``None`` if there is none. If the interrupted run asked something else
            here, this and all later answers are discarded and the log says so.
        """
        while self._next is not None and self._next[1].ordinal < ordinal:
            self._passed += 1
            self._next = next(self._kept, None)
        if self._next is None:
            return None
        start, entry, _ = self._next
        if entry.ordinal == ordinal and entry.request == request:
            return entry
        self._diverge(ordinal, start)
        return None

    def append(self, entry: Entry) -> None:
        """Keep an answer; it is on the disk when this returns.

        Raises:
            StoreFailure: It could not be written (a full disk).
        """
        record = {
            **asdict(entry),
            "money_usd": str(entry.money_usd),
            "episode": self.episode,
            "version": SCHEMA_VERSION,
        }
        line = json.dumps(record, ensure_ascii=True, separators=(",", ":")).encode("ascii") + b"\n"
        try:
            file = self._open()
            if file.write(line) != len(line):  # an unbuffered write may stop short of a full disk
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(file.fileno())
        except OSError as error:
            self.close()  # opening again cuts off what was half written
            raise self._failure(error) from error
        self._count += 1
        self._end += len(line)

    def delete(self) -> None:
        """The episode has ended and its result is stored: forget everything."""
        self.close()
        try:
            self.path.unlink(missing_ok=True)
        except OSError as error:
            raise self._failure(error) from error
        self._count = self._end = 0
        self._next = None

    def close(self) -> None:
        """Close the file and keep it for a later run."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _open(self) -> FileIO:
        """Open for appending behind the last whole line, cutting off a torn one."""
        if self._file is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            file = FileIO(self.path, "ab")
            file.truncate(self._end)
            self._file = file
        return self._file

    def _diverge(self, ordinal: int, start: int) -> None:
        """Discard what the interrupted run kept from a byte of the file on."""
        self.diverged_at = ordinal
        _log.warning(
            "Episode %s took another course at call %d than the interrupted run: %d kept "
            "answer(s) do not fit it and are discarded; those calls are made again.",
            self.episode,
            ordinal,
            self._count - self._passed,
        )
        self._end, self._count, self._next = start, self._passed, None
        try:
            self.close()
            os.truncate(self.path, self._end)
        except OSError as error:
            raise self._failure(error) from error

    def _scan(self, limit: int | None) -> Iterator[tuple[int, Entry, int]]:
        """Read on to the first line that is torn, foreign or out of order.

        Args:
            limit: Byte at which to stop; ``None`` for the end of the file.

        Yields:
            Where a line starts, its answer, and where it ends.
        """
        start, last = 0, -1
        try:
            with open(self.path, "rb") as file:
                for line in file:
                    if start == limit:
                        return
                    entry = self._parse(line)
                    if entry is None or entry.ordinal <= last:
                        _log.info("Journal %s: cut at byte %d.", self.path, start)
                        return
                    end = start + len(line)
                    yield start, entry, end
                    start, last = end, entry.ordinal
        except FileNotFoundError:
            return
        except OSError as error:
            raise self._failure(error) from error

    def _parse(self, line: bytes) -> Entry | None:
        if not line.endswith(b"\n"):
            return None
        try:
            record = json.loads(line)
            if (record["version"], record["episode"]) != (SCHEMA_VERSION, self.episode):
                return None
            return _entry(record)
        except (ValueError, KeyError, TypeError, ArithmeticError):
            return None

    def _failure(self, error: OSError) -> StoreFailure:
        return StoreFailure(
            f"The answers of the running episode cannot be kept in {self.path}: {error}.",
            mend="Make room on the disk or make the folder writable, and start again; finished "
            "episodes are safe.",
        )


def _entry(record: dict[str, Any]) -> Entry:
    answer = record["completion"]
    ordinal, request, reservation = record["ordinal"], record["request"], record["reservation"]
    text, model, reason = answer["text"], answer["model"], answer["finish_reason"]
    usage, blocks = Usage(**answer["usage"]), _blocks(answer.get("blocks", ()))
    if not (
        all(isinstance(value, str) for value in (request, reservation, text, model, reason))
        and all(type(value) is int for value in (ordinal, usage.input_tokens, usage.output_tokens))
    ):
        raise TypeError("a field has the wrong type")
    return Entry(
        ordinal=ordinal,
        request=request,
        reservation=reservation,
        money_usd=Decimal(record["money_usd"]),
        seconds=float(record["seconds"]),
        completion=Completion(text, usage, reason, model, blocks),
    )


def _blocks(kept: Any) -> tuple[Block, ...]:
    if not all(isinstance(block, dict) and isinstance(block.get("type"), str) for block in kept):
        raise TypeError("a block has the wrong type")
    return tuple(kept)
