"""The whole night as a flow: loop 1, then the report."""

from __future__ import annotations

from collections.abc import Callable

from prefect import flow

from flows.episodes import Progress
from flows.optimize import optimize
from orchestrator.night import Listener
from orchestrator.night_record import NightRecord
from orchestrator.workspace import Workspace

WriteReport = Callable[[Workspace, NightRecord], object]


def night(
    workspace: Workspace,
    record: NightRecord,
    listener: Listener,
    progress: Progress,
    write_report: WriteReport,
) -> NightRecord:
    """Run a night, or go on with one."""

    @flow(name="night", flow_run_name=record.id, validate_parameters=False, persist_result=False)
    def run() -> NightRecord:
        finished = optimize(workspace, record, listener, progress)
        write_report(workspace, finished)
        return finished

    return run()
