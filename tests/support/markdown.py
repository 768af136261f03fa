"""The project's documents, taken apart: fenced blocks, prose, inline code, links, headings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

_FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
_LINK = re.compile(r"\]\(([^()\s]+)\)")
_HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*$", re.MULTILINE)
_COMMENT = re.compile(r"(?:#|\{#)\s+(\S+?)(?:\s+#\})?\s*\n")


@dataclass(frozen=True)
class Block:
    """A fenced block.

    Attributes:
        document: The document's path, relative to the checkout.
        language: What stands behind the fence; may be empty.
        text: The content.
    """

    document: str
    language: str
    text: str

    @property
    def names(self) -> str | None:
        """The file that the block's first line says it is, if it does."""
        found = _COMMENT.match(self.text)
        return found[1] if found else None


@dataclass(frozen=True)
class Document:
    """One Markdown file."""

    path: str

    @property
    def text(self) -> str:
        """All of it."""
        return (ROOT / self.path).read_text(encoding="utf-8")

    @property
    def prose(self) -> str:
        """The text without fenced blocks."""
        return _FENCE.sub("", self.text)

    @property
    def blocks(self) -> list[Block]:
        """The fenced blocks in order."""
        return [Block(self.path, found[1], found[2]) for found in _FENCE.finditer(self.text)]

    @property
    def inline(self) -> list[str]:
        """Inline code, on one line each; in a table a bar is written with a backslash."""
        return [" ".join(code.replace(r"\|", "|").split()) for code in _CODE.findall(self.prose)]

    @property
    def links(self) -> list[str]:
        """Targets of links and images."""
        return _LINK.findall(self.prose)

    @property
    def anchors(self) -> set[str]:
        """What a link into this document may name."""
        return {_slug(title) for title in _HEADING.findall(self.prose)}

    def rows(self, heading: str) -> Iterator[list[str]]:
        """Cells of each table row below a heading, up to the next one."""
        section = re.split(r"^#{1,6} ", self.prose, flags=re.MULTILINE)
        body = next(part for part in section if part.startswith(heading))
        for line in body.splitlines():
            if line.startswith("|") and not set(line) <= set("|- "):
                cells = re.split(r"(?<!\\)\|", line)[1:-1]
                yield [cell.strip().replace(r"\|", "|") for cell in cells]


@cache
def documents() -> tuple[Document, ...]:
    """Every document a reader may come upon."""
    patterns = ("*.md", "docs/*.md", "artifacts/README.md", "scaffolds/**/*.md")
    found = {path for pattern in patterns for path in ROOT.glob(pattern)}
    seeds = {path for path in found if path.parent.name == "memory"}
    return tuple(Document(path.relative_to(ROOT).as_posix()) for path in sorted(found - seeds))


def document(path: str) -> Document:
    """One of `documents` by its path."""
    return next(one for one in documents() if one.path == path)


def block_named(path: str, file: str) -> Block:
    """The block of a document whose first line names a file."""
    return next(block for block in document(path).blocks if block.names == file)


def _slug(title: str) -> str:
    plain = re.sub(r"[^\w\- ]", "", title.replace("`", "").lower())
    return plain.replace(" ", "-")
