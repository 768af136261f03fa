"""What commands print: one JSON object with ``--json``, words and tables without."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

screen = Console()
aside = Console(stderr=True)

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
WorkspaceOption = Annotated[
    Path | None,
    typer.Option(
        "--workspace",
        "-w",
        help="The workspace's folder; default: $SLOWWAVE_WORKSPACE, or this folder or one above.",
    ),
]


def print_json(value: object) -> None:
    """One JSON object on standard output, its last line."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, default=str) + "\n")
    sys.stdout.flush()


def number(value: float | None, form: str = ".3g") -> str:
    """A number for a table; a dash where there is none."""
    return "–" if value is None else format(value, form)


class Watcher:
    """Shows progress on a screen; see `flows.reporting.Reporter`.

    Args:
        bars: Where the bars are.
    """

    def __init__(self, bars: Progress) -> None:
        self._bars = bars
        self._tasks: dict[str, TaskID] = {}

    def say(self, text: str) -> None:
        """One line above the bars."""
        self._bars.console.print(text, highlight=False, markup=False)

    def advance(self, label: str, done: int, total: int) -> None:
        """Move a bar, making it the first time and taking it away at its end."""
        if label not in self._tasks:
            self._tasks[label] = self._bars.add_task(label, total=total)
        self._bars.update(self._tasks[label], completed=done)
        if done >= total:
            self._bars.remove_task(self._tasks.pop(label))


@contextmanager
def progress_bars() -> Iterator[Watcher]:
    """Progress on standard error; without a terminal there are no bars, only lines."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=aside, transient=True, disable=not aside.is_terminal) as bars:
        yield Watcher(bars)
