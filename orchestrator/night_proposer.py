"""Proposing: from a champion and how it played to the candidates of one round."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from envs.registry import family
from orchestrator.editors.base import Bench, Brief, Failed, ScaffoldEditor
from orchestrator.episodes.spec import EpisodeResult
from orchestrator.models.errors import BudgetExhausted
from orchestrator.night_judge import Played, PlayRevisions
from orchestrator.night_record import NightRecord
from orchestrator.outage import check_outage
from orchestrator.scaffolds.revision import Revision
from orchestrator.scaffolds.store import ScaffoldStore


class NightProposer:
    """Has an editor propose, and commits what it proposes.

    Args:
        record: The night's record before this round.
        store: The scaffold repository.
        editor: Who proposes.
        seeds: The propose bank.
        play: Plays revisions.
        bench: What is done for the editor on a champion.
        say: Told what happens.
    """

    def __init__(
        self,
        record: NightRecord,
        store: ScaffoldStore,
        editor: ScaffoldEditor,
        seeds: Sequence[int],
        play: PlayRevisions,
        bench: Callable[[Revision], Bench],
        say: Callable[[str], None],
    ) -> None:
        self._record = record
        self._store = store
        self._editor = editor
        self._seeds = seeds
        self._play = play
        self._bench = bench
        self._say = say

    def candidates(self) -> dict[int, Revision]:
        """The candidates of the next round, by number: all made from one champion."""
        config, first = self._record.config.night, len(self._record.rounds) + 1
        end = min(first + config.proposals, config.candidates + 1)
        found: dict[int, Revision] = {}
        for number in range(first, end):
            candidate = self._proposed(number)
            if candidate is None:
                champion = self._store.champion(self._record.lineage)
                moved = any(one.parent_commit != champion.commit for one in found.values())
                if moved or any(one.verdict for one in found.values()):
                    break  # it was being written down before a crash: this round was complete
                try:
                    candidate = self._propose(number, number - first + 1, champion)
                except BudgetExhausted:
                    if not found:
                        raise
                    break  # what was proposed is still judged, as far as the budget goes
                if candidate is None:
                    break
            found[number] = candidate
        return found

    def _proposed(self, number: int) -> Revision | None:
        """The night's n-th candidate, if it was proposed before a crash."""
        name = f"{self._record.id}/{number}"
        known = self._store.history(self._record.lineage, include_candidates=True)
        found = next((one for one in known if one.candidate == name), None)
        if found is not None:
            self._editor.settle(self._record.id, number)  # the crash may have come before that
        return found

    def _propose(self, number: int, place: int, champion: Revision) -> Revision | None:
        self._say(f"Candidate {number}: reading how {champion.name} plays")
        episodes = self._played(champion)
        check_outage(episodes)
        brief = self._brief(number, place, champion, episodes)
        draft = self._editor.propose(brief, self._bench(champion))
        if draft is None:
            return None
        tree = self._store.write_tree(champion.tree, draft.changes)
        if tree == champion.tree:
            # Asked again it would say the same: as if it had nothing left.
            self._say(f"Candidate {number} would change nothing.")
            return None
        candidate = self._store.propose(
            self._record.lineage,
            night=self._record.id,
            number=number,
            tree=tree,
            parent=champion,
            proposal=draft.proposal,
        )
        self._editor.settle(self._record.id, number)
        return candidate

    def _brief(self, number: int, place: int, champion: Revision, episodes: Played) -> Brief:
        lineage = self._store.history(self._record.lineage)
        reverted = {one.trailer("Reverts") for one in lineage}
        everything = self._store.history(self._record.lineage, include_candidates=True)
        return Brief(
            night=self._record.id,
            number=number,
            place=place,
            proposals=self._record.config.night.proposals,
            environment=family(self._record.environment),
            champion=champion.tree,
            files=self._store.read_files(champion),
            failed=self._failed(champion) if self._editor.continues else None,
            episodes=_complete(episodes),
            history=[one.editor_view() for one in everything if one.candidate],
            lineage=[one.subject for one in reversed(lineage) if one.commit not in reverted],
            others={
                name: [one.editor_view() for one in self._store.history(name) if one.candidate]
                for name in self._store.lineages()
                if name != self._record.lineage
            },
        )

    def _failed(self, champion: Revision) -> Failed | None:
        """The best candidate of the night that lost against this champion, once."""
        everything = self._store.history(self._record.lineage, include_candidates=True)
        taken_up = {one.trailer("Continues") for one in everything}
        candidates = {one.candidate: one for one in everything if not one.trailer("Continues")}
        lost = [
            (one.verdict.effect, candidates[name])
            for one in self._record.rounds
            if (name := f"{self._record.id}/{one.number}") in candidates.keys() - taken_up
            and (one.decision, one.parent) == ("reject", champion.tree)
            and one.verdict is not None
            and one.verdict.effect is not None
        ]
        if not lost:
            return None
        _, best = max(lost, key=lambda one: one[0])
        return Failed(
            view=best.editor_view(),
            files=self._store.read_files(best),
            episodes=_complete(self._played(best)),
        )

    def _played(self, revision: Revision) -> Played:
        return self._play([revision], self._seeds, "propose")[0]


def _complete(played: Played) -> list[EpisodeResult]:
    return [one for one in played if isinstance(one, EpisodeResult)]
