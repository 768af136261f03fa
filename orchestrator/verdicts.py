"""Between the gate and the night: the rule as configured, scores in percent, commit trailers."""

from __future__ import annotations

from orchestrator.config import Config
from orchestrator.gate.protocol import AcceptanceRule
from orchestrator.gate.rules import rule_from_name
from orchestrator.gate.verdict import Verdict
from orchestrator.night_record import Round
from orchestrator.scaffolds.revision import Verdict as CommitVerdict
from orchestrator.scaffolds.revision import VerdictWord


def make_rule(config: Config) -> AcceptanceRule:
    """The configured acceptance rule on the configured numbers of seeds."""
    gate, banks = config.gate, config.banks
    if gate.rule == "strict-mean":
        return rule_from_name(gate.rule, screen_pairs=banks.screen)
    return rule_from_name(
        gate.rule,
        screen_pairs=banks.screen,
        screen_alpha=gate.screen_alpha,
        confirm_pairs=banks.confirm,
        confirm_alpha=gate.confirm_alpha,
        futility_pairs=banks.screen // 2,
    )


def short_key(key: str) -> str:
    """An episode's key as a commit names it."""
    return key[:12]


def commit_verdict(entry: Round, models: dict[str, str]) -> CommitVerdict:
    """A round's verdict as the commit's trailers say it."""
    verdict = entry.verdict
    if verdict is None:
        notes = (entry.reason,)
        return CommitVerdict(word=entry.decision, notes=notes, mlflow_run=entry.mlflow_run)
    # The notes of a refusal are shown to editors: no number of the gate's may stand there.
    refused = entry.decision == "refused"
    reasons = (entry.reason,) if refused else (entry.reason, verdict.reason)
    return as_trailers(
        verdict,
        models,
        word=entry.decision,
        notes=tuple(dict.fromkeys((*reasons, *entry.notes))),
        trajectories=tuple(map(short_key, entry.episodes)),
        mlflow_run=entry.mlflow_run,
    )


def as_trailers(
    verdict: Verdict,
    models: dict[str, str],
    *,
    word: VerdictWord,
    notes: tuple[str, ...],
    trajectories: tuple[str, ...] = (),
    mlflow_run: str | None = None,
) -> CommitVerdict:
    """The gate's verdict as a commit's trailers say it.

    Args:
        verdict: What the gate found.
        models: Model fingerprint by role.
        word: What became of the candidate, which may be another word than the gate's.
        notes: Sentences that a reviewer should see.
        trajectories: Keys of the episodes, shortened.
        mlflow_run: The run that holds the artifacts.
    """
    interval = None
    if verdict.low is not None and verdict.high is not None:
        interval = (verdict.low, verdict.high)
    return CommitVerdict(
        word=word,
        effect=verdict.effect,
        interval=interval,
        p=verdict.p,
        pairs=verdict.pairs,
        bank_slices=verdict.slices,
        episodes=verdict.episodes,
        tokens=verdict.tokens,
        cost=verdict.money_usd,
        hours=verdict.hours,
        models=models,
        trajectories=trajectories,
        mlflow_run=mlflow_run,
        notes=notes,
    )
