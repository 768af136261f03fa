"""The facts of a night's report, as they stand in ``report.json``.

Scores are progression in percent (0 to 100), differences of scores are in points.
"""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, ConfigDict

from orchestrator.gate.verdict import Verdict
from orchestrator.night_record import Decision

SCHEMA = 1


class Facts(BaseModel):
    """Frozen and strict."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Estimate(Facts):
    """A mean with its 95% BCa interval; without one where a single value gives none."""

    mean: float
    low: float | None
    high: float | None


class Pair(Facts):
    """Scores of two revisions on one seed; ``None`` for an episode that was lost."""

    seed: int
    before: float | None
    after: float | None

    @property
    def difference(self) -> float | None:
        """After minus before, if both were played."""
        return None if self.before is None or self.after is None else self.after - self.before


class Comparison(Facts):
    """Two revisions on the same seeds.

    Attributes:
        slice: Name of the bank slice, such as ``confirm[3]``.
        before: Mean score of the older revision over the complete pairs.
        after: Mean score of the newer one.
        effect: Mean paired difference.
        pairs: The scores, by seed.
        better: Seeds on which the newer revision scored more.
        worse: Seeds on which it scored less.
        same: Seeds on which both scored the same.
        missing: Seeds of which an episode was lost.
    """

    slice: str
    before: Estimate
    after: Estimate
    effect: Estimate
    pairs: tuple[Pair, ...]
    better: int
    worse: int
    same: int
    missing: int


class ChangedFile(Facts):
    """One file that a candidate changed; line counts are ``None`` for binary content."""

    path: str
    old_path: str | None
    added: int | None
    removed: int | None


class Said(Facts):
    """One thing that was said in an editor's conversation.

    Attributes:
        who: ``editor``, ``host``, or the name of the tool that was called or gave this back.
        kind: ``words``, ``call``, ``result`` or ``refusal``.
        text: What was said, cut where it is long.
    """

    who: str
    kind: str
    text: str


class Candidate(Facts):
    """One candidate and what became of it.

    Attributes:
        number: Its number in the night, from 1.
        name: What a person calls it: ``crafter/v1`` once accepted.
        subject: One line.
        kind: ``memory``, ``perception`` or ``play``.
        editor: Who proposed it; empty if the repository no longer says.
        champion: Name of the champion it was made from and judged against.
        summary: What was changed, in the editor's words.
        rationale: Why, in the editor's words.
        expected: What should become better, in the editor's words.
        decision: ``accept``, ``reject``, ``indecisive`` or ``refused``.
        reason: The gate's sentence.
        verdict: The gate's verdict; ``None`` if it was refused before.
        comparison: Scores at the stage that decided; ``None`` if they are no longer stored.
        metrics_before: The champion's mean behaviour metrics on the seeds both played.
        metrics_after: The candidate's.
        notes: What a reviewer should see besides.
        files: What it changed; ``None`` if the repository no longer has it.
        diff: The unified difference to its champion.
        tree: Its tree hash.
        parent: Tree hash of its champion.
        commit: The commit that carries it; empty if there is none.
        mlflow_run: Its run.
        episodes: Keys of the episodes it was judged on.
        conversation: How its editor came to it, where that is a language model.
    """

    number: int
    name: str
    subject: str
    kind: str
    editor: str
    champion: str
    summary: str
    rationale: str
    expected: str
    decision: Decision
    reason: str
    verdict: Verdict | None
    comparison: Comparison | None
    metrics_before: dict[str, float | None]
    metrics_after: dict[str, float | None]
    notes: tuple[str, ...]
    files: tuple[ChangedFile, ...] | None
    diff: str
    tree: str
    parent: str
    commit: str
    mlflow_run: str
    episodes: tuple[str, ...]
    conversation: tuple[Said, ...] = ()

    @property
    def accepted(self) -> bool:
        """Whether it became champion."""
        return self.decision == "accept"


class Model(Facts):
    """The model of a role, as far as it may be shown; ``name`` is empty for `heuristic`."""

    role: str
    provider: str
    name: str
    url: str


class Spend(Facts):
    """What was used.

    Attributes:
        whole_night: Whether this is the ledger's account of the whole night; otherwise only what
            judging the candidates took.
        money_usd: US dollars, open and presumed calls included.
        presumed_usd: The part of it that a broken call may or may not have cost.
        tokens: Model tokens.
        episodes: New episodes that judging took.
        episode_hours: Their playing time, added up.
    """

    whole_night: bool
    money_usd: float
    presumed_usd: float
    tokens: int
    episodes: int
    episode_hours: float


class ErrorRate(Facts):
    """The night's error budget.

    Attributes:
        rule: Name of the acceptance rule.
        allowed: Chance of a false acceptance that the night may run; ``None`` if the rule keeps
            none.
        charged: What its confirmations charged.
        left: What is left.
        confirm_alpha: What each confirmation charges.
    """

    rule: str
    allowed: float | None
    charged: float
    left: float
    confirm_alpha: float | None


class ReportBank(Facts):
    """First and last champion on the sealed bank; no comparison if nothing could be compared.

    Attributes:
        first: Name of the first champion.
        last: Name of the last one.
        comparison: Both, seed by seed.
        by_environment: Mean percent of both on each environment.
    """

    first: str
    last: str
    comparison: Comparison | None
    by_environment: dict[str, tuple[float | None, float | None]] = {}


class Setting(Facts):
    """One line of the configuration: table and name as in ``slowwave.toml``."""

    name: str
    value: str


class ReportData(Facts):
    """The whole report.

    Attributes:
        night: The night's id.
        lineage: The lineage it improved.
        environment: Environment id, or name of a suite.
        suite: Whether it is a suite, whose every seed is played on each environment.
        unavailable: A sentence for each environment of the suite that could not be played.
        steps: Steps of a game at most; ``None`` for the environment's own limit.
        started_at: When it started.
        ended_at: When it ended; ``None`` while it is not finished.
        first: Name of the champion it began with.
        last: Name of the champion it ended with, so far.
        stop_reason: Why no more candidates were tried.
        summary: The night in one to three sentences.
        candidates: The candidates in the order in which they were judged.
        candidates_at_most: How many the night may try.
        report_bank: The sealed bank's scores; ``None`` before the end.
        spend: What was used.
        error_rate: The night's error budget.
        models: The model of each role.
        editor: Who proposes.
        sandbox: Where the candidates' code ran.
        sandbox_cannot: What that sandbox does not enforce.
        settings: The configuration, without anything that could be secret.
    """

    schema_version: int = SCHEMA
    night: str
    lineage: str
    environment: str
    suite: bool = False
    unavailable: tuple[str, ...] = ()
    steps: int | None
    started_at: datetime
    ended_at: datetime | None
    first: str
    last: str
    stop_reason: str
    summary: tuple[str, ...] = ()
    candidates: tuple[Candidate, ...]
    candidates_at_most: int
    report_bank: ReportBank | None
    spend: Spend
    error_rate: ErrorRate
    models: tuple[Model, ...]
    editor: str
    sandbox: str
    sandbox_cannot: str
    settings: tuple[Setting, ...]

    @property
    def finished(self) -> bool:
        """Whether the night came to its end."""
        return self.ended_at is not None

    @property
    def accepted(self) -> tuple[Candidate, ...]:
        """The candidates that became champion."""
        return tuple(one for one in self.candidates if one.accepted)
