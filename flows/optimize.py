"""Loop 1 as a flow."""

from __future__ import annotations

from collections.abc import Sequence

from prefect import flow

from flows.episodes import Outcome, Progress, play_all, processes
from orchestrator.editors.rules.editor import RulesEditor
from orchestrator.episodes.job import EpisodeJob
from orchestrator.night import Listener, Night
from orchestrator.night_record import NightRecord
from orchestrator.tracking import Tracker
from orchestrator.workspace import Workspace, seed_scaffolds


def optimize(
    workspace: Workspace, record: NightRecord, listener: Listener, progress: Progress
) -> NightRecord:
    """Improve a lineage until the night's budget is spent; see `orchestrator.night`."""

    @flow(
        name="optimize",
        flow_run_name=record.id,
        task_runner=processes(workspace.workers),
        validate_parameters=False,
        persist_result=False,
    )
    def run() -> NightRecord:
        def play(jobs: Sequence[EpisodeJob], label: str) -> list[Outcome]:
            return play_all(jobs, label, progress)

        night = Night(
            workspace=workspace,
            record=record,
            editor=RulesEditor(seed_scaffolds() / "edits"),
            play=play,
            tracker=Tracker(workspace.artifacts, workspace.config.tracking.uri),
            listener=listener,
        )
        return night.run()

    return run()
