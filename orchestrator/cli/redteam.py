"""``gate redteam``: planted cheats through the whole of a night."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

import orchestrator
from flows.reporting import report_to, reporter
from flows.server import prefect_server
from orchestrator.cli.options import AllowUnsandboxedOption, SandboxOption, choose_sandbox
from orchestrator.cli.output import JsonOption, WorkspaceOption, print_json, progress_bars, screen
from orchestrator.errors import UsageError
from orchestrator.redteam.editor import NAME
from orchestrator.redteam.finding import Finding
from orchestrator.redteam.planted import Planted, read_planted
from orchestrator.redteam.team import FAMILY, ROOT_SEED, RedTeam, settings
from orchestrator.sandbox import make_sandbox
from orchestrator.sandbox.base import Sandbox, cannot, missing
from orchestrator.sandbox.choice import refuse_unsandboxed
from orchestrator.workspace import Workspace, seed_scaffolds, workspace_or_here

HERE = Path(orchestrator.__file__).parents[1] / "tests" / "redteam"
"""Where a checkout has the planted candidates; they do not travel with an installed Slowwave."""


def redteam(
    planted: Annotated[
        Path | None,
        typer.Option(help="Folder of planted candidates; default: tests/redteam of the checkout."),
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(help="Only this one; may be given several times.")
    ] = None,
    root_seed: Annotated[
        int, typer.Option(help="What the seeds of its nights follow from.", min=0)
    ] = ROOT_SEED,
    sandbox: SandboxOption = None,
    allow_unsandboxed: AllowUnsandboxedOption = False,
    workspace: WorkspaceOption = None,
    json: JsonOption = False,
) -> None:
    """Play planted cheats through whole nights and say whether each was caught, and how.

    The gate, the ceilings and the sandbox are those of slowwave.toml; everything else is a
    workspace of its own, which is removed. One of the candidates is an honest improvement, and must
    be accepted. Exit status 1 if a cheat was not caught, or the improvement not accepted.

    Example: slowwave gate redteam

    Example: slowwave gate redteam --only memorise-propose --only better --json
    """
    candidates = _chosen(read_planted(_folder(planted)), only)
    place = workspace_or_here(workspace)
    config = settings(choose_sandbox(place.config, sandbox), root_seed=root_seed)
    with tempfile.TemporaryDirectory(prefix="slowwave-redteam-") as folder:
        own = Workspace(Path(folder).resolve(), config)
        room = make_sandbox(config.sandbox, own.artifacts, config.docker)
        refuse_unsandboxed(NAME, room, allowed=allow_unsandboxed)
        found = _run(own, candidates, allow_unsandboxed=allow_unsandboxed)
    ok = all(one.ok for one in found)
    if json:
        print_json(
            {
                "sandbox": room.name,
                "does_not_enforce": [one.name.lower() for one in missing(room)],
                "ok": ok,
                "planted": [one.model_dump(mode="json") for one in found],
            }
        )
    else:
        _print(room, found)
    if not ok:
        raise typer.Exit(1)


def _folder(given: Path | None) -> Path:
    folder = given or HERE
    if folder.is_dir():
        return folder
    raise UsageError(
        f"There is no folder of planted candidates at {folder}.",
        mend="They lie in tests/redteam of a checkout: name that folder with --planted.",
    )


def _chosen(planted: list[Planted], only: list[str] | None) -> list[Planted]:
    names = [one.name for one in planted]
    unknown = sorted(set(only or ()) - set(names))
    if unknown:
        raise UsageError(
            f"There is no planted candidate '{unknown[0]}'.", mend=f"There are: {', '.join(names)}."
        )
    return [one for one in planted if not only or one.name in only]


def _run(place: Workspace, planted: Sequence[Planted], *, allow_unsandboxed: bool) -> list[Finding]:
    """Run the nights as a flow, so that episodes are played side by side."""
    place.artifacts.mkdir()  # Prefect keeps its files there, and asks for the folder
    with prefect_server(place.artifacts), progress_bars() as watcher, report_to(watcher):
        from prefect import flow

        from flows.episodes import play_all, processes

        def run() -> list[Finding]:
            champion = seed_scaffolds() / FAMILY
            return RedTeam(
                place, champion, planted, play_all, reporter(), allow_unsandboxed=allow_unsandboxed
            ).run()

        runner = processes(place.workers)
        return flow(name="redteam", persist_result=False, task_runner=runner)(run)()


_COLOURS = {
    "caught": "green",
    "harmless": "green",
    "accepted": "green",
    "not caught": "bold red",
    "not judged": "bold red",
    "not accepted": "bold red",
}


def _print(room: Sandbox, found: Sequence[Finding]) -> None:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("planted", no_wrap=True)
    table.add_column("result", no_wrap=True)
    table.add_column("what it tries")
    table.add_column("how it shows")
    for one in found:
        word = one.result.upper() if not one.ok else one.result
        result = f"[{_COLOURS[one.result]}]{word}[/]"
        table.add_row(one.name, result, escape(one.tries), escape(one.how))
    screen.print(table)
    wrong = [one.name for one in found if not one.ok]
    said = f"not as it ought to be: {', '.join(wrong)}" if wrong else "all as it ought to be"
    screen.print(
        f"{room.name}: {len(found)} planted candidates, {said}. {cannot(room)}".strip(),
        highlight=False,
        markup=False,
        soft_wrap=True,
    )
