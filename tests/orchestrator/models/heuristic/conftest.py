"""Scenes drawn by hand."""

from __future__ import annotations

import pytest

from orchestrator.models.heuristic.crafter import View, parse_view
from orchestrator.models.heuristic.crafter.view import DIRECTIONS, GLYPHS, NEXT


class Draw:
    """Makes the text of an observation out of a map of seven rows."""

    def text(
        self,
        rows: str,
        *,
        facing: str = "down",
        standing: str = "grass",
        vitals: tuple[int, int, int, int] = (9, 9, 9, 9),
        carrying: str = "nothing",
        night: bool = False,
        asleep: bool = False,
    ) -> str:
        """The observation as `crafter-v1` writes it, but for the list of the nearest things."""
        lines = [line.strip() for line in rows.strip().splitlines()]
        grid = "".join(lines)
        assert len(grid) == 63
        assert grid[31] == "@"
        near = {name: GLYPHS[grid[NEXT[k]]] for k, name in enumerate(DIRECTIONS)}
        health, food, drink, energy = vitals
        return "\n".join(
            [
                *(["You are asleep."] if asleep else []),
                f"You stand on {standing} and face {near[facing]} ({facing}).",
                "It is night." if night else "It is day.",
                "Next to you: "
                + ", ".join(f"{side} {near[side]}" for side in ("up", "right", "down", "left"))
                + ".",
                "Nearest:",
                "- grass: 1 step (1 up)",
                "Map (you are @):",
                *lines,
                f"Status: health {health}, food {food}, drink {drink}, energy {energy}.",
                f"Inventory: {carrying}.",
            ]
        )

    def __call__(self, rows: str, **more: object) -> View:
        """The view of such an observation."""
        return parse_view(self.text(rows, **more))  # type: ignore[arg-type]


@pytest.fixture
def draw() -> Draw:
    return Draw()


@pytest.fixture
def meadow() -> str:
    return """
        .........
        .........
        .........
        ....@....
        .........
        .........
        .........
    """
