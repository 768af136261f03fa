"""Nights without Prefect, in this process: who plays, who proposes, who listens."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.editors.base import Bench, Brief, Draft
from orchestrator.editors.rules.editor import RulesEditor
from orchestrator.episodes.job import EpisodeJob, run_job
from orchestrator.episodes.spec import EpisodeResult, MissingEpisode
from orchestrator.episodes.store import EpisodeStore
from orchestrator.night import Night
from orchestrator.night_record import NightRecord
from orchestrator.scaffolds.revision import Proposal
from orchestrator.tracking import Tracker
from orchestrator.workspace import Workspace, seed_scaffolds
from tests.support.serial import play_serially


class Stopped(BaseException):
    """Ends a night from inside, as a kill would from outside: nothing gets to clean up."""


class Runner:
    """Plays jobs one after the other in this process, and counts what it really played.

    Args:
        stop_after: Episodes after which the night is ended; never if ``None``.
    """

    def __init__(self, stop_after: int | None = None) -> None:
        self.played: list[str] = []
        self._stop_after = stop_after

    def __call__(
        self, jobs: Sequence[EpisodeJob], label: str
    ) -> list[EpisodeResult | MissingEpisode]:
        outcomes: list[EpisodeResult | MissingEpisode] = []
        for job in jobs:
            if EpisodeStore(job.artifacts).get(job.spec.key) is None:
                if self._stop_after is not None and len(self.played) >= self._stop_after:
                    raise Stopped
                self.played.append(job.spec.key)
            outcomes.append(run_job(job))
        return outcomes


class Losing(Runner):
    """Loses every episode that fails for a reason of the machinery, as the flow's runner does."""

    def __call__(
        self, jobs: Sequence[EpisodeJob], label: str
    ) -> list[EpisodeResult | MissingEpisode]:
        return play_serially(jobs)


class Quiet:
    """Keeps what a night says."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, text: str) -> None:
        self.lines.append(text)


class ListEditor:
    """Proposes given changes, one after the other."""

    name = "list"

    def __init__(self, *changes: dict[str, bytes | None]) -> None:
        self._changes = changes
        self.briefs: list[Brief] = []

    def settle(self, brief: Brief) -> None:
        """Nothing was kept."""

    def propose(self, brief: Brief, bench: Bench) -> Draft | None:
        number = len({view.subject for view in brief.history})
        self.briefs.append(brief)
        if number >= len(self._changes):
            return None
        proposal = Proposal(
            subject=f"Change {number + 1}",
            summary="A change.",
            rationale="To see what happens.",
            expected_effect="None known.",
            kind="memory",
            editor=self.name,
        )
        return Draft(self._changes[number], proposal)


def run(
    workspace: Workspace,
    record: NightRecord,
    runner: Runner,
    editor: object = None,
    tracker: Tracker | None = None,
    listener: Quiet | None = None,
) -> NightRecord:
    night = Night(
        workspace=workspace,
        record=record,
        editor=editor or RulesEditor(seed_scaffolds() / "edits"),  # type: ignore[arg-type]
        play=runner,
        tracker=tracker or Tracker(workspace.artifacts),
        listener=listener or Quiet(),
    )
    return night.run()
