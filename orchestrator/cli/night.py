"""``night`` and ``report``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from filelock import FileLock, Timeout

from flows.reporting import report_to
from flows.server import prefect_server
from orchestrator.cli.options import AllowUnsandboxedOption, SandboxOption, choose_sandbox
from orchestrator.cli.output import (
    JsonOption,
    WorkspaceOption,
    aside,
    number,
    print_json,
    progress_bars,
    screen,
)
from orchestrator.errors import UsageError
from orchestrator.gate.reach import check_reach
from orchestrator.night_record import NightRecord, nights, read_record, save_record, unfinished
from orchestrator.report import write_report
from orchestrator.sandbox.base import SandboxAway, SandboxFailure
from orchestrator.sandbox.choice import choose
from orchestrator.verdicts import make_rule
from orchestrator.workspace import Workspace, find_workspace

LineageArgument = Annotated[str, typer.Argument(help="The lineage to improve.")]


def night(
    lineage: LineageArgument = "crafter",
    candidates: Annotated[
        int | None, typer.Option(help="Candidates at most; default: slowwave.toml.", min=1)
    ] = None,
    proposals: Annotated[
        int | None,
        typer.Option(
            help="Candidates that race: made from one champion, screened together, the best"
            " confirmed; default: slowwave.toml.",
            min=1,
        ),
    ] = None,
    new: Annotated[
        bool, typer.Option("--new", help="Begin a new night even if one was interrupted.")
    ] = False,
    sandbox: SandboxOption = None,
    allow_unsandboxed: AllowUnsandboxedOption = False,
    workspace: WorkspaceOption = None,
    json: JsonOption = False,
) -> None:
    """Improve a lineage until the budget is spent; keep only what the gate accepts.

    An interrupted night goes on where it stopped.

    Example: slowwave night crafter --workspace lab

    Example: slowwave night crafter --candidates 6 --proposals 3
    """
    asked = {"candidates": candidates, "proposals": proposals}
    chosen = {name: value for name, value in asked.items() if value is not None}
    place = find_workspace(workspace)
    lock = FileLock(place.artifacts / "night.lock")
    place.artifacts.mkdir(parents=True, exist_ok=True)
    try:
        with lock.acquire(timeout=0):
            record = _run(
                place, lineage, chosen, sandbox, new=new, allow_unsandboxed=allow_unsandboxed
            )
    except Timeout:
        raise UsageError(
            f"A night is already running in {place.root}.", mend="Wait for it, or stop it first."
        ) from None
    page = place.night_folder(record.id) / "report.html"
    if json:
        print_json({**record.model_dump(mode="json"), "report_page": str(page)})
    else:
        _print_night(record, page)


def _run(
    place: Workspace,
    lineage: str,
    chosen: dict[str, int],
    sandbox: str | None,
    *,
    new: bool,
    allow_unsandboxed: bool,
) -> NightRecord:
    champion = place.scaffolds.champion(lineage)
    place.scaffolds.ensure_clean()
    record = None if new else unfinished(place.artifacts / "nights", lineage)
    if record is not None:
        given = chosen or sandbox is not None or allow_unsandboxed
        kept = "; it keeps the options it was started with" if given else ""
        aside.print(f"Going on with night {record.id}{kept}.", highlight=False, soft_wrap=True)
        _require_sandbox(record)
    else:
        config = place.config
        config = config.model_copy(update={"night": config.night.model_copy(update=chosen)})
        # Once for the whole night: how code is locked in must not change in its middle.
        config = choose_sandbox(config, sandbox)
        selection = place.environment_of(lineage)
        for missing in selection.unavailable.values():
            aside.print(f"Not played: {missing}", highlight=False, markup=False, soft_wrap=True)
        # What the configuration makes impossible is said before a night begins that cannot go on.
        place.banks(selection.name, config)
        check_reach(make_rule(config), night_alpha=config.gate.night_alpha)
        record = NightRecord.begin(
            lineage, selection, champion.commit, config, allow_unsandboxed=allow_unsandboxed
        )
        where = f"scaffold code runs in the {config.sandbox} sandbox"
        aside.print(
            f"Night {record.id}: improving {champion.name}; {where}.",
            highlight=False,
            soft_wrap=True,
        )
        save_record(place.night_folder(record.id), record)
    with prefect_server(place.artifacts), progress_bars() as watcher, report_to(watcher):
        from flows.night import night as night_flow

        night_flow(place.root, record.id)
    return read_record(place.night_folder(record.id))


def _require_sandbox(record: NightRecord) -> None:
    """Refuse to go on with a night whose image is gone: any other would play other episodes.

    Raises:
        SandboxFailure: It is gone, or was built from other code.
    """
    try:
        choose(record.config.sandbox, record.config.docker)
    except SandboxAway:
        raise
    except SandboxFailure as failure:
        raise SandboxFailure(
            f"Night {record.id} cannot go on. {failure.message}",
            mend="Begin another with --new; or go on with the version of Slowwave and the base"
            " image that it was begun with.",
        ) from None


def report(
    night_id: Annotated[
        str | None, typer.Argument(metavar="NIGHT", help="A night's id; default: the latest.")
    ] = None,
    workspace: WorkspaceOption = None,
    json: JsonOption = False,
) -> None:
    """Write a night's page again, and say where it is.

    Example: slowwave report --workspace lab
    """
    place = find_workspace(workspace)
    if night_id is None:
        found = nights(place.artifacts / "nights")
        if not found:
            raise UsageError("There is no night yet.", mend="Run one: slowwave night")
        record = found[-1]
    else:
        record = read_record(place.night_folder(night_id))
    page = write_report(place, record)
    if json:
        print_json({**record.model_dump(mode="json"), "report_page": str(page)})
    else:
        _print_night(record, page)


def _print_night(record: NightRecord, page: Path) -> None:
    for one in record.rounds:
        verdict = one.verdict
        effect = f" {verdict.effect:+.1f} points" if verdict and verdict.effect is not None else ""
        p = f", p {number(verdict.p)}" if verdict and verdict.p is not None else ""
        line = f"{one.number}. {one.decision}{effect}{p}: {one.subject}"
        screen.print(line, highlight=False, markup=False)
    screen.print(f"Ended because {record.stop_reason}.", highlight=False, markup=False)
    if record.report is not None:
        facts = record.report.summary()
        screen.print(
            f"Report bank: {record.report.first} {number(facts['report.first'], '.1f')}%,"
            f" {record.report.last} {number(facts['report.last'], '.1f')}%; difference"
            f" {number(facts['report.effect'], '+.1f')} points"
            f" [{number(facts['report.low'], '+.1f')}, {number(facts['report.high'], '+.1f')}]",
            highlight=False,
            markup=False,
        )
    screen.print(f"Report: {page}", highlight=False, markup=False, soft_wrap=True)


def add_commands(app: typer.Typer) -> None:
    """Add this module's commands."""
    app.command()(night)
    app.command()(report)
