"""Plays a revision, and parts of it, against each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from envs.registry import Selection
from orchestrator.ablation.hunks import Contribution, Files, Hunk, credit, hunks_between, without
from orchestrator.config import Config
from orchestrator.episodes.job import EpisodeJob
from orchestrator.episodes.planner import EpisodePlanner, manifest_faults
from orchestrator.episodes.spec import EpisodeResult, MissingEpisode
from orchestrator.errors import UsageError
from orchestrator.evaluation import Difference, compare, scores_by_seed
from orchestrator.gate.account import Confirmation
from orchestrator.gate.banks import SeedBanks
from orchestrator.gate.budget import ErrorBudget
from orchestrator.gate.evidence import PairedScores
from orchestrator.gate.protocol import Need
from orchestrator.gate.trial import judge, verdict_of
from orchestrator.gate.verdict import Verdict
from orchestrator.scaffolds.check import check_scaffold
from orchestrator.scaffolds.revision import Proposal, Revision
from orchestrator.verdicts import as_trailers, make_rule
from orchestrator.workspace import Workspace

NOTHING = 1e-9
"""What is charged for the slice that hunks are measured on: on it nothing is accepted."""

Scores = dict[int, float | None]
Play = Callable[[list[EpisodeJob], str], Sequence[EpisodeResult | MissingEpisode]]


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


@dataclass(frozen=True)
class AblationBench:
    """Takes a revision apart on fresh seeds of the confirm bank.

    Attributes:
        place: The workspace.
        config: Its configuration, with the sandbox decided.
        play: Plays episodes, in any order and number at once.
        revision: What is taken apart.
        parent: What it was made from.
        selection: What is played.
        planner: Plans episodes.
        banks: The seeds.
        seeds: Those that the hunks are measured on.
        old: The parent's files.
        new: The revision's files.
        hunks: What lies between.
    """

    place: Workspace
    config: Config
    play: Play
    revision: Revision
    parent: Revision
    selection: Selection
    planner: EpisodePlanner
    banks: SeedBanks
    seeds: Sequence[int]
    old: Files
    new: Files
    hunks: list[Hunk]

    @classmethod
    def make(
        cls,
        place: Workspace,
        config: Config,
        play: Play,
        name: str,
        *,
        pairs: int | None = None,
        allow_unsandboxed: bool = False,
    ) -> AblationBench:
        """Prepare for a revision.

        Args:
            place: The workspace.
            config: Its configuration, with the sandbox decided.
            play: Plays episodes.
            name: The revision's name.
            pairs: Seeds to play; default: the confirm bank's number.
            allow_unsandboxed: Run a model's code where it is not locked in.

        Raises:
            UsageError: It was made from nothing.
        """
        store = place.scaffolds
        revision = store.revision(name)
        if revision.parent is None or revision.parent_commit is None:
            raise UsageError(
                f"{revision.name} was made from nothing, so it has no parts to leave out.",
                mend="Name a revision that an editor made: slowwave log.",
            )
        parent = store.revision(revision.parent_commit)
        selection = place.environment_of(revision.lineage)
        planner = EpisodePlanner.make(
            config,
            place.artifacts,
            selection.ids,
            steps=config.night.steps.get(selection.family),
            allow_unsandboxed=allow_unsandboxed,
        )
        banks, sizes = place.banks(selection.name, config)
        # A slice that no confirmation has used: on the revision's own it was found good.
        own = Confirmation(_night(revision, "hunks"), selection.name, revision.tree, parent.tree)
        budget = ErrorBudget(place.ledger, config.gate.night_alpha)
        fresh = budget.charge(own, NOTHING).slice
        old, new = store.read_files(parent), store.read_files(revision)
        return cls(
            place=place,
            config=config,
            play=play,
            revision=revision,
            parent=parent,
            selection=selection,
            planner=planner,
            banks=banks,
            seeds=banks.seeds("confirm", pairs or sizes.confirm, fresh),
            old=old,
            new=new,
            hunks=hunks_between(old, new),
        )

    def require_newest(self) -> None:
        """Refuse to make something smaller that others have been built on.

        Raises:
            UsageError: It is not its lineage's head.
        """
        head = self.place.scaffolds.champion(self.revision.lineage)
        if head.commit != self.revision.commit:
            raise UsageError(
                f"{self.revision.name} is not the newest of {self.revision.lineage}, so a smaller"
                " one cannot take its place.",
                mend=f"Leave --minimal out, or name {head.name}.",
            )

    def contributions(self, alpha: float, margin: float) -> list[Contribution]:
        """What each hunk contributes; all that has to be played for it is played at once."""
        refusals: dict[int, str] = {}
        trees: dict[int, str] = {}
        for hunk in self.hunks:
            files = without(self.old, self.new, self.hunks, {hunk.number})
            faults = check_scaffold(files, validate_manifest=manifest_faults)
            if faults:
                refusals[hunk.number] = str(faults[0])
            else:
                trees[hunk.number] = self._tree(files)
        scores = self._play([self.revision.tree, *trees.values()], self.seeds, "ablate")
        whole = scores[self.revision.tree]
        found = []
        for hunk in self.hunks:
            if hunk.number in refusals:
                found.append(Contribution(hunk, refusals[hunk.number], None, "needed"))
                continue
            difference = compare(scores[trees[hunk.number]], whole)
            level = alpha / len(self.hunks)
            found.append(credit(hunk, difference, alpha=level, margin=margin))
        return found

    def smaller(self, found: Sequence[Contribution], alpha: float) -> Smaller:
        """The revision without its dead hunks, committed if the gate agrees."""
        dropped = {one.hunk.number for one in found if one.word in ("dead", "harms")}
        if not dropped:
            return Smaller("Nothing of it is dead, so it stays as it is.")
        files = without(self.old, self.new, self.hunks, dropped)
        listed = ", ".join(map(str, sorted(dropped)))
        faults = check_scaffold(files, validate_manifest=manifest_faults)
        if faults or files == dict(self.old):
            why = str(faults[0]) if faults else "nothing is left of it."
            return Smaller(f"Without {listed} together it cannot stand: {why}")
        tree = self._tree(files)
        scores = self._play([self.revision.tree, tree], self.seeds, "ablate minimal")
        lost = compare(scores[self.revision.tree], scores[tree])
        if lost.p is not None and lost.effect is not None and lost.p <= alpha and lost.effect < 0:
            return Smaller(
                f"Without {listed} together it is worse by {-lost.effect:.1f} points"
                f" (p = {lost.p:.3g}): they stay."
            )
        return self._judged(tree, listed, lost)

    def _judged(self, tree: str, listed: str, lost: Difference) -> Smaller:
        rule = make_rule(self.config)
        confirmation = Confirmation(
            _night(self.revision, "minimal"), self.selection.name, tree, self.parent.tree
        )
        budget = ErrorBudget(self.place.ledger, self.config.gate.night_alpha)

        def play_pairs(need: Need, slice_index: int) -> PairedScores:
            seeds = self.banks.seeds(need.stage, need.pairs, slice_index)
            label = f"{need.stage} {len(seeds)}"
            scores = self._play([self.parent.tree, tree], seeds, label)
            return PairedScores(
                seeds=tuple(seeds),
                champion=tuple(scores[self.parent.tree].values()),
                candidate=tuple(scores[tree].values()),
            )

        verdict = verdict_of(judge(rule, confirmation, budget, play_pairs), rule)
        if verdict.decision != "accept":
            return Smaller(f"Without {listed} the gate does not agree: {verdict.reason}", verdict)
        made = self._commit(tree, listed, verdict, lost)
        return Smaller(
            f"{made.name} is {self.revision.name} without {listed}: {verdict.reason}",
            verdict,
            made.name,
        )

    def _commit(self, tree: str, listed: str, verdict: Verdict, lost: Difference) -> Revision:
        """Commit it on top of the revision, with the gate's verdict."""
        store, whole = self.place.scaffolds, self.revision
        proposal = Proposal(
            subject=f"Drop what makes no difference in {whole.name}",
            summary=f"Takes out hunks {listed} of {whole.name}.",
            rationale="Left out one by one, they were dead or did harm on fresh seeds.",
            expected_effect="None on the score; less to read and to carry.",
            kind="memory",
            editor=whole.editor or "",
        )
        candidate = store.propose(
            whole.lineage,
            night=_night(whole, "minimal"),
            number=1,
            tree=tree,
            parent=whole,
            proposal=proposal,
        )
        against = f"Judged against {self.parent.name}, which {whole.name} was made from."
        beside = f"Against {whole.name} itself: {lost.effect:+.1f} points on {lost.pairs} pairs."
        notes = (verdict.reason, against, beside)
        trailers = as_trailers(verdict, self.planner.models, word="accept", notes=notes)
        recorded = store.record(candidate, trailers)
        return store.accept(recorded)

    def _tree(self, files: Files) -> str:
        changes = {
            path: files.get(path)
            for path in {*self.new, *files}
            if self.new.get(path) != files.get(path)
        }
        return self.place.scaffolds.write_tree(self.revision.tree, changes)

    def _play(self, trees: Sequence[str], seeds: Sequence[int], label: str) -> dict[str, Scores]:
        """Percent of progression by seed, for each tree."""
        store, trees = self.place.scaffolds, list(dict.fromkeys(trees))
        # Parts of a revision are as little read as the whole.
        author = store.author(self.revision.tree)
        jobs = [
            job
            for tree in trees
            for job in self.planner.jobs(
                store.export(tree, self.place.artifacts / "revisions"), tree, seeds, author=author
            )
        ]
        outcomes = self.play(jobs, f"{label} · {self.revision.name}")
        size = len(jobs) // len(trees)
        return {
            tree: scores_by_seed(outcomes[at * size : (at + 1) * size], len(self.selection.ids))
            for at, tree in enumerate(trees)
        }


def _night(revision: Revision, what: str) -> str:
    """The name under which charges and the smaller candidate are kept; the same when repeated."""
    return f"ablate-{revision.tree[:12]}-{what}"
