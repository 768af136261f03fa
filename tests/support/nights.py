"""Nights without Prefect, in this process: who plays, who proposes, who listens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from envs.registry import select
from orchestrator.editors.base import Bench, Brief, Draft
from orchestrator.editors.rules.editor import RulesEditor
from orchestrator.episodes.job import EpisodeJob, run_job
from orchestrator.episodes.spec import EpisodeResult, MissingEpisode
from orchestrator.episodes.store import EpisodeStore
from orchestrator.night import Night
from orchestrator.night_record import NightRecord
from orchestrator.scaffolds.revision import Proposal, Revision
from orchestrator.scaffolds.revision import Verdict as CommitVerdict
from orchestrator.scaffolds.store import ScaffoldStore
from orchestrator.tracking import Tracker
from orchestrator.workspace import Workspace, seed_scaffolds
from tests.support.serial import play_serially
from tests.support.workspaces import BLIND, add_blind_lineage, small_workspace


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
    continues = False

    def __init__(self, *changes: dict[str, bytes | None]) -> None:
        self._changes = changes
        self.briefs: list[Brief] = []

    def settle(self, night: str, number: int) -> None:
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


def begin(
    workspace: Workspace, lineage: str = "crafter", *, allow_unsandboxed: bool = True
) -> NightRecord:
    """A new night; by default what `ListEditor` writes may run in the process sandbox."""
    champion = workspace.scaffolds.champion(lineage)
    return NightRecord.begin(
        lineage,
        select("crafter"),
        champion.commit,
        workspace.config,
        allow_unsandboxed=allow_unsandboxed,
    )


def blind_night(folder: Path) -> tuple[Workspace, ListEditor]:
    """A workspace with an agent that sees nothing, and an editor that mends it, then harms it."""
    workspace = small_workspace(folder / "lab")
    seeing = add_blind_lineage(workspace, folder)
    slower = seeing.replace(b"{{ observation }}", b"It is day.")
    assert BLIND.encode() != slower
    return workspace, ListEditor({"prompts/plan.j2": seeing}, {"prompts/plan.j2": slower})


class StoppingTracker(Tracker):
    """A tracker during whose n-th candidate the night is killed.

    Args:
        artifacts: The artifacts folder.
        at: Number of the candidate.
        written: Whether its run is written before the kill.
    """

    def __init__(self, artifacts: Path, at: int, written: bool) -> None:
        super().__init__(artifacts)
        self._at, self._written = at, written

    def candidate(self, parent: str, night: str, number: int, **facts: Any) -> str:
        if number == self._at and not self._written:
            raise Stopped
        run = super().candidate(parent, night, number, **facts)
        if number == self._at:
            raise Stopped
        return run

    def finish(self, run: str, texts: Mapping[str, object]) -> None:
        if self._at == 0 and not self._written:
            raise Stopped
        super().finish(run, texts)
        if self._at == 0:
            raise Stopped


class StoppingStore(ScaffoldStore):
    """A scaffold store that is killed after it has carried out the named operation."""

    stop_after = ""

    def record(self, revision: Revision, verdict: CommitVerdict) -> Revision:
        made = super().record(revision, verdict)
        if self.stop_after == "record":
            raise Stopped
        return made

    def accept(self, revision: Revision) -> Revision:
        made = super().accept(revision)
        if self.stop_after == "accept":
            raise Stopped
        return made


def kill_at(moment: str, workspace: Workspace, record: NightRecord, editor: object) -> None:
    """Run a night until it is killed between two of its writes.

    Args:
        moment: ``track 2 -`` and ``track 2 +``: before and after the second candidate's run is
            written (0: that of the night's end); ``record``, ``accept``: after that operation of
            the store.
        workspace: Where it runs; its store may be left a stopping one.
        record: The night.
        editor: Who proposes.
    """
    tracker: Tracker = Tracker(workspace.artifacts)
    if moment.startswith("track"):
        _, number, written = moment.split()
        tracker = StoppingTracker(workspace.artifacts, int(number), written == "+")
    else:
        store = StoppingStore.open(workspace.root / "scaffolds")
        store.stop_after = moment
        workspace.__dict__["scaffolds"] = store
    with pytest.raises(Stopped):
        run(workspace, record, Runner(), editor, tracker)


def untimed(record: NightRecord) -> list[object]:
    """Every round without what two runs may differ in: wall-clock time and run ids."""
    return [
        one.model_copy(
            update={
                "mlflow_run": "",
                "verdict": one.verdict and one.verdict.model_copy(update={"hours": 0.0}),
            }
        )
        for one in record.rounds
    ]
