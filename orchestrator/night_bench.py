"""What a night does for an editor: a draft checked and tried, a revision's difference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator.editors.base import Changes, Trial
from orchestrator.episodes.job import EpisodeJob
from orchestrator.episodes.planner import EpisodePlanner
from orchestrator.episodes.spec import EpisodeResult, MissingEpisode
from orchestrator.scaffolds.revision import READ_EDITORS, Revision
from orchestrator.scaffolds.store import ScaffoldStore
from orchestrator.screening import try_out

PlayJobs = Callable[[Sequence[EpisodeJob], str], Sequence[EpisodeResult | MissingEpisode]]


@dataclass(frozen=True, slots=True)
class NightBench:
    """Checks and tries what may become a candidate.

    Attributes:
        store: The scaffold repository.
        lineage: The lineage that is improved.
        champion: What drafts are made from.
        editor: Who makes them.
        planner: Plans the short episodes.
        seeds: Their seeds.
        play: Plays them.
        revisions: Folder into which scaffolds are unpacked.
        artifacts: The artifacts folder.
        override_ceiling: Share of steps in which code may override the model.
    """

    store: ScaffoldStore
    lineage: str
    champion: Revision
    editor: str
    planner: EpisodePlanner
    seeds: Sequence[int]
    play: PlayJobs
    revisions: Path
    artifacts: Path
    override_ceiling: float

    def try_it(self, changes: Changes) -> Trial:
        """Check a draft, and play a short episode with it; see `Bench`."""
        tree = self.store.write_tree(self.champion.tree, changes)
        if tree == self.champion.tree:
            return Trial("It is the same, byte for byte, as what it was made from.", None)
        author = "" if self.editor in READ_EDITORS else self.editor
        return self.trial(tree, "", author, "a draft")

    def trial(self, tree: str, candidate: str, author: str, name: str) -> Trial:
        """Check a tree, and play a short episode with it.

        Args:
            tree: Its hash.
            candidate: Its name as a candidate; empty for a draft.
            author: The editor that wrote its code; empty if people have read it.
            name: What it is called on the screen.
        """
        known = self.store.judged(self.lineage, tree)
        # One with a verdict of its own is judged again after a crash, whoever equals it.
        again = any(one.candidate == candidate for one in known)
        decided = [one for one in known if one.verdict and one.verdict.word != "indecisive"]
        if decided and not again:
            same = f"It is the same, byte for byte, as {decided[0].name}, which has been judged."
            return Trial(same, None)

        def play(tree: str, author: str, name: str) -> EpisodeResult | MissingEpisode:
            folder = self.store.export(tree, self.revisions)
            jobs = self.planner.jobs(folder, tree, self.seeds, author=author)
            return self.play(jobs, f"smoke {name}")[0]

        old = self.champion
        return try_out(
            self.store.export(tree, self.revisions),
            lambda: play(tree, author, name),
            self.artifacts,
            self.override_ceiling,
            play_champion=lambda: play(old.tree, self.store.author(old.tree), old.name),
        )

    def diff(self, name: str) -> str:
        """What a revision changed against what it was made from; empty for a seed."""
        revision = self.store.revision(name)
        return self.store.diff(revision.parent, revision) if revision.parent else ""
