"""The whole night as a flow: loop 1, then the report."""

from __future__ import annotations

from pathlib import Path

from prefect import flow

from flows.episodes import processes
from flows.optimize import optimize
from orchestrator.night_record import read_record
from orchestrator.report import write_report
from orchestrator.workspace import find_workspace


@flow(name="night", flow_run_name="{night_id}", persist_result=False)
def night(workspace: Path, night_id: str) -> None:
    """Run a night, or go on with one; its record tells what came of it.

    Args:
        workspace: The workspace's folder.
        night_id: Id of a night whose record has been written.
    """
    place = find_workspace(workspace)
    optimize.with_options(task_runner=processes(place.workers))(workspace, night_id)
    write_report(place, read_record(place.night_folder(night_id)))
