"""What the terminal shows when NetHack waits for a key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

OBSERVED = (
    "glyphs", "chars", "blstats", "message", "inv_strs", "inv_letters", "screen_descriptions",
    "tty_chars", "tty_colors", "tty_cursor",
)  # fmt: skip
"""The observations of NLE's that are asked for; it always adds ``internal``, which says what kind
of key NetHack waits for and which no player sees."""

MESSAGE_ROWS = 3
"""A message takes the first row of the terminal, or runs on over the next two."""

_MORE = "--More--"
_IN_QUESTION, _IN_LINE, _WAITS_FOR_SPACE = 1, 2, 3


@dataclass(frozen=True, slots=True)
class Page:
    """What is to be read at one moment.

    Attributes:
        text: The message or the text window; lines of a window are kept apart.
        more: More follows when it is turned.
        menu: The menu that is open; empty without one.
    """

    text: str
    more: bool
    menu: str


@dataclass(frozen=True, slots=True)
class Screen:
    """The screen on which NetHack waits for a key.

    Attributes:
        said: Every page that was read since the last key, oldest first.
        menu: The menu that is open; empty without one.
        question: NetHack waits for a character that answers a question.
        line: NetHack waits for a line of text.
        cursor: Column and row of the map where the cursor is; ``None`` if it is not on the map.
        status: NetHack's status numbers, as NLE orders them (``nethack.NLE_BL_*``).
        inventory: Letter and description of everything carried.
        glyphs, chars, descriptions: The map: 21 rows of 79 columns of glyph numbers, characters,
            and names in 80 bytes. Overwritten by the next key.
    """

    said: tuple[str, ...]
    menu: str
    question: bool
    line: bool
    cursor: tuple[int, int] | None
    status: tuple[int, ...]
    inventory: tuple[tuple[str, str], ...]
    glyphs: Any
    chars: Any
    descriptions: Any


def read_page(observed: dict[str, Any]) -> Page:
    """What is to be read now.

    Args:
        observed: NLE's observations by name.
    """
    message = _text(observed["message"])
    if not observed["internal"][_WAITS_FOR_SPACE]:
        return Page(message, False, "")
    row, column = map(int, observed["tty_cursor"])
    rows = [bytes(line).decode("latin-1") for line in observed["tty_chars"][: row + 1]]
    last = rows[row][:column].rstrip()
    if not last.endswith(_MORE):
        return Page("", False, _window(rows, last.rfind("(")))
    if message and row < MESSAGE_ROWS:
        return Page(message, True, "")
    start = len(last) - len(_MORE)
    rows[row] = rows[row][:start]
    return Page(_window(rows, start), True, "")


def read_screen(observed: dict[str, Any], said: tuple[str, ...], menu: str) -> Screen:
    """The screen as it is now.

    Args:
        observed: NLE's observations by name.
        said: The pages read to get here.
        menu: The menu that is open.
    """
    waits = observed["internal"]
    row, column = map(int, observed["tty_cursor"])
    on_map = not menu and 1 <= row <= observed["glyphs"].shape[0]
    return Screen(
        said=said,
        menu=menu,
        question=bool(waits[_IN_QUESTION]),
        line=bool(waits[_IN_LINE]) or bool(said and (said[-1] == "#" or said[-1].startswith("# "))),
        cursor=(column, row - 1) if on_map else None,
        status=tuple(observed["blstats"].tolist()),
        inventory=_inventory(observed["inv_letters"], observed["inv_strs"]),
        glyphs=observed["glyphs"],
        chars=observed["chars"],
        descriptions=observed["screen_descriptions"],
    )


def _inventory(letters: Any, names: Any) -> tuple[tuple[str, str], ...]:
    codes = letters.tolist()
    count = codes.index(0) if 0 in codes else len(codes)
    return tuple((chr(codes[at]), _text(names[at])) for at in range(count))


def _window(rows: list[str], start: int) -> str:
    """The lines of a window that is drawn over the map from a column on.

    A window over the whole screen begins in the first column, though its last line is indented.
    """
    start = start if start > 1 else 0
    return "\n".join(row[start:].rstrip() for row in rows).strip("\n")


def _text(codes: Any) -> str:
    raw: bytes = codes.tobytes()
    return raw[: raw.find(0)].decode("latin-1").strip() if raw[0] else ""
