"""An episode's full trace: JSON Lines, compressed with zstd.

The records, in order:

| type | holds |
|---|---|
| ``header`` | schema version, the episode's spec, the environment's instructions |
| ``text`` | a text with its number; every text is written once and referred to by number |
| ``step`` | one step: observation, turns of LOG and PLAN, hooks' memory use, action, events |
| ``end`` | ``complete`` or why not, outcome, last sight, memory at the end, an unfinished step |

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
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import zstandard

from orchestrator.errors import SlowwaveError

SCHEMA = 1
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class TrajectoryError(SlowwaveError):
    """A trajectory cannot be read."""


class TrajectoryWriter:
    """Records one episode.

    Args:
        path: Where the finished trajectory shall lie.
        header: Facts about the episode for the ``header`` record.
    """

    def __init__(self, path: Path, header: dict[str, Any]) -> None:
        self.path = path
        # Named by process, so that two that play the same episode do not write into one file.
        self.partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self.partial.open("wb")
        self._stream = zstandard.ZstdCompressor(level=3).stream_writer(self._file, closefd=False)
        self._digest = hashlib.sha256()
        self._numbers: dict[bytes, int] = {}
        self._write({"type": "header", "schema": SCHEMA, **header})

    def text(self, text: str) -> int:
        """The number of a text, which is written down the first time it is seen."""
        # Known by its hash: all texts of a long episode would fill the memory.
        key = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._numbers)
            self._seal({"type": "text", "id": number, "text": text})
        return number

    def step(self, record: dict[str, Any]) -> None:
        """Write one step; its fields stand in `orchestrator.episodes.player`."""
        self._seal({"type": "step", **record})

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
        self._texts: list[str] = []

    def steps(self) -> Iterator[dict[str, Any]]:
        """Step records in order, each with its observation's text filled in.

        After the last one, `end` tells whether the trajectory is complete or was abandoned.

        Raises:
            TrajectoryError: The file is missing, of an unknown schema, damaged, or has no end; what
                can be read comes first.
        """
        for record in self._records():
            kind = record.get("type")
            if kind == "header":
                self._check(record)
            elif kind == "text":
                self._texts.append(record["text"])
            elif kind == "step":
                yield {**record, "observation_text": self._texts[record["observation"]]}
            elif kind == "end":
                self.end = record
                return
        raise self._damage("it has no end")

    def text(self, number: int) -> str:
        """A text by its number, once its record has been read."""
        return self._texts[number]

    def turns(self, step: dict[str, Any]) -> Iterator[Turn]:
        """A step's model turns with their whole conversations."""
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

    def _check(self, record: dict[str, Any]) -> None:
        if record.get("schema") != SCHEMA:
            raise TrajectoryError(
                f"{self.path} has schema {record.get('schema')}, and this version reads {SCHEMA}.",
                mend="Read it with the version of slowwave that wrote it.",
            )
        self.header = record

    def _records(self) -> Iterator[dict[str, Any]]:
        try:
            with self.path.open("rb") as file:
                stream = zstandard.ZstdDecompressor().stream_reader(file)
                for line in io.TextIOWrapper(stream, encoding="utf-8"):
                    yield json.loads(line)
        except FileNotFoundError:
            raise TrajectoryError(
                f"There is no trajectory {self.path}.", mend="Play the episode again."
            ) from None
        except (zstandard.ZstdError, ValueError, EOFError) as error:
            raise self._damage(str(error)) from None

    def _damage(self, how: str) -> TrajectoryError:
        return TrajectoryError(
            f"{self.path} is damaged or cut off: {how}.",
            mend="Delete it and play the episode again.",
        )
