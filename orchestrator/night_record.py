"""A night's record: what it was started with, its rounds, its verdicts, its end.

Kept as ``night.json`` in the night's folder and rewritten whole after every round.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from envs.registry import Selection
from orchestrator.config import Config
from orchestrator.episodes.spec import EpisodeResult
from orchestrator.episodes.store import EpisodeStore
from orchestrator.errors import SlowwaveError, UsageError
from orchestrator.evaluation import mean_metrics, scores_by_seed
from orchestrator.files import write_atomically
from orchestrator.gate.evidence import PairedScores
from orchestrator.gate.verdict import Verdict, bca_interval
from orchestrator.scaffolds.revision import Revision

FILE = "night.json"
PAGE = "report.html"
SCHEMA = 2
Decision = Literal["accept", "reject", "indecisive", "refused"]


class Record(BaseModel):
    """Frozen and strict."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Round(Record):
    """One candidate and what became of it.

    Attributes:
        number: The candidate's number in the night, from 1.
        name: What a person calls it: ``crafter/v1`` once accepted.
        subject: One line.
        kind: ``memory``, ``perception`` or ``play``.
        tree: Its tree hash.
        parent: Tree hash of the champion it was made from.
        parent_name: That champion's name.
        decision: What became of it.
        reason: Why, in one sentence.
        verdict: The gate's verdict; ``None`` if it was refused before.
        metrics_before: The champion's mean metrics on the seeds both played.
        metrics_after: The candidate's.
        episodes: Keys of the episodes it was judged on.
        notes: What a reviewer should see besides.
        mlflow_run: Its run.
    """

    number: int
    name: str
    subject: str
    kind: str
    tree: str
    parent: str
    parent_name: str
    decision: Decision = "refused"
    reason: str = ""
    verdict: Verdict | None = None
    metrics_before: dict[str, float | None] = {}
    metrics_after: dict[str, float | None] = {}
    episodes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    mlflow_run: str = ""

    @classmethod
    def of(cls, number: int, candidate: Revision, champion: Revision) -> Round:
        """The round of a candidate that has not been judged yet."""
        return cls(
            number=number,
            name=candidate.name,
            subject=candidate.subject,
            kind=candidate.kind or "memory",
            tree=candidate.tree,
            parent=champion.tree,
            parent_name=champion.name,
        )

    def refused(self, reason: str) -> Round:
        """The round of a candidate that never reached the gate."""
        return self.model_copy(update={"decision": "refused", "reason": reason})

    def unjudged(self, reason: str) -> Round:
        """The round of a candidate that could not be tried out."""
        return self.model_copy(update={"decision": "indecisive", "reason": reason})

    def judged(self, verdict: Verdict, episodes: Sequence[EpisodeResult]) -> Round:
        """The round with its verdict and what was played for it."""
        before = mean_metrics([one for one in episodes if one.tree == self.parent])
        after = mean_metrics([one for one in episodes if one.tree == self.tree])
        return self.model_copy(
            update={
                "decision": verdict.decision,
                "reason": verdict.reason,
                "verdict": verdict,
                "metrics_before": before,
                "metrics_after": after,
                "episodes": tuple(sorted(one.key for one in episodes)),
                "notes": _cost_notes(before, after),
            }
        )


class ReportScores(Record):
    """First and last champion on the sealed report bank.

    Attributes:
        first: Name of the champion the night began with.
        last: Name of the champion it ended with.
        scores: Paired scores in percent; ``champion`` is the first, ``candidate`` the last.
        by_environment: Mean percent of the first and of the last on each environment.
    """

    first: str
    last: str
    scores: PairedScores
    by_environment: dict[str, tuple[float | None, float | None]] = {}

    def summary(self) -> dict[str, float | None]:
        """Means, and the mean difference with its 95% BCa interval, in points of progression."""
        differences = self.scores.differences()
        interval = bca_interval(differences)
        return {
            "report.first": _mean(self.scores.champion),
            "report.last": _mean(self.scores.candidate),
            "report.effect": sum(differences) / len(differences) if differences else None,
            "report.low": interval.low,
            "report.high": interval.high,
        }


class NightRecord(Record):
    """The whole record.

    Attributes:
        id: The night's id.
        lineage: The lineage it improves.
        environment: Environment id, or name of a suite.
        environments: Ids of what is played, in order.
        unavailable: Why others of the suite cannot be, by id.
        first: Commit of the champion it began with.
        config: The configuration it was started with.
        sandbox_cannot: What its sandbox did not enforce on this machine.
        allow_unsandboxed: Whether a model's code may run where it is not locked in.
        started_at: Seconds since the epoch.
        seconds: How long it has run, pauses left out.
        ended_at: Seconds since the epoch; ``None`` while it is not finished.
        rounds: The candidates so far.
        stop_reason: Why no more candidates are tried.
        report: The report bank's scores.
        champion: Tree hash of the last champion.
    """

    schema_version: int = SCHEMA
    id: str
    lineage: str
    environment: str
    environments: tuple[str, ...]
    unavailable: dict[str, str] = {}
    first: str
    config: Config
    sandbox_cannot: str = ""
    allow_unsandboxed: bool = False
    started_at: float
    seconds: float = 0.0
    ended_at: float | None = None
    rounds: tuple[Round, ...] = ()
    stop_reason: str = ""
    report: ReportScores | None = None
    champion: str = ""

    @classmethod
    def begin(
        cls,
        lineage: str,
        selection: Selection,
        first: str,
        config: Config,
        *,
        allow_unsandboxed: bool = False,
    ) -> NightRecord:
        """A new night, named by the time it starts."""
        now = time.time()
        stamp = datetime.fromtimestamp(now, UTC).strftime("%Y%m%d-%H%M%S")
        return cls(
            id=f"{lineage}-{stamp}",
            lineage=lineage,
            environment=selection.name,
            environments=selection.ids,
            unavailable=dict(selection.unavailable),
            first=first,
            config=config,
            allow_unsandboxed=allow_unsandboxed,
            started_at=now,
        )

    @property
    def judged_episodes(self) -> frozenset[str]:
        """Keys of all episodes that earlier rounds were judged on."""
        return frozenset(key for one in self.rounds for key in one.episodes)

    def round(self, number: int) -> Round | None:
        """The n-th candidate's round, if it has been judged."""
        return next((one for one in self.rounds if one.number == number), None)

    @property
    def in_vain(self) -> int:
        """How many candidates were made from the last one's champion, if none was accepted."""
        last = self.rounds[-1].parent if self.rounds else ""
        # From the end on: a lineage may come back to a tree that it had before.
        latest = takewhile(lambda one: one.parent == last, reversed(self.rounds))
        made = [one.decision for one in latest]
        return 0 if "accept" in made else len(made)

    def with_rounds(self, entries: Sequence[Round]) -> NightRecord:
        """The record with more rounds."""
        return self.model_copy(update={"rounds": (*self.rounds, *entries)})

    def stopped(self, reason: str) -> NightRecord:
        """The record once no more candidates are tried."""
        return self.model_copy(update={"stop_reason": reason})

    def finished(self, champion: str) -> NightRecord:
        """The record at its end."""
        return self.model_copy(update={"champion": champion, "ended_at": time.time()})


def save_record(folder: Path, record: NightRecord) -> None:
    """Write the record whole."""
    write_atomically(folder / FILE, record.model_dump_json(indent=1))


def read_record(folder: Path) -> NightRecord:
    """Read a night's record.

    Raises:
        UsageError: There is none.
        SlowwaveError: It is damaged or of another version.
    """
    path = folder / FILE
    try:
        return NightRecord.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        raise UsageError(
            f"There is no night {folder.name}.", mend="`slowwave log` names the nights."
        ) from None
    except ValidationError as error:
        first = error.errors()[0]
        raise SlowwaveError(
            f"{path} is damaged or of another version: {first['msg']}.",
            mend="Restore it from a backup, or remove its folder to begin a new night.",
        ) from None


def nights(root: Path) -> list[NightRecord]:
    """All nights under ``artifacts/nights``, oldest first."""
    folders = sorted(path.parent for path in root.glob(f"*/{FILE}"))
    return sorted((read_record(folder) for folder in folders), key=lambda one: one.started_at)


def paired_differences(artifacts: Path) -> list[float]:
    """How far each pair that a candidate was judged on lies from that candidate's mean, in points.

    The report bank is left alone: it is sealed for reporting.

    Raises:
        UsageError: No candidate has been judged yet, so there is no spread to go by.
    """
    store = EpisodeStore(artifacts)
    spread: list[float] = []
    for record in nights(artifacts / "nights"):
        for one in record.rounds:
            pairs = _judged_pairs(store, one, len(record.environments))
            mean = sum(pairs) / len(pairs) if pairs else 0.0
            spread += [difference - mean for difference in pairs]
    if len(spread) < 2:
        raise UsageError(
            "No candidate has been judged here yet, so the spread of differences is unknown.",
            mend="Give it with --sd, or run a night first.",
        )
    return spread


def _judged_pairs(store: EpisodeStore, entry: Round, environments: int) -> list[float]:
    played = [one for one in map(store.get, entry.episodes) if one is not None]
    old, new = (
        scores_by_seed((one for one in played if one.tree == tree), environments)
        for tree in (entry.parent, entry.tree)
    )
    both = ((old.get(seed), after) for seed, after in new.items())
    return [after - before for before, after in both if before is not None and after is not None]


def unfinished(root: Path, lineage: str) -> NightRecord | None:
    """The lineage's latest night if it has not come to its end, or its page was not written."""
    mine = [one for one in nights(root) if one.lineage == lineage]
    if not mine:
        return None
    complete = mine[-1].ended_at is not None and (root / mine[-1].id / PAGE).exists()
    return None if complete else mine[-1]


def _mean(scores: Sequence[float | None]) -> float | None:
    present = [score for score in scores if score is not None]
    return sum(present) / len(present) if present else None


def _cost_notes(before: dict[str, float | None], after: dict[str, float | None]) -> tuple[str, ...]:
    """Says so when the candidate plays at half as much cost again, or more."""
    notes = []
    for name, words in (("model_calls_per_step", "model calls"),):
        old, new = before.get(name), after.get(name)
        if old and new and new / old >= 1.5:
            notes.append(f"Plays with {new / old:.1f} times the {words} a step.")
    return tuple(notes)
