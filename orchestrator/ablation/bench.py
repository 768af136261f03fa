"""Plays a revision, and the revision without some of its parts, on fresh seeds."""

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
from orchestrator.evaluation import compare, scores_by_seed
from orchestrator.gate.account import Confirmation
from orchestrator.gate.banks import SeedBanks
from orchestrator.gate.budget import ErrorBudget
from orchestrator.outage import check_outage
from orchestrator.scaffolds.check import check_scaffold
from orchestrator.scaffolds.revision import Revision
from orchestrator.workspace import Workspace

NOTHING = 1e-9
"""What is charged for the slice that hunks are measured on: on it nothing is accepted."""

Scores = dict[int, float | None]
Outcomes = Sequence[EpisodeResult | MissingEpisode]
Play = Callable[[list[EpisodeJob], str], Outcomes]


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
        night = budget_name(revision, "hunks")
        own = Confirmation(night, selection.name, revision.tree, parent.tree)
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
                trees[hunk.number] = self.tree(files)
        played = self.play_trees([self.revision.tree, *trees.values()], self.seeds, "ablate")
        whole = self.scores(played[self.revision.tree])
        found = []
        for hunk in self.hunks:
            if hunk.number in refusals:
                found.append(Contribution(hunk, refusals[hunk.number], None, "needed"))
                continue
            difference = compare(self.scores(played[trees[hunk.number]]), whole)
            level = alpha / len(self.hunks)
            found.append(credit(hunk, difference, alpha=level, margin=margin))
        return found

    def tree(self, files: Files) -> str:
        """The tree of some of the revision's files."""
        changes = {
            path: files.get(path)
            for path in {*self.new, *files}
            if self.new.get(path) != files.get(path)
        }
        return self.place.scaffolds.write_tree(self.revision.tree, changes)

    def play_trees(
        self, trees: Sequence[str], seeds: Sequence[int], label: str
    ) -> dict[str, Outcomes]:
        """What each tree played on the seeds; all of it is played at once.

        Raises:
            Outage: So many episodes were lost that it is the machinery.
        """
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
        check_outage(outcomes)
        size = len(jobs) // len(trees)
        return {tree: outcomes[at * size : (at + 1) * size] for at, tree in enumerate(trees)}

    def scores(self, outcomes: Outcomes) -> Scores:
        """Percent of progression by seed."""
        return scores_by_seed(outcomes, len(self.selection.ids))


def budget_name(revision: Revision, what: str) -> str:
    """The name under which confirmations of a revision's parts are charged; never another one."""
    return f"ablate-{revision.tree[:12]}-{what}"
