"""An episode's full trace: JSON Lines, compressed with zstd.

The records, in order:

| type | holds |
|---|---|
| ``header`` | schema version, texts kept, the episode's spec, the environment's instructions |
| ``text`` | a text with its number, by which the records after it refer to it |
| ``step`` | one step: observation, turns, memory writes, action, events, progression if risen |
| ``end`` | ``complete`` or why not, outcome, last sight, memory at the end, an unfinished step |

Only the newest texts are known by their numbers, so that neither writer nor reader grows with the
episode: after each step all but the newest `TEXTS_KEPT` are forgotten, by both. Never within a
step, so that no record refers to a forgotten text; one that comes again is written again, under a
new number.

A trajectory is written to a ``.partial`` file and takes its name only when it is complete. The
digest covers every ``text`` and ``step`` record and the progression: all that the agent saw, wrote
and did, and nothing that depends on the machine or the clock.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import zstandard

from orchestrator.errors import SlowwaveError

SCHEMA = 2

TEXTS_KEPT = 1024
"""Texts known by their numbers between two steps; the numbers, and so the digest, depend on it."""

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class TrajectoryError(SlowwaveError):
    """A trajectory cannot be read."""


class TrajectoryWriter:
    """Records one episode.

    Args:
        path: Where the finished trajectory shall lie.
        header: Facts about the episode for the ``header`` record.
        texts_kept: Texts known by their numbers from one step to the next; tests need few.
    """

    def __init__(self, path: Path, header: dict[str, Any], *, texts_kept: int = TEXTS_KEPT) -> None:
        self.path = path
        # Named by process, so that two that play the same episode do not write into one file.
        self.partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self.partial.open("wb")
        self._stream = zstandard.ZstdCompressor(level=3).stream_writer(self._file, closefd=False)
        self._digest = hashlib.sha256()
        self._texts_kept = texts_kept
        self._numbers: OrderedDict[bytes, int] = OrderedDict()
        self._next = 0
        self._write({"type": "header", "schema": SCHEMA, "texts_kept": texts_kept, **header})

    def text(self, text: str) -> int:
        """The number of a text, which is written down if it is not known.

        The number may be used in the next `step`, or in `finish`, and not after that.
        """
        # Known by its hash: texts are long.
        key = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = self._next
            self._next += 1
            self._seal({"type": "text", "id": number, "text": text})
        return number

    def step(self, record: dict[str, Any]) -> None:
        """Write one step; its fields stand in `orchestrator.episodes.player`."""
        self._seal({"type": "step", **record})
        _forget(self._numbers, self._texts_kept)

    def finish(self, *, progression: float, last_observation: int, **facts: Any) -> str:
        """Write the end, give the file its name, and return the digest.

        Args:
            progression: The environment's score in [0, 1].
            last_observation: Number of the text that the agent would have seen next.
            facts: What else the ``end`` record holds.
        """
        self._digest.update(f"last {last_observation} progression {progression!r}".encode())
        digest = self._digest.hexdigest()
        end = {"type": "end", "complete": True, "progression": progression, "digest": digest}
        self._write({**end, "last_observation": last_observation, **facts})
        self._close()
        os.replace(self.partial, self.path)
        self._sweep()
        return digest

    def abandon(self, reason: str) -> None:
        """Mark what there is as incomplete; it keeps its ``.partial`` name."""
        # ValueError: the stream is closed already, for it was in finishing that the disk was full.
        with contextlib.suppress(OSError, ValueError):
            self._write({"type": "end", "complete": False, "reason": reason})
            self._close()
        with contextlib.suppress(OSError):
            self._file.close()

    def _sweep(self) -> None:
        """Remove what killed runs of this episode left."""
        for left in self.path.parent.glob(f"{self.path.name}.*.partial"):
            number = left.name.rsplit(".", 2)[1]
            if number.isdecimal() and not _is_running(int(number)):
                left.unlink(missing_ok=True)

    def _seal(self, record: dict[str, Any]) -> None:
        self._digest.update(self._write(record))

    def _write(self, record: dict[str, Any]) -> bytes:
        line = _encode(record).encode("utf-8", "replace") + b"\n"
        self._stream.write(line)
        return line

    def _close(self) -> None:
        self._stream.close()  # type: ignore[no-untyped-call]
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()


def _forget(texts: OrderedDict[Any, Any], kept: int) -> None:
    """Forget the oldest; called after each step, for writing and for reading alike."""
    while len(texts) > kept:
        texts.popitem(last=False)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


@dataclass(frozen=True, slots=True)
class Turn:
    """One model turn, its texts filled in.

    Attributes:
        phase: ``LOG`` or ``PLAN``.
        role: The role of the model that answered.
        messages: The whole conversation it was shown.
        completion: What it answered.
        results: Pairs of command and result.
        ended: How the phase stood after it.
    """

    phase: str
    role: str
    messages: list[dict[str, str]]
    completion: str
    results: list[tuple[str, str]]
    ended: str


class Trajectory:
    """A trajectory read back, step by step, every text filled in."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.header: dict[str, Any] = {}
        self.end: dict[str, Any] = {"complete": False, "reason": "cut off"}
        self._texts: OrderedDict[int, str] = OrderedDict()
        self._next = 0

    def steps(self) -> Iterator[dict[str, Any]]:
        """Step records in order, each with its observation's text filled in.

        A step's other texts can be read (`text`, `turns`) until the next step is asked for. After
        the last one, `end` tells whether the trajectory is complete or was abandoned, and its texts
        can be read.

        Raises:
            TrajectoryError: The file is missing, of an unknown schema, damaged, or has no end; what
                can be read comes first.
        """
        self._texts.clear()
        self._next = 0
        records = self._records()
        kept = self._begin(next(records, {}))
        for record in records:
            kind = record.get("type")
            if kind == "text":
                self._add(record)
            elif kind == "step":
                yield {**record, "observation_text": self.text(record.get("observation"))}
                _forget(self._texts, kept)
            elif kind == "end":
                self.end = record
                return
        raise self._damage("it has no end")

    def text(self, number: Any) -> str:
        """A text by its number.

        Raises:
            TrajectoryError: It is not known, or no longer: see `steps`.
        """
        text = self._texts.get(number) if isinstance(number, int) else None
        if text is not None:
            return text
        if isinstance(number, int) and 0 <= number < self._next:
            raise TrajectoryError(
                f"The text {number} of {self.path} belongs to a step that was read long ago.",
                mend="Read a step's texts before the next step.",
            )
        raise self._damage(f"it refers to a text {number} that it does not hold")

    def turns(self, step: dict[str, Any]) -> Iterator[Turn]:
        """A step's model turns with their whole conversations.

        Args:
            step: The step that was read last, or what the end record holds as ``unfinished``.
        """
        messages: list[dict[str, str]] = []
        for record in step["turns"]:
            del messages[record["kept"] :]
            for role, number in record["new"]:
                messages.append({"role": role, "content": self.text(number)})
            yield Turn(
                record["phase"],
                record["role"],
                list(messages),
                self.text(record["completion"]),
                [(command, self.text(number)) for command, number in record["results"]],
                record["ended"],
            )

    def _begin(self, record: dict[str, Any]) -> int:
        """Take in the header; returns how many texts are kept."""
        if record.get("type") != "header":
            raise self._damage("it has no header")
        if record.get("schema") != SCHEMA:
            raise TrajectoryError(
                f"{self.path} has schema {record.get('schema')}, and this version reads {SCHEMA}.",
                mend="Read it with the version of slowwave that wrote it.",
            )
        kept = record.get("texts_kept")
        if not isinstance(kept, int) or kept < 0:
            raise self._damage("its header does not say how many texts are kept")
        self.header = record
        return kept

    def _add(self, record: dict[str, Any]) -> None:
        text = record.get("text")
        if record.get("id") != self._next or not isinstance(text, str):
            raise self._damage(f"its text {self._next} is missing")
        self._texts[self._next] = text
        self._next += 1

    def _records(self) -> Iterator[dict[str, Any]]:
        try:
            with self.path.open("rb") as file:
                stream = zstandard.ZstdDecompressor().stream_reader(file)
                for line in io.BufferedReader(stream):
                    yield self._record(line)
        except FileNotFoundError:
            raise TrajectoryError(
                f"There is no trajectory {self.path}.", mend="Play the episode again."
            ) from None
        except (zstandard.ZstdError, EOFError) as error:
            raise self._damage(str(error)) from None

    def _record(self, line: bytes) -> dict[str, Any]:
        if not line.endswith(b"\n"):
            raise self._damage("it stops in the middle of a record")
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise self._damage(f"a record cannot be read ({error})") from None
        if not isinstance(record, dict):
            raise self._damage("a record is no JSON object")
        return record

    def _damage(self, how: str) -> TrajectoryError:
        return TrajectoryError(
            f"{self.path} is damaged or cut off: {how}.",
            mend="Delete it and play the episode again.",
        )
