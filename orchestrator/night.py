"""What a night does.

    the champion plays the propose bank
    the editor proposes candidates            ─┐
    static checks and a smoke episode of each  │  until a budget is spent, the editor has
    the gate: screen, then confirm             │  nothing left, or nothing was accepted
    accepted: the lineage advances            ─┘  for a while
    first and last champion play the sealed report bank

Every step's result is kept: episodes by key, candidates and verdicts in git, rounds in the night's
record. A night that was killed is run again from its record; what is there is not done twice.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import Protocol

from envs.registry import family
from orchestrator.config import Config
from orchestrator.editors.base import ScaffoldEditor
from orchestrator.episodes.job import EpisodeJob
from orchestrator.episodes.planner import EpisodePlanner
from orchestrator.episodes.spec import MissingEpisode
from orchestrator.evaluation import means_by_environment, scores_by_seed
from orchestrator.gate.banks import SeedBanks
from orchestrator.gate.banks_file import BankSizes
from orchestrator.gate.budget import ErrorBudget
from orchestrator.gate.evidence import PairedScores
from orchestrator.gate.protocol import AcceptanceRule
from orchestrator.gate.reach import check_reach
from orchestrator.models.errors import BudgetExhausted
from orchestrator.models.ledger import SpendLedger
from orchestrator.night_bench import NightBench
from orchestrator.night_judge import NightJudge, Played
from orchestrator.night_proposer import NightProposer
from orchestrator.night_record import NightRecord, ReportScores, Round, save_record
from orchestrator.outage import is_away, wait_until_back
from orchestrator.sandbox import make_sandbox
from orchestrator.sandbox.base import Sandbox, cannot
from orchestrator.sandbox.choice import refuse_unsandboxed
from orchestrator.scaffolds.revision import READ_EDITORS, Revision
from orchestrator.scaffolds.store import ScaffoldStore
from orchestrator.tracking import Tracker
from orchestrator.verdicts import commit_verdict, make_rule
from orchestrator.workspace import Workspace

VAIN_ROUNDS = 3
"""How often a sandbox that came back may lose the same episodes again."""

ENFORCES_ALL = "It enforces every guarantee."
MOVED = "Better, but the lineage was given another champion meanwhile: judge it again on that one."


class EpisodeRunner(Protocol):
    """Plays jobs, in any order and number at once; finished ones come from the store."""

    def __call__(self, jobs: Sequence[EpisodeJob], label: str) -> Played:
        """One entry per job, in the jobs' order."""


class Listener(Protocol):
    """Told what happens, for progress on a screen."""

    def say(self, text: str) -> None:
        """One line for a person."""


@dataclass
class Night:
    """One run of loop 1 on one lineage.

    Attributes:
        workspace: Where it all lies.
        record: The night's record; a fresh one, or that of a night to go on with.
        editor: Who proposes.
        play: Who plays episodes.
        tracker: Where results are tracked.
        listener: Who is told.
    """

    workspace: Workspace
    record: NightRecord
    editor: ScaffoldEditor
    play: EpisodeRunner
    tracker: Tracker
    listener: Listener
    _store: ScaffoldStore = field(init=False)
    _planner: EpisodePlanner = field(init=False)
    _banks: SeedBanks = field(init=False)
    _sizes: BankSizes = field(init=False)
    _rule: AcceptanceRule = field(init=False)
    _budget: ErrorBudget = field(init=False)
    _sandbox: Sandbox = field(init=False)
    _run_id: str = field(init=False)
    _began: float = field(init=False)

    def run(self) -> NightRecord:
        """The whole night; returns its finished record."""
        if self.record.ended_at is not None:
            return self.record  # killed after its end, before its page was written
        self._prepare()
        if not self.record.stop_reason:
            try:
                reason = self._improve()
            except BudgetExhausted as spent:
                reason = spent.message
            self.record = self.record.stopped(reason)
            self._save()
        self.listener.say(f"No more candidates: {self.record.stop_reason}")
        try:
            self._report_scores()
        except BudgetExhausted:
            self.listener.say("Nothing is left in the budget for the report bank.")
        self._finish()
        return self.record

    # --- the loop ---------------------------------------------------------------------------

    def _improve(self) -> str:
        """Round after round of candidates; returns why there are no more."""
        most = self.config.night.candidates
        while len(self.record.rounds) < most:
            reason = self._reason_to_stop()
            if reason:
                return reason
            candidates = self._proposer().candidates()
            if not candidates:
                return "the editor has nothing left to try"
            halted = self._judge(candidates)
            if halted:
                return halted
        return f"{most} candidates were tried"

    def _reason_to_stop(self) -> str:
        patience, hours = self.config.night.patience, self.config.budget.hours
        vain = self.record.in_vain
        if vain >= patience:
            return f"nothing was accepted in {vain} candidates"
        if hours is not None and self._seconds_run() > hours * 3600:
            return f"the night's {hours:g} hours are over"
        return ""

    def _proposer(self) -> NightProposer:
        return NightProposer(
            self.record,
            self._store,
            self.editor,
            self._banks.seeds("propose", self._sizes.propose),
            self._play_revisions,
            self._bench,
            self.listener.say,
        )

    def _bench(self, champion: Revision) -> NightBench:
        return NightBench(
            store=self._store,
            lineage=self.record.lineage,
            champion=champion,
            editor=self.editor.name,
            planner=self._planner.shorter(self.config.night.smoke_steps),
            seeds=self._banks.seeds("propose", 1),
            play=self._played,
            revisions=self._revisions,
            artifacts=self.workspace.artifacts,
            override_ceiling=self.config.ceilings.override_rate,
        )

    # --- judging ----------------------------------------------------------------------------

    def _judge(self, candidates: Mapping[int, Revision]) -> str:
        """Refuse, or have the gate decide; then write the verdicts down everywhere.

        Returns:
            Why nothing more can be played; empty if it can.
        """
        for number, candidate in candidates.items():
            self.listener.say(f"Candidate {number}: {candidate.subject}")
        parent = next(iter(candidates.values())).parent_commit
        champion = self._store.revision(parent or "")
        bench = self._bench(champion)
        judge = NightJudge(
            self.record,
            self._rule,
            self._budget,
            self._banks,
            self._play_revisions,
            lambda one: (
                bench.trial(
                    one.tree, one.candidate or "", self._store.author(one.tree), one.name
                ).refusal
            ),
            self.workspace.artifacts,
        )
        rounds = []
        for entry in judge.decide(champion, candidates):
            rounds.append(self._settled(entry, candidates[entry.number], champion))
            which = f"{entry.number}. " if len(candidates) > 1 else ""
            self.listener.say(f"  {which}{rounds[-1].decision}: {rounds[-1].reason}")
        # All at once: after a crash the whole round is judged again, and comes out the same.
        self.record = self.record.with_rounds(rounds).stopped(judge.halted)
        self._save()
        return judge.halted

    def _settled(self, entry: Round, candidate: Revision, champion: Revision) -> Round:
        """Track a round, write its verdict into git, and advance the lineage if it is accepted."""
        if entry.decision == "accept" and self._has_moved(candidate, champion):
            entry = entry.model_copy(update={"decision": "indecisive", "reason": MOVED})
        entry = self._track(entry, candidate, champion)
        recorded = self._store.record(candidate, commit_verdict(entry, self._planner.models))
        if entry.decision == "accept":
            accepted = self._store.accept(recorded)
            entry = entry.model_copy(update={"name": accepted.name})
        return entry

    def _has_moved(self, candidate: Revision, champion: Revision) -> bool:
        """Whether somebody gave the lineage another head while the candidate was judged."""
        head = self._store.champion(self.record.lineage)
        return head.commit != champion.commit and head.tree != candidate.tree

    def _track(self, entry: Round, candidate: Revision, champion: Revision) -> Round:
        verdict = entry.verdict.model_dump() if entry.verdict else {}
        numbers = {name: value for name, value in verdict.items() if isinstance(value, float)}
        run = self.tracker.candidate(
            self._run_id,
            self.record.id,
            entry.number,
            parameters={
                "subject": entry.subject,
                "kind": entry.kind,
                "tree": entry.tree,
                "parent": entry.parent,
                "decision": entry.decision,
            },
            metrics={**numbers, **{f"candidate.{k}": v for k, v in entry.metrics_after.items()}},
            texts={
                "candidate.diff": self._store.diff(champion, candidate),
                "verdict.json": entry.model_dump_json(indent=1, exclude={"episodes"}),
            },
        )
        return entry.model_copy(update={"mlflow_run": run})

    # --- the report bank --------------------------------------------------------------------

    def _report_scores(self) -> None:
        """First and last champion on the sealed bank; read only now that the night is over."""
        seeds = self._banks.seeds("report", self._sizes.report)
        # The limit in hours is for the search; what it found is still measured.
        self._planner = replace(self._planner, started_at=time.time())
        first = self._store.revision(self.record.first)
        last = self._store.champion(self.record.lineage)
        self.listener.say(f"Report bank: {first.name} and {last.name}")
        both = [first] if first.tree == last.tree else [first, last]
        played = self._play_revisions(both, seeds, "report")
        old, new = played[0], played[-1]
        scores = ReportScores(
            first=first.name,
            last=last.name,
            scores=PairedScores(
                seeds=seeds,
                champion=self._scores(old),
                candidate=self._scores(new),
            ),
            by_environment={
                name: (mean, means_by_environment(new)[name])
                for name, mean in means_by_environment(old).items()
            },
        )
        self.record = self.record.model_copy(update={"report": scores})
        self.tracker.metrics(self._run_id, scores.summary())

    def _finish(self) -> None:
        last = self._store.champion(self.record.lineage)
        self._save()
        self.tracker.finish(self._run_id, {"night.json": self.record.model_dump(mode="json")})
        # The very last: a night with an end is one to which nothing is missing.
        self.record = self.record.finished(last.tree)
        self._save()

    # --- shared -----------------------------------------------------------------------------

    @property
    def config(self) -> Config:
        """The configuration the night was started with."""
        return self.record.config

    @property
    def _revisions(self) -> Path:
        return self.workspace.artifacts / "revisions"

    def _prepare(self) -> None:
        artifacts, config = self.workspace.artifacts, self.config
        self._began = time.time()
        self._store = self.workspace.scaffolds
        self._store.ensure_clean()
        self._planner = EpisodePlanner.make(
            config,
            artifacts,
            self.record.environments,
            steps=config.night.steps.get(family(self.record.environment)),
            night=self.record.id,
            started_at=time.time() - self.record.seconds,
            allow_unsandboxed=self.record.allow_unsandboxed,
        )
        config = self._planner.config  # with its sandbox decided, for the whole night
        self._sandbox = make_sandbox(config.sandbox, artifacts, config.docker)
        settled = {"config": config, "sandbox_cannot": cannot(self._sandbox) or ENFORCES_ALL}
        self.record = self.record.model_copy(update=settled)
        if self.editor.name not in READ_EDITORS:
            allowed = self.record.allow_unsandboxed
            refuse_unsandboxed(self.editor.name, self._sandbox, allowed=allowed)
        self._banks, self._sizes = self.workspace.banks(self.record.environment, config)
        self._rule = make_rule(config)
        for warning in check_reach(self._rule, night_alpha=config.gate.night_alpha):
            self.listener.say(warning)
        with closing(SpendLedger(self.workspace.ledger)) as ledger:
            # Calls that were under way when the night was killed are settled at their reservation.
            ledger.recover(self.record.id)
        self._budget = ErrorBudget(self.workspace.ledger, config.gate.night_alpha)
        self._save()
        self._run_id = self.tracker.night(
            self.record.id,
            {
                "lineage": self.record.lineage,
                "environment": self.record.environment,
                "steps": self._planner.steps,
                "rule": self._rule.name,
                "editor": self.editor.name,
                **{f"model.{role}": name for role, name in self._planner.models.items()},
            },
        )

    def _play_revision(self, revision: Revision, seeds: Sequence[int], label: str) -> Played:
        return self._play_revisions([revision], seeds, label)[0]

    def _play_revisions(
        self, revisions: Sequence[Revision], seeds: Sequence[int], label: str
    ) -> list[Played]:
        """Play revisions on seeds, all at once; one entry for each."""
        runs = []
        for one in revisions:
            folder = self._store.export(one.tree, self._revisions)
            author = self._store.author(one.tree)
            runs.append(self._planner.jobs(folder, one.tree, seeds, author=author))
        others = f" and {len(revisions) - 1} more" if len(revisions) > 1 else ""
        played = iter(self._played(list(chain(*runs)), f"{label} · {revisions[-1].name}{others}"))
        return [list(islice(played, len(run))) for run in runs]

    def _scores(self, outcomes: Played) -> tuple[float | None, ...]:
        """Percent of progression by seed, in the order of the seeds."""
        return tuple(scores_by_seed(outcomes, len(self.record.environments)).values())

    def _played(self, jobs: Sequence[EpisodeJob], label: str) -> Played:
        """Play; while the sandbox is away, wait, then play again what is missing."""
        fewest, vain = len(jobs) + 1, 0
        while True:
            outcomes = self.play(jobs, label)
            if not is_away(outcomes):
                return outcomes
            lost = sum(isinstance(one, MissingEpisode) for one in outcomes)
            # A sandbox that answers and still loses every episode is not worth the night.
            fewest, vain = (lost, 0) if lost < fewest else (fewest, vain + 1)
            if vain == VAIN_ROUNDS:
                return outcomes
            self._save()
            wait_until_back(self._sandbox.check, self._hours_to_wait(), self.listener.say)

    def _hours_to_wait(self) -> float:
        hours = self.config.budget.hours
        wait = self.config.night.wait_hours
        return wait if hours is None else min(wait, max(0.0, hours - self._seconds_run() / 3600))

    def _seconds_run(self) -> float:
        """How long the night has run, pauses left out."""
        return self.record.seconds + time.time() - self._began

    def _save(self) -> None:
        self.record = self.record.model_copy(update={"seconds": self._seconds_run()})
        self._began = time.time()
        save_record(self.workspace.night_folder(self.record.id), self.record)
