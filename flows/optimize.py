"""Loop 1 as a flow."""

from __future__ import annotations

from pathlib import Path

from prefect import flow

from flows.episodes import play_all
from flows.reporting import reporter
from orchestrator.editors.choice import make_editor
from orchestrator.night import Night
from orchestrator.night_record import read_record
from orchestrator.tracking import Tracker
from orchestrator.workspace import find_workspace


@flow(name="optimize", flow_run_name="{night_id}", persist_result=False)
def optimize(workspace: Path, night_id: str) -> None:
    """Improve a night's lineage until its budget is spent; see `orchestrator.night`.

    Args:
        workspace: The workspace's folder.
        night_id: Id of a night whose record has been written.
    """
    place = find_workspace(workspace)
    record, listener = read_record(place.night_folder(night_id)), reporter()
    Night(
        workspace=place,
        record=record,
        editor=make_editor(place, record, listener.say),
        play=play_all,
        tracker=Tracker(place.artifacts, place.config.tracking.uri),
        listener=listener,
    ).run()
