"""Reads a page strictly: every element that is opened is closed, in order."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = frozenset({"meta", "link", "br", "hr", "img", "input", "wbr", "col"})


@dataclass
class Element:
    """An element, its attributes, and what is in it: text and elements in their order."""

    tag: str
    attributes: dict[str, str]
    content: list[Element | str] = field(default_factory=list)

    def all(self, tag: str = "") -> list[Element]:
        """Every element inside, in the order of the page; of one tag if given."""
        inside = [one for one in self.content if isinstance(one, Element)]
        nested = [x for one in inside for x in (one, *one.all())]
        return [one for one in nested if tag in ("", one.tag)]

    def text(self, without: tuple[str, ...] = ()) -> str:
        """The text inside, spaces run together."""
        parts = [
            one if isinstance(one, str) else "" if one.tag in without else one.text(without)
            for one in self.content
        ]
        return " ".join(" ".join(parts).split())

    def with_id(self, identity: str) -> Element:
        """The element with that id."""
        return next(one for one in self.all() if one.attributes.get("id") == identity)

    def outline(self, without: tuple[str, ...] = ()) -> list[tuple[str, tuple[str, ...]]]:
        """Tags and names of attributes of everything inside: the page without what it says."""
        found = []
        for one in self.content:
            if isinstance(one, Element):
                found.append((one.tag, tuple(one.attributes)))
                if one.tag not in without:
                    found.extend(one.outline(without))
        return found


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("", {})
        self._open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(set(names)) == len(names), f"<{tag}> has an attribute twice: {names}"
        element = Element(tag, {name: value or "" for name, value in attrs})
        self._open[-1].content.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self._open[-1].content.append(element)

    def handle_endtag(self, tag: str) -> None:
        opened = self._open.pop()
        assert opened.tag == tag, f"</{tag}> closes <{opened.tag}>, line {self.getpos()[0]}"

    def handle_data(self, data: str) -> None:
        self._open[-1].content.append(data)

    def close(self) -> None:
        super().close()
        assert self._open == [self.root], f"<{self._open[-1].tag}> is not closed"


def read_html(page: str) -> Element:
    """The page as a tree; fails on what is not well formed."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    return reader.root
