"""The ``files`` backend: memory as named text files, reset every episode.

Files are kept as lists of lines. Every operation either happens whole or raises `MemoryRefusal`;
names are plain (`NAME`), and the total size has a cap.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from agents.memory.base import MemoryRefusal, MemoryResult, MemoryStats

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]{0,63}")
MAX_FILES = 64
_STEP_NUMBER = re.compile(r"\b(?:step|t)\s*[=#:]?\s*\d+\b:?|^\s*(?:\[\d+\]:?|\d+:)", re.IGNORECASE)
_SPACE = re.compile(r"\s+")


def essence(line: str) -> str:
    """A line without white space and step numbers: what decides whether it says anything new."""
    return _SPACE.sub(" ", _STEP_NUMBER.sub(" ", line)).strip()


class FilesBackend:
    """Memory as files of lines.

    Args:
        search_limit: Matches a SEARCH returns at most, the newest ones.
        read_limit: Characters a READ or TAIL returns at most.
        size_limit: Characters of all files together.
    """

    def __init__(
        self, *, search_limit: int = 100, read_limit: int = 8000, size_limit: int = 1_000_000
    ) -> None:
        self._search_limit = search_limit
        self._read_limit = read_limit
        self._size_limit = size_limit
        self._files: dict[str, list[str]] = {}
        self._known: dict[str, Counter[str]] = {}
        self._size = 0
        self._table: dict[str, tuple[int, Callable[..., MemoryResult]]] = {
            "SEARCH": (2, self._search),
            "READ": (1, self._read),
            "TAIL": (2, self._tail),
            "COUNT": (2, self._count),
            "APPEND": (2, self._append),
            "WRITE": (2, self._replace),
            "CREATE": (1, self._create),
            "FILES": (0, self._list),
            "TEXT": (1, self._text),
            "PUT": (2, self._write),  # for hooks: these two make the file if need be
            "ADD": (2, self._add),
        }

    @property
    def operations(self) -> Mapping[str, int]:
        """Operation names with their number of arguments."""
        return {name: count for name, (count, _) in self._table.items()}

    def begin_episode(self, seed_files: Mapping[str, str]) -> None:
        """Forget everything and start from the seed files."""
        self.restore(seed_files)

    def end_episode(self, outcome: str) -> None:
        """Nothing outlives an episode here."""

    def run(self, operation: str, arguments: Sequence[str]) -> MemoryResult:
        """Carry out one operation; see `agents.memory.base.MemoryBackend.run`."""
        entry = self._table.get(operation)
        if entry is None:
            raise MemoryRefusal(f"Memory has no operation {operation}.")
        count, function = entry
        if len(arguments) != count:
            raise MemoryRefusal(f"{operation} takes {count} arguments, not {len(arguments)}.")
        return function(*arguments)

    def snapshot(self) -> dict[str, str]:
        """Every file's text by name, each line with its end."""
        return {name: "".join(f"{line}\n" for line in lines) for name, lines in self._files.items()}

    def restore(self, snapshot: Mapping[str, str]) -> None:
        """Replace everything by a snapshot; one that does not fit changes nothing."""
        before = self._files, self._known, self._size
        self._files, self._known, self._size = {}, {}, 0
        try:
            for name, text in snapshot.items():
                self._put(name, text.splitlines())
        except MemoryRefusal:
            self._files, self._known, self._size = before
            raise

    def stats(self) -> MemoryStats:
        """Number of files and characters (line ends included)."""
        return MemoryStats(len(self._files), self._size)

    # --- reading ----------------------------------------------------------------------------

    def _search(self, file: str, text: str) -> MemoryResult:
        found = self._matches(file, text)
        if not found:
            return MemoryResult("(no match)", 0)
        shown = found[-self._search_limit :]
        if len(shown) == len(found):
            return MemoryResult("\n".join(shown), len(found))
        notice = f"({len(found) - len(shown)} older matches not shown)"
        return MemoryResult("\n".join([notice, *shown]), len(found))

    def _read(self, file: str) -> MemoryResult:
        text = "\n".join(self._lines(file))
        if len(text) <= self._read_limit:
            return MemoryResult(text or "(empty)")
        missing = len(text) - self._read_limit
        return MemoryResult(f"{text[: self._read_limit]}\n({missing} more characters not shown)")

    def _tail(self, file: str, n: str) -> MemoryResult:
        try:
            count = int(n)
        except ValueError:
            raise MemoryRefusal(f"'{n[:40]}' is no number of lines.") from None
        if count < 1:
            raise MemoryRefusal("TAIL needs at least 1 line.")
        text = "\n".join(self._lines(file)[-count:])
        if len(text) <= self._read_limit:
            return MemoryResult(text or "(empty)")
        missing = len(text) - self._read_limit
        return MemoryResult(
            f"({missing} earlier characters not shown)\n{text[-self._read_limit :]}"
        )

    def _count(self, file: str, text: str) -> MemoryResult:
        count = len(self._matches(file, text))
        return MemoryResult(str(count), count)

    def _list(self) -> MemoryResult:
        return MemoryResult("\n".join(self._files))

    def _text(self, file: str) -> MemoryResult:
        return MemoryResult("\n".join(self._lines(file)))

    # --- writing ----------------------------------------------------------------------------

    def _append(self, file: str, text: str) -> MemoryResult:
        self._lines(file)
        return self._add(file, text)

    def _add(self, file: str, text: str) -> MemoryResult:
        self._check_name(file)
        added = text.splitlines() or [""]
        known = self._known.get(file, Counter())
        novel = any(essence(line) and not known[essence(line)] for line in added)
        self._reserve(file, sum(map(len, added)) + len(added))
        self._files.setdefault(file, []).extend(added)
        self._known.setdefault(file, Counter()).update(map(essence, added))
        return MemoryResult("appended", novel=novel)

    def _replace(self, file: str, text: str) -> MemoryResult:
        self._lines(file)
        return self._write(file, text)

    def _write(self, file: str, text: str) -> MemoryResult:
        self._check_name(file)
        lines = text.splitlines()
        known = self._known.get(file, Counter())
        novel = any(essence(line) and not known[essence(line)] for line in lines)
        self._put(file, lines)
        return MemoryResult("written", novel=novel)

    def _create(self, file: str) -> MemoryResult:
        self._check_name(file)
        if file in self._files:
            raise MemoryRefusal(f"The file {file} is already there.")
        self._put(file, [])
        return MemoryResult("created", novel=False)

    def _put(self, file: str, lines: list[str]) -> None:
        self._check_name(file)
        old = self._files.get(file, [])
        self._reserve(file, sum(map(len, lines)) + len(lines) - sum(map(len, old)) - len(old))
        self._files[file] = lines
        self._known[file] = Counter(map(essence, lines))

    def _reserve(self, file: str, growth: int) -> None:
        if file not in self._files and len(self._files) >= MAX_FILES:
            raise MemoryRefusal(f"There are {MAX_FILES} files already: use one of them.")
        if self._size + growth > self._size_limit:
            raise MemoryRefusal(
                f"Memory is full ({self._size} of {self._size_limit} characters):"
                " shorten a file first."
            )
        self._size += growth

    # --- shared -----------------------------------------------------------------------------

    def _matches(self, file: str, text: str) -> list[str]:
        needle = text.lower()
        return [line for line in self._lines(file) if needle in line.lower()]

    def _lines(self, file: str) -> list[str]:
        lines = self._files.get(file)
        if lines is None:
            self._check_name(file)
            known = ", ".join(self._files) or "none yet"
            raise MemoryRefusal(f"There is no file '{file}'. Files: {known}.")
        return lines

    def _check_name(self, file: str) -> None:
        if file not in self._files and (not NAME.fullmatch(file) or ".." in file):
            raise MemoryRefusal(
                f"'{file[:80]}' is no file name: use up to 64 letters, digits, '_', '-' or '.'."
            )
