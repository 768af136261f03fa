"""What commands print: one JSON object with ``--json``, words and tables without."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
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


ProgressCall = Callable[[str, int, int], None]


@contextmanager
def progress_bars() -> Iterator[tuple[ProgressCall, Callable[[str], None]]]:
    """Progress on standard error: a call for bars and a call for lines above them.

    Without a terminal there are no bars, only lines.
    """
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=aside, transient=True, disable=not aside.is_terminal) as bars:
        tasks: dict[str, Any] = {}

        def advance(label: str, done: int, total: int) -> None:
            if label not in tasks or done < bars.tasks[bars.task_ids.index(tasks[label])].completed:
                tasks[label] = bars.add_task(label, total=total)
            bars.update(tasks[label], completed=done, total=total)
            if done >= total:
                bars.remove_task(tasks.pop(label))

        yield advance, lambda text: bars.console.print(text, highlight=False)
