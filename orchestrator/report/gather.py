"""Collect the facts of a night from where they lie; nothing is played, nothing is changed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from envs.registry import family
from orchestrator.config import Config
from orchestrator.editors.meta.transcript import read_transcript, transcript_path
from orchestrator.episodes.spec import EpisodeResult
from orchestrator.episodes.store import EpisodeStore
from orchestrator.evaluation import scores_by_seed
from orchestrator.gate.banks import SeedBanks
from orchestrator.gate.budget import ErrorBudget
from orchestrator.gate.verdict import bca_interval
from orchestrator.models.ledger import SpendLedger, Totals
from orchestrator.night_record import NightRecord, ReportScores, Round
from orchestrator.report.data import (
    Candidate,
    ChangedFile,
    Comparison,
    ErrorRate,
    Estimate,
    Model,
    Pair,
    ReportBank,
    ReportData,
    Said,
    Setting,
    Spend,
)
from orchestrator.report.talk import conversation
from orchestrator.report.words import summary
from orchestrator.scaffolds.errors import UnknownRevision
from orchestrator.scaffolds.revision import Revision
from orchestrator.scaffolds.store import ScaffoldStore
from orchestrator.workspace import Workspace

SHOWN_TABLES = ("night", "banks", "gate", "ceilings", "budget")
"""Tables of the configuration that the page shows; none of them can hold a secret."""

SAME = 1e-9
"""Scores closer than this are the same; sums of fractions differ in their last bits."""


def gather(workspace: Workspace, record: NightRecord) -> ReportData:
    """The facts of a night, finished or not.

    Raises:
        UnknownLineage: The scaffold repository does not have the night's lineage.
        SlowwaveError: The repository or a ledger cannot be read.
    """
    store, config = workspace.scaffolds, record.config
    history = store.history(record.lineage, include_candidates=True)
    first = next((one.name for one in history if one.commit == record.first), record.first[:12])
    accepted = [one.name for one in record.rounds if one.decision == "accept"]
    facts = ReportData(
        night=record.id,
        lineage=record.lineage,
        environment=record.environment,
        suite=len(record.environments) > 1,
        unavailable=tuple(record.unavailable.values()),
        steps=config.night.steps.get(family(record.environment)),
        started_at=_moment(record.started_at),
        ended_at=None if record.ended_at is None else _moment(record.ended_at),
        first=record.report.first if record.report else first,
        last=record.report.last if record.report else [first, *accepted][-1],
        stop_reason=record.stop_reason,
        candidates=tuple(_candidates(workspace, record, history)),
        candidates_at_most=config.night.candidates,
        report_bank=_report_bank(record.report),
        spend=_spend(workspace, record),
        error_rate=_error_rate(workspace, record),
        models=_models(config),
        editor=_editor(config),
        sandbox=config.sandbox,
        sandbox_cannot=record.sandbox_cannot,
        settings=tuple(_settings(config)),
    )
    return facts.model_copy(update={"summary": summary(facts)})


def _editor(config: Config) -> str:
    """Who proposed: ``rules``, or the language model by provider and name."""
    model = config.models.get("meta")
    if config.night.editor == "rules" or model is None:
        return config.night.editor
    return f"{model.provider}:{model.model}"


def compare(slice_name: str, pairs: Sequence[Pair]) -> Comparison | None:
    """Two revisions compared on the complete pairs; ``None`` if there is none."""
    complete = [(one.before, one.after) for one in pairs if one.difference is not None]
    before = [old for old, _ in complete if old is not None]
    after = [new for _, new in complete if new is not None]
    differences = [new - old for old, new in zip(before, after, strict=True)]
    if not differences:
        return None
    better = sum(one > SAME for one in differences)
    worse = sum(one < -SAME for one in differences)
    return Comparison(
        slice=slice_name,
        before=estimate(before),
        after=estimate(after),
        effect=estimate(differences),
        pairs=tuple(pairs),
        better=better,
        worse=worse,
        same=len(differences) - better - worse,
        missing=len(pairs) - len(differences),
    )


def estimate(values: Sequence[float]) -> Estimate:
    """The mean of some values with its 95% BCa interval."""
    interval = bca_interval(values)
    return Estimate(mean=math.fsum(values) / len(values), low=interval.low, high=interval.high)


def _candidates(
    workspace: Workspace, record: NightRecord, history: Sequence[Revision]
) -> Iterable[Candidate]:
    commits = {one.candidate: one for one in history if one.candidate}
    banks = SeedBanks(record.environment, record.config.root_seed)
    episodes = EpisodeStore(workspace.artifacts)
    for entry in record.rounds:
        played = [one for one in map(episodes.get, entry.episodes) if one is not None]
        revision = commits.get(f"{record.id}/{entry.number}")
        comparison = _comparison(entry, played, banks, len(record.environments))
        talk = read_transcript(transcript_path(workspace.night_folder(record.id), entry.number))
        yield _candidate(workspace.scaffolds, entry, revision, comparison, conversation(talk))


def _candidate(
    store: ScaffoldStore,
    entry: Round,
    revision: Revision | None,
    comparison: Comparison | None,
    talk: tuple[Said, ...],
) -> Candidate:
    prose = proposal_parts(revision.body if revision else "")
    diff, files = _changes(store, entry)
    return Candidate(
        number=entry.number,
        name=entry.name,
        subject=entry.subject,
        kind=entry.kind,
        editor=(revision.editor if revision else None) or "",
        champion=entry.parent_name,
        summary=prose["summary"],
        rationale=prose["rationale"],
        expected=prose["expected"],
        decision=entry.decision,
        reason=entry.reason,
        verdict=entry.verdict,
        comparison=comparison,
        metrics_before=entry.metrics_before,
        metrics_after=entry.metrics_after,
        notes=entry.notes,
        files=files,
        diff=diff,
        tree=entry.tree,
        parent=entry.parent,
        commit=revision.commit if revision else "",
        mlflow_run=entry.mlflow_run,
        episodes=entry.episodes,
        conversation=talk,
    )


def proposal_parts(body: str) -> dict[str, str]:
    """Summary, rationale and expected effect from a commit's body.

    The inverse of `orchestrator.scaffolds.message.proposal_message`.
    """
    parts: dict[str, list[str]] = {"summary": [], "rationale": [], "expected": []}
    marks = {"Why: ": "rationale", "Expected: ": "expected"}
    current = "summary"
    for paragraph in body.split("\n\n"):
        for mark, part in marks.items():
            if paragraph.startswith(mark) and not parts[part]:
                current, paragraph = part, paragraph.removeprefix(mark)
        parts[current].append(paragraph)
    return {part: "\n\n".join(paragraphs).strip() for part, paragraphs in parts.items()}


def _changes(store: ScaffoldStore, entry: Round) -> tuple[str, tuple[ChangedFile, ...] | None]:
    try:
        found = store.stat(entry.parent, entry.tree)
        diff = store.diff(entry.parent, entry.tree)
    except UnknownRevision:
        return "", None
    files = [
        ChangedFile(path=one.path, old_path=one.old_path, added=one.added, removed=one.removed)
        for one in found
    ]
    return diff, tuple(files)


def _comparison(
    entry: Round, played: Sequence[EpisodeResult], banks: SeedBanks, environments: int
) -> Comparison | None:
    """Scores at the stage that decided, if the stored episodes still give the verdict's effect."""
    verdict = entry.verdict
    if verdict is None or verdict.effect is None:
        return None
    decided = next((s for s in reversed(verdict.slices) if s.startswith(verdict.stage)), "")
    here = [one for one in played if banks.slice_of(one.seed) == decided]
    before, after = (
        scores_by_seed((one for one in here if one.tree == tree), environments)
        for tree in (entry.parent, entry.tree)
    )
    found = compare(decided, _pairs(before, after))
    if found is None or not math.isclose(found.effect.mean, verdict.effect, abs_tol=1e-6):
        return None
    return found


def _pairs(before: Mapping[int, float | None], after: Mapping[int, float | None]) -> list[Pair]:
    seeds = sorted(before.keys() | after.keys())
    return [Pair(seed=seed, before=before.get(seed), after=after.get(seed)) for seed in seeds]


def _report_bank(report: ReportScores | None) -> ReportBank | None:
    if report is None:
        return None
    scores = report.scores
    pairs = [
        Pair(seed=seed, before=old, after=new)
        for seed, old, new in zip(scores.seeds, scores.champion, scores.candidate, strict=True)
    ]
    return ReportBank(
        first=report.first,
        last=report.last,
        comparison=compare("report", pairs),
        by_environment=report.by_environment,
    )


def _spend(workspace: Workspace, record: NightRecord) -> Spend:
    verdicts = [one.verdict for one in record.rounds if one.verdict is not None]
    totals = Totals()
    if workspace.ledger.exists():
        ledger = SpendLedger(workspace.ledger)
        totals = ledger.totals(record.id)
        ledger.close()
    # A model that costs nothing may be left out of the ledger; then there is only what the
    # verdicts say.
    known = totals.calls > 0
    return Spend(
        whole_night=known,
        money_usd=float(totals.money_usd) if known else sum(one.money_usd for one in verdicts),
        presumed_usd=float(totals.open_money_usd + totals.presumed_money_usd),
        tokens=totals.tokens if known else sum(one.tokens for one in verdicts),
        episodes=sum(one.episodes for one in verdicts),
        episode_hours=sum(one.hours for one in verdicts),
    )


def _error_rate(workspace: Workspace, record: NightRecord) -> ErrorRate:
    gate = record.config.gate
    if gate.rule == "strict-mean":
        return ErrorRate(rule=gate.rule, allowed=None, charged=0, left=0, confirm_alpha=None)
    charged = math.fsum(one.verdict.alpha for one in record.rounds if one.verdict)
    if workspace.ledger.exists():
        # Also knows a confirmation that is charged and not finished yet.
        charged = max(charged, ErrorBudget(workspace.ledger, gate.night_alpha).spent(record.id))
    return ErrorRate(
        rule=gate.rule,
        allowed=gate.night_alpha,
        charged=charged,
        left=max(0.0, gate.night_alpha - charged),
        confirm_alpha=gate.confirm_alpha,
    )


def _models(config: Config) -> tuple[Model, ...]:
    return tuple(
        Model(
            role=role,
            provider=one.provider,
            name=one.model or "",
            url="" if one.provider == "heuristic" else one.url,
        )
        for role, one in sorted(config.models.items())
    )


def _settings(config: Config) -> Iterable[Setting]:
    yield Setting(name="root_seed", value=str(config.root_seed))
    for role, model in sorted(config.models.items()):
        if model.provider != "heuristic":
            for name in ("temperature", "top_p", "max_tokens", "price_input", "price_output"):
                yield Setting(name=f"models.{role}.{name}", value=_plain(getattr(model, name)))
    for table in SHOWN_TABLES:
        for name, value in getattr(config, table).model_dump().items():
            yield from _setting(f"{table}.{name}", value)


def _setting(name: str, value: object) -> Iterable[Setting]:
    """One row, or one for each entry of a table inside a table."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _setting(f"{name}.{key}", inner)
    else:
        yield Setting(name=name, value=_plain(value or None if value == {} else value))


def _plain(value: object) -> str:
    return "not set" if value is None else str(value)


def _moment(seconds: float) -> datetime:
    """A time in this machine's zone, to the second."""
    return datetime.fromtimestamp(int(seconds)).astimezone()
