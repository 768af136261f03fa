"""Unified differences as highlighted HTML, within a given size.

What a diff holds was written by a model: every character is escaped, and those that hide or
reorder text are shown by their number, so that what a reviewer reads is what would run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

from markupsafe import Markup, escape
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexer import Lexer
from pygments.lexers import DjangoLexer, MarkdownLexer, PythonLexer, TOMLLexer

from orchestrator.report.words import visible

LIGHT, DARK = "xcode", "github-dark"
"""Pygments styles whose colours can be read on the page's backgrounds in either scheme."""

MAX_HIGHLIGHTED = 20_000
"""Characters of a hunk beyond which it is shown plain: highlighting is slower than reading."""

_LEXERS: dict[str, type[Lexer]] = {
    ".py": PythonLexer,
    ".j2": DjangoLexer,
    ".toml": TOMLLexer,
    ".md": MarkdownLexer,
}
_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)", re.DOTALL)
# Git names the last line that starts with a letter, whatever it is; this is what helps a reader.
_PLACE = re.compile(r"(?:async )?def |class |\[|#")

Kind = Literal["add", "remove", "context", "hunk", "note"]


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line: what it is, its number in the older and the newer file, its content."""

    kind: Kind
    old: int | None
    new: int | None
    text: str


@dataclass(slots=True)
class FileDiff:
    """The difference of one file."""

    path: str
    lines: list[DiffLine] = field(default_factory=list)

    @property
    def added(self) -> int:
        """Lines added."""
        return sum(line.kind == "add" for line in self.lines)

    @property
    def removed(self) -> int:
        """Lines removed."""
        return sum(line.kind == "remove" for line in self.lines)


@dataclass(frozen=True, slots=True)
class ShownLine:
    """A line ready for the page."""

    kind: Kind
    old: int | None
    new: int | None
    html: Markup


@dataclass(frozen=True, slots=True)
class ShownFile:
    """A file ready for the page; `left_out` lines had no room."""

    path: str
    added: int
    removed: int
    lines: tuple[ShownLine, ...]
    left_out: int


def parse(diff: str) -> list[FileDiff]:
    """The files of a unified difference as git writes it."""
    files: list[FileDiff] = []
    old = new = 0
    in_hunk = False
    # Not splitlines: a form feed or a line separator inside a line does not end it.
    for line in diff.removesuffix("\n").split("\n"):
        hunk = _HUNK.fullmatch(line)
        if line.startswith("diff --git "):
            files.append(FileDiff(line.rpartition(" b/")[2]))
            in_hunk = False
        elif not files:
            continue
        elif hunk:
            old, new = int(hunk[1]), int(hunk[2])
            heading = hunk[3].strip() if _PLACE.match(hunk[3].strip()) else ""
            if heading or in_hunk:
                files[-1].lines.append(DiffLine("hunk", None, None, heading or "…"))
            in_hunk = True
        elif not in_hunk:
            _read_header(files[-1], line)
        elif line.startswith("+"):
            files[-1].lines.append(DiffLine("add", None, new, line[1:]))
            new += 1
        elif line.startswith("-"):
            files[-1].lines.append(DiffLine("remove", old, None, line[1:]))
            old += 1
        elif line.startswith("\\"):
            files[-1].lines.append(DiffLine("note", None, None, line[2:]))
        else:
            files[-1].lines.append(DiffLine("context", old, new, line[1:]))
            old, new = old + 1, new + 1
    return files


def show(diff: str, room: int) -> list[ShownFile]:
    """A difference ready for the page.

    Args:
        diff: The unified difference.
        room: Characters of HTML it may take, about; the rest is counted, not shown.
    """
    shown = []
    for file in parse(diff):
        lines: list[ShownLine] = []
        for line in _highlighted(file):
            room -= len(line.html) + 60  # the tags around it
            if room < 0:
                break
            lines.append(line)
        left_out = len(file.lines) - len(lines)
        shown.append(ShownFile(file.path, file.added, file.removed, tuple(lines), left_out))
    return shown


@cache
def colours() -> Markup:
    """Style rules for both colour schemes."""
    dark = "\n".join(_rules(DARK))
    light = "\n".join(_rules(LIGHT))
    return Markup(f"{light}\n@media screen and (prefers-color-scheme: dark) {{\n{dark}\n}}")


def _rules(style: str) -> Iterator[str]:
    text: str = HtmlFormatter(style=style).get_style_defs(".code")
    for line in text.splitlines():
        # Only colours of tokens: backgrounds are the page's, and a fault is no matter of a lexer.
        if line.startswith(".code .") and not line.startswith(".code .err"):
            yield re.sub(r"\s*/\*.*?\*/|background-color: [^;}]+;?", "", line)


def _read_header(file: FileDiff, line: str) -> None:
    marks = ("new file", "deleted file", "similarity", "rename", "Binary files")
    if line.startswith(marks):
        file.lines.append(DiffLine("note", None, None, line.partition(" mode ")[0]))
    elif line.startswith("+++ b/"):
        file.path = line.removeprefix("+++ b/").removesuffix("\t")


def _highlighted(file: FileDiff) -> Iterator[ShownLine]:
    """The lines with their colours; a hunk at a time, for a hunk is all there is of the file."""
    hunk: list[DiffLine] = []
    for line in file.lines:
        if line.kind == "hunk":
            yield from _hunk(hunk, file.path)
            hunk = []
        hunk.append(line)
    yield from _hunk(hunk, file.path)


def _hunk(lines: Sequence[DiffLine], path: str) -> Iterator[ShownLine]:
    # Both sides of a hunk are code in its own right, and are highlighted as such.
    before = iter(_colour([x.text for x in lines if x.kind in ("context", "remove")], path))
    after = iter(_colour([x.text for x in lines if x.kind in ("context", "add")], path))
    for line in lines:
        html = escape(visible(line.text))
        if line.kind in ("context", "remove"):
            html = next(before)
        if line.kind in ("context", "add"):
            html = next(after)
        yield ShownLine(line.kind, line.old, line.new, html)


def _colour(lines: Sequence[str], path: str) -> list[Markup]:
    plain = [visible(line) for line in lines]
    code = "\n".join(plain)
    kind = next((_LEXERS[end] for end in _LEXERS if path.endswith(end)), None)
    if kind is not None and len(code) <= MAX_HIGHLIGHTED:
        lexer = kind(stripnl=False, ensurenl=True)
        html = highlight(code, lexer, HtmlFormatter(nowrap=True)).removesuffix("\n").split("\n")
        if len(html) == len(plain):
            return [Markup(line) for line in html]
    return [escape(line) for line in plain]
