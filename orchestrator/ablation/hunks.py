"""A change taken apart into hunks, and what is said of each once it was measured.

A hunk is a run of changed lines with nothing but unchanged ones around it, or a file that is new or
gone. What a hunk contributes is the paired difference between the revision and the revision without
it (leave one out). Hunks that only work together each seem to contribute what both do.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from orchestrator.evaluation import Difference

AROUND = 1
"""Unchanged lines around a hunk: changes with at most two of them in between are one hunk."""

Files = Mapping[str, bytes]
Word = Literal["needed", "helps", "harms", "dead", "unclear"]


@dataclass(frozen=True, slots=True)
class Hunk:
    """One part of a change.

    Attributes:
        number: Its number in the revision, from 1.
        path: The file.
        old: First and last line (exclusive) of the file before that it takes the place of.
        new: First and last line (exclusive) of it in the file after.
        removed: The lines before.
        added: The lines after.
        whole: The file is new or gone as a whole.
    """

    number: int
    path: str
    old: tuple[int, int]
    new: tuple[int, int]
    removed: tuple[str, ...]
    added: tuple[str, ...]
    whole: bool = False

    @property
    def where(self) -> str:
        """Where it is, for a person."""
        if self.whole:
            return f"{self.path} ({'new' if self.added else 'gone'})"
        return f"{self.path}:{self.new[0] + 1}"


@dataclass(frozen=True, slots=True)
class Contribution:
    """What a hunk contributes.

    Attributes:
        hunk: The hunk.
        refusal: Why the revision cannot stand without it; empty if it can.
        difference: The revision minus the revision without it, in points of progression; ``None``
            if that could not be played.
        word: ``needed``: nothing could be played without it. ``helps``, ``harms``: the sign-flip
            test says so at its level. ``dead``: no game differs, or the interval lies within the
            margin. ``unclear``: none of these.
    """

    hunk: Hunk
    refusal: str
    difference: Difference | None
    word: Word


def hunks_between(old: Files, new: Files) -> list[Hunk]:
    """The hunks that lead from one set of files to another, by file and line."""
    found: list[Hunk] = []
    for path in sorted({*old, *new}):
        if old.get(path) == new.get(path):
            continue
        before, after = _lines(old.get(path)), _lines(new.get(path))
        for span in _spans(path, old, new, before, after):
            (i, j), (k, m) = span
            found.append(
                Hunk(
                    number=len(found) + 1,
                    path=path,
                    old=(i, j),
                    new=(k, m),
                    removed=tuple(before[i:j]),
                    added=tuple(after[k:m]),
                    whole=path not in old or path not in new,
                )
            )
    return found


def without(old: Files, new: Files, hunks: Sequence[Hunk], dropped: Collection[int]) -> Files:
    """The files after the change but for some of its hunks.

    Args:
        old: The files before.
        new: The files after.
        hunks: All hunks of the change.
        dropped: Numbers of those to leave out.
    """
    files = dict(new)
    for path in sorted({hunk.path for hunk in hunks if hunk.number in dropped}):
        mine = [hunk for hunk in hunks if hunk.path == path and hunk.number in dropped]
        if mine[0].whole:
            if path in old:
                files[path] = old[path]
            else:
                del files[path]
            continue
        lines = _lines(new[path])
        for hunk in reversed(mine):  # from the end, so that line numbers before it stay right
            lines[hunk.new[0] : hunk.new[1]] = hunk.removed
        files[path] = "".join(lines).encode("utf-8", "surrogateescape")
    return files


def credit(hunk: Hunk, difference: Difference, *, alpha: float, margin: float) -> Contribution:
    """Judge what was measured of a hunk.

    Args:
        hunk: The hunk.
        difference: The revision minus the revision without it.
        alpha: Two-sided level; for a family of hunks, already divided by their number.
        margin: Points of progression within which the whole 95% interval must lie for ``dead``.
    """
    return Contribution(hunk, "", difference, _word(difference, alpha, margin))


def _word(found: Difference, alpha: float, margin: float) -> Word:
    if found.effect is None:
        return "unclear"
    if found.p is not None and found.p <= alpha:
        return "helps" if found.effect > 0 else "harms"
    if found.low is None or found.high is None:  # of equal differences there is no interval
        return "dead" if found.effect == 0 and found.pairs > 1 else "unclear"
    return "dead" if -margin <= found.low and found.high <= margin else "unclear"


def _lines(data: bytes | None) -> list[str]:
    return (data or b"").decode("utf-8", "surrogateescape").splitlines(keepends=True)


def _spans(
    path: str, old: Files, new: Files, before: list[str], after: list[str]
) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    if path not in old or path not in new:
        yield (0, len(before)), (0, len(after))
        return
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for group in matcher.get_grouped_opcodes(AROUND):
        changed = [code for code in group if code[0] != "equal"]
        first, last = changed[0], changed[-1]
        yield (first[1], last[2]), (first[3], last[4])
