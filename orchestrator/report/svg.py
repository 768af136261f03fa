"""Matplotlib figures as inline SVG that takes its colours and its font from the page.

Matplotlib is told colours that stand for the page's style variables, so that one drawing serves
both colour schemes. It is imported when something is drawn: the command line starts without it.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from markupsafe import Markup

from orchestrator.report.words import visible

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK, MUTED, GRID, PAGE = "#000001", "#000002", "#000003", "#000004"
BEFORE, BETTER, WORSE, BAND = "#000005", "#000006", "#000007", "#000008"

_VARIABLES = {
    INK: "ink",
    MUTED: "muted",
    GRID: "grid",
    PAGE: "page",
    BEFORE: "before",
    BETTER: "better",
    WORSE: "worse",
    BAND: "band",
}
_COLOUR = re.compile("|".join(_VARIABLES))
_FONT = re.compile(r"font-family:[^;]*;?\s*")
_REFERENCE = re.compile(r"url\(#([^)]*)\)")
_TIP = "tip:"

_SETTINGS: dict[str, Any] = {
    "axes.edgecolor": GRID,
    "axes.facecolor": "none",
    "axes.labelcolor": MUTED,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": INK,
    "axes.titlelocation": "left",
    "axes.titlesize": 13,
    "axes.titleweight": "bold",
    "figure.dpi": 72,  # so that a unit of the drawing is a pixel of the page
    "figure.facecolor": "none",
    "font.size": 13,
    "grid.color": GRID,
    "svg.fonttype": "none",
    "text.color": INK,
    "text.parse_math": False,
    "xtick.color": GRID,
    "xtick.labelcolor": MUTED,
    "ytick.color": GRID,
    "ytick.labelcolor": MUTED,
}


@contextmanager
def drawing() -> Iterator[None]:
    """Draw with our settings, whatever the user's matplotlibrc says."""
    from matplotlib import style

    with style.context(["default", _SETTINGS]):
        yield


def tip(text: str) -> str:
    """A group id that becomes a tooltip: ``artist.set_gid(tip("v0: 54.5%"))``."""
    return _TIP + visible(text)


def inline(figure: Figure, *, name: str, label: str) -> Markup:
    """A figure as an ``svg`` element; call inside `drawing`.

    Args:
        figure: The figure.
        name: Prefix of the ids in it, each figure its own.
        label: What it shows, for those who do not see it.
    """
    import matplotlib

    with matplotlib.rc_context({"svg.hashsalt": name}), io.StringIO() as file:
        # Without metadata: it would carry the date, and addresses of other sites.
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(file, format="svg", metadata=nothing)
        root = ElementTree.fromstring(file.getvalue())
    for parent in list(root.iter()):
        for child in list(parent):
            if _plain(child.tag) in ("style", "metadata"):
                parent.remove(child)
    for element in list(root.iter()):
        _adopt(element, name)
    for size in ("width", "height", "version"):
        root.attrib.pop(size, None)
    root.attrib.update({"role": "img", "aria-label": visible(label), "class": name})
    return Markup(ElementTree.tostring(root, encoding="unicode"))


def _adopt(element: ElementTree.Element, name: str) -> None:
    """Make one element the page's own: no namespace, ids, colours and font of the page."""
    element.tag = _plain(element.tag)
    attributes = {_plain(key): value for key, value in element.attrib.items()}
    identity = attributes.pop("id", "")
    if identity.startswith(_TIP):
        title = ElementTree.Element("title")
        title.text = identity.removeprefix(_TIP)
        element.insert(0, title)
    elif identity:
        attributes["id"] = f"{name}-{identity}"
    if "href" in attributes:
        attributes["href"] = f"#{name}-{attributes['href'].removeprefix('#')}"
    for key, value in attributes.items():
        if key == "style":
            value = _FONT.sub("", _COLOUR.sub(lambda c: f"var(--{_VARIABLES[c[0]]})", value))
        attributes[key] = _REFERENCE.sub(rf"url(#{name}-\1)", value)
    element.attrib.clear()
    element.attrib.update(attributes)


def _plain(name: str) -> str:
    return name.rpartition("}")[2]
