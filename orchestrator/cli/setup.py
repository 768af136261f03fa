"""``init`` and ``doctor``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from orchestrator import doctor as checks
from orchestrator.cli.output import JsonOption, WorkspaceOption, print_json, screen
from orchestrator.workspace import create_workspace, workspace_or_here

DEFAULT_ROOT_SEED = 20260701
"""Any number would do; a fixed one makes two first nights comparable."""


def init(
    folder: Annotated[Path, typer.Argument(help="Where to make the workspace.")] = Path("lab"),
    root_seed: Annotated[
        int, typer.Option(help="All seed banks follow from it.", min=0)
    ] = DEFAULT_ROOT_SEED,
    json: JsonOption = False,
) -> None:
    """Make a workspace: configuration, scaffolds as a git repository, artifacts.

    What is already there is left as it is.

    Example: slowwave init lab
    """
    workspace = create_workspace(folder, root_seed=root_seed)
    lineages = workspace.scaffolds.lineages()
    if json:
        print_json({"workspace": str(workspace.root), "lineages": lineages})
        return
    made = f"Workspace {folder}: lineages {', '.join(lineages)}."
    screen.print(made, highlight=False, markup=False)
    screen.print(f"Next: slowwave night --workspace {folder}", highlight=False, markup=False)


def doctor(workspace: WorkspaceOption = None, json: JsonOption = False) -> None:
    """Say what works on this machine and how to mend what does not.

    Example: slowwave doctor --json
    """
    found = checks.examine(workspace_or_here(workspace))
    healthy = all(one.ok for one in found if one.needed)
    if json:
        print_json({"ok": healthy, "checks": [one.model_dump() for one in found]})
    else:
        for one in found:
            mark = (
                "[green]ok[/]  "
                if one.ok
                else ("[red]no[/]  " if one.needed else "[yellow]–[/]   ")
            )
            screen.print(f"{mark} {escape(f'{one.name}: {one.found}')}", highlight=False)
            if one.mend and not one.ok:
                screen.print(f"      {one.mend}", highlight=False, markup=False, soft_wrap=True)
    if not healthy:
        raise typer.Exit(1)


def add_commands(app: typer.Typer) -> None:
    """Add this module's commands."""
    app.command()(init)
    app.command()(doctor)
