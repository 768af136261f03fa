"""``log``, ``show``, ``diff`` and ``revert``: the git history, read and turned back."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.markup import escape
from rich.syntax import Syntax
from rich.table import Table

from orchestrator.cli.output import JsonOption, WorkspaceOption, number, print_json, screen
from orchestrator.scaffolds.store import Revision
from orchestrator.workspace import find_workspace

RevisionArgument = Annotated[
    str, typer.Argument(help="crafter/v1, <night>/<number>, or the start of a hash.")
]


def log(
    lineage: Annotated[str, typer.Argument(help="The lineage.")] = "crafter",
    all_: Annotated[bool, typer.Option("--all", help="Rejected and refused ones too.")] = False,
    workspace: WorkspaceOption = None,
    json: JsonOption = False,
) -> None:
    """List a lineage's revisions, newest first.

    Example: slowwave log crafter --all
    """
    store = find_workspace(workspace).scaffolds
    revisions = store.history(lineage, include_candidates=all_)
    if json:
        print_json({"lineage": lineage, "revisions": [one.as_dict() for one in revisions]})
        return
    table = Table("revision", "verdict", "effect", "95% interval", "p", "what")
    for column in table.columns[:-1]:
        column.no_wrap, column.overflow = True, "fold"
    for one in revisions:
        verdict = one.verdict
        interval = verdict.interval if verdict else None
        table.add_row(
            escape(one.name),
            verdict.word if verdict else "seed" if one.parent is None else "–",
            number(verdict.effect if verdict else None, "+.1f"),
            f"{interval[0]:+.1f} … {interval[1]:+.1f}" if interval else "–",
            number(verdict.p if verdict else None),
            escape(one.subject),
        )
    screen.print(table)


def show(
    revision: RevisionArgument, workspace: WorkspaceOption = None, json: JsonOption = False
) -> None:
    """Show a revision: what and why, its verdict, and what it changed.

    Example: slowwave show crafter/v1
    """
    store = find_workspace(workspace).scaffolds
    found = store.revision(revision)
    changed = store.diff(found.parent, found) if found.parent else ""
    if json:
        print_json({**found.as_dict(), "diff": changed})
        return
    _print_revision(found)
    if changed:
        screen.print(Syntax(changed, "diff", background_color="default", word_wrap=True))


def diff(
    older: RevisionArgument,
    newer: RevisionArgument,
    workspace: WorkspaceOption = None,
    json: JsonOption = False,
) -> None:
    """Show what changed between two revisions.

    Example: slowwave diff crafter/v0 crafter/v2
    """
    store = find_workspace(workspace).scaffolds
    left, right = store.revision(older), store.revision(newer)
    text = store.diff(left, right)
    if json:
        print_json({"older": left.as_dict(), "newer": right.as_dict(), "diff": text})
    else:
        screen.print(Syntax(text, "diff", background_color="default", word_wrap=True))


def revert(
    revision: RevisionArgument,
    lineage: Annotated[
        str | None, typer.Option(help="The lineage; default: the revision's own.")
    ] = None,
    workspace: WorkspaceOption = None,
    json: JsonOption = False,
) -> None:
    """Take an accepted revision back, as a new revision on top.

    Example: slowwave revert crafter/v1
    """
    store = find_workspace(workspace).scaffolds
    found = store.revision(revision)
    made = store.revert(lineage or found.lineage, found)
    if json:
        print_json(made.as_dict())
    else:
        screen.print(f"{made.name} takes {found.name} back.", highlight=False, markup=False)


def _print_revision(found: Revision) -> None:
    screen.print(f"{found.name}  {found.subject}", style="bold", highlight=False, markup=False)
    screen.print(f"tree {found.tree}\n", highlight=False)
    screen.print(found.body, highlight=False, markup=False)
    for key, value in found.trailers:
        screen.print(f"{key}: {value}", highlight=False, markup=False, style="dim", soft_wrap=True)


def add_commands(app: typer.Typer) -> None:
    """Add this module's commands."""
    for function in (log, show, diff, revert):
        app.command()(function)
