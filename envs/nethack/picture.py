"""A picture of the terminal, for replays."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

SIZE = (960, 480)
_CELL = (12, 20)
_FONT_SIZE = 17
# The sixteen colors of a terminal, by NetHack's numbers (CLR_BLACK, which is drawn blue-gray, ...).
_COLORS = (
    (88, 96, 120), (205, 49, 49), (13, 188, 121), (170, 130, 20), (80, 120, 230), (188, 63, 188),
    (17, 168, 205), (200, 200, 200), (130, 130, 130), (241, 120, 40), (35, 225, 139),
    (245, 245, 67), (110, 160, 255), (214, 112, 214), (41, 220, 250), (255, 255, 255),
)  # fmt: skip


def picture(
    characters: npt.NDArray[np.uint8], colors: npt.NDArray[Any], size: tuple[int, int]
) -> npt.NDArray[np.uint8]:
    """Draw a terminal.

    Args:
        characters: Rows by columns of character codes.
        colors: NetHack's color number of each.
        size: Width and height of the picture in pixels.

    Returns:
        Rows by columns by red, green and blue, each 0 to 255.
    """
    rows, columns = characters.shape
    image = Image.new("RGB", (columns * _CELL[0], rows * _CELL[1]))
    draw = ImageDraw.Draw(image)
    for row, column in zip(*(characters != ord(" ")).nonzero(), strict=True):
        place = (int(column) * _CELL[0], int(row) * _CELL[1])
        color = _COLORS[int(colors[row, column]) % len(_COLORS)]
        draw.text(place, chr(int(characters[row, column])), fill=color, font=_font())
    return np.asarray(image.resize(size), dtype=np.uint8)


@cache
def _font() -> Any:
    return ImageFont.load_default(_FONT_SIZE)
