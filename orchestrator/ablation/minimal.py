"""Makes a revision smaller: without the hunks that do nothing, if the gate agrees.

the hunks that are dead or do harm, left out together
against the revision itself, on the hunks' seeds     it is within the margin, or they stay
against what the revision was made from, at the gate accepted as the lineage's newest
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.ablation.bench import AblationBench, budget_name
from orchestrator.ablation.hunks import Contribution, without
from orchestrator.episodes.planner import manifest_faults
from orchestrator.episodes.spec import EpisodeResult
from orchestrator.errors import UsageError
from orchestrator.evaluation import Difference, compare
from orchestrator.gate.account import Confirmation
from orchestrator.gate.budget import ErrorBudget
from orchestrator.gate.evidence import PairedScores
from orchestrator.gate.protocol import Need
from orchestrator.gate.trial import judge, verdict_of
from orchestrator.gate.verdict import Verdict
from orchestrator.scaffolds.check import check_scaffold
from orchestrator.scaffolds.revision import Proposal, Revision
from orchestrator.verdicts import as_trailers, make_rule, short_key

COMPLETE = 0.9
"""Share of the pairs that must have been played to the end for anything to be dropped."""


@dataclass(frozen=True, slots=True)
class Smaller:
    """What became of the revision without its dead hunks.

    Attributes:
        sentence: For a person.
        verdict: The gate's verdict on it; ``None`` if it was not asked.
        name: The new revision; empty if none was made.
    """

    sentence: str
    verdict: Verdict | None = None
    name: str = ""


def require_newest(bench: AblationBench) -> None:
    """Refuse to make something smaller that others have been built on.

    Raises:
        UsageError: It is not its lineage's head.
    """
    head = bench.place.scaffolds.champion(bench.revision.lineage)
    if head.commit != bench.revision.commit:
        raise UsageError(
            f"{bench.revision.name} is not the newest of {bench.revision.lineage}, so a smaller"
            " one cannot take its place.",
            mend=f"Leave --minimal out, or name {head.name}.",
        )


def drop_dead(bench: AblationBench, found: Sequence[Contribution], margin: float) -> Smaller:
    """The revision without its dead hunks, committed if it is as good and the gate agrees.

    Args:
        bench: Plays.
        found: What each hunk contributes.
        margin: Points by which it may be worse than the revision, at the lower end of the 95%
            interval.

    Raises:
        UsageError: The lineage has another head, now or once all is played.
        Outage: So many episodes were lost that it is the machinery.
    """
    require_newest(bench)
    dropped = {one.hunk.number for one in found if one.word in ("dead", "harms")}
    if not dropped:
        return Smaller("Nothing of it is dead, so it stays as it is.")
    files = without(bench.old, bench.new, bench.hunks, dropped)
    listed = ", ".join(map(str, sorted(dropped)))
    faults = check_scaffold(files, validate_manifest=manifest_faults)
    if faults or files == dict(bench.old):
        why = str(faults[0]) if faults else "nothing is left of it."
        return Smaller(f"Without {listed} together it cannot stand: {why}")
    tree, whole = bench.tree(files), bench.revision.tree
    played = bench.play_trees([whole, tree], bench.seeds, "ablate minimal")
    lost = compare(bench.scores(played[whole]), bench.scores(played[tree]))
    worse = _worse(lost, len(bench.seeds), margin)
    if worse or lost.effect is None:
        return Smaller(f"Without {listed} together {worse}")
    verdict, judged = _judged(bench, tree)
    if verdict.decision != "accept":
        return Smaller(f"Without {listed} the gate does not agree: {verdict.reason}", verdict)
    beside = f"{lost.effect:+.1f} points on {lost.pairs} pairs"
    made = _commit(bench, tree, listed, verdict, judged, beside)
    return Smaller(
        f"{made.name} is {bench.revision.name} without {listed}: {verdict.reason}",
        verdict,
        made.name,
    )


def _worse(lost: Difference, seeds: int, margin: float) -> str:
    """Why what was played does not show that nothing is lost; empty if it does."""
    if lost.effect is None or lost.pairs < COMPLETE * seeds:
        return (
            f"only {lost.pairs} of {seeds} pairs were played to the end, which is too few to drop"
            " anything: run it again."
        )
    low = lost.effect if lost.low is None else lost.low
    if low < -margin:
        return (
            f"it may be worse by {-low:.1f} points (the lower end of the 95% interval, and"
            f" {margin:g} are allowed): they stay."
        )
    return ""


def _judged(bench: AblationBench, tree: str) -> tuple[Verdict, dict[str, EpisodeResult]]:
    """The gate's verdict against what the revision was made from, and what it was decided on."""
    rule = make_rule(bench.config)
    confirmation = Confirmation(
        budget_name(bench.revision, "minimal"), bench.selection.name, tree, bench.parent.tree
    )
    budget = ErrorBudget(bench.place.ledger, bench.config.gate.night_alpha)
    judged: dict[str, EpisodeResult] = {}

    def play_pairs(need: Need, slice_index: int) -> PairedScores:
        seeds = bench.banks.seeds(need.stage, need.pairs, slice_index)
        label = f"{need.stage} {len(seeds)}"
        played = bench.play_trees([bench.parent.tree, tree], seeds, label)
        old, new = played[bench.parent.tree], played[tree]
        judged.update({one.key: one for one in (*old, *new) if isinstance(one, EpisodeResult)})
        return PairedScores(
            seeds=tuple(seeds),
            champion=tuple(bench.scores(old).values()),
            candidate=tuple(bench.scores(new).values()),
        )

    trial = judge(rule, confirmation, budget, play_pairs)
    # What the revision itself was judged on was played, and paid for, then.
    earlier = bench.revision.verdict.trajectories if bench.revision.verdict else ()
    fresh = [one for key, one in judged.items() if short_key(key) not in earlier]
    verdict = verdict_of(
        trial,
        rule,
        episodes=len(fresh),
        tokens=sum(one.tokens for one in fresh),
        money_usd=sum(one.money_usd for one in fresh),
        hours=sum(one.seconds for one in fresh) / 3600,
    )
    return verdict, judged


def _commit(
    bench: AblationBench,
    tree: str,
    listed: str,
    verdict: Verdict,
    judged: dict[str, EpisodeResult],
    beside: str,
) -> Revision:
    """Commit it on top of the revision, with the gate's verdict."""
    store, whole = bench.place.scaffolds, bench.revision
    candidate = store.propose(
        whole.lineage,
        night=f"ablate-{whole.tree[:12]}-{tree[:12]}",
        number=1,
        tree=tree,
        parent=whole,
        proposal=Proposal(
            subject=f"Drop what makes no difference in {whole.name}",
            summary=f"Takes out hunks {listed} of {whole.name}.",
            rationale="Left out one by one, they were dead or did harm on fresh seeds.",
            expected_effect="None on the score; less to read and to carry.",
            kind="memory",
            editor=whole.editor or "",
        ),
    )
    # Before its verdict is written: it stands against this champion and no other.
    require_newest(bench)
    notes = (
        verdict.reason,
        f"Judged against {bench.parent.name}, which {whole.name} was made from.",
        f"Against {whole.name} itself: {beside}.",
    )
    trailers = as_trailers(
        verdict,
        bench.planner.models,
        word="accept",
        notes=notes,
        trajectories=tuple(sorted(map(short_key, judged))),
    )
    return store.accept(store.record(candidate, trailers))
