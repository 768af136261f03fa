"""Judging the candidates that were made from one champion.

the static checks and a smoke episode        refused
the screen, all candidates at once           rejected, or a survivor
the best survivor is confirmed, the next     accepted: the others that survived are indecisive,
best only if it fails                        for the lineage has another champion now
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from orchestrator.episodes.spec import EpisodeResult, MissingEpisode
from orchestrator.evaluation import scores_by_seed
from orchestrator.gate.account import Confirmation
from orchestrator.gate.banks import SeedBanks
from orchestrator.gate.budget import ErrorBudget
from orchestrator.gate.evidence import Evidence, PairedScores
from orchestrator.gate.protocol import AcceptanceRule, Need
from orchestrator.gate.trial import Player, Trial, race, verdict_of
from orchestrator.night_record import NightRecord, Round
from orchestrator.outage import check_outage
from orchestrator.scaffolds.revision import Revision
from orchestrator.screening import usurpation

Played = Sequence[EpisodeResult | MissingEpisode]
PlayRevisions = Callable[[Sequence[Revision], Sequence[int], str], list[Played]]
"""Plays revisions on seeds, all at once; one entry for each revision."""


class NightJudge:
    """Decides on candidates; nothing is written down here.

    Run again with the same record it decides the same: episodes come from the store, and what was
    charged is not charged twice.

    Args:
        record: The night's record before these candidates.
        rule: The acceptance rule.
        budget: The night's error budget.
        banks: The seeds.
        play: Plays revisions.
        refuse: Why a candidate may not play, by the static checks and the smoke episode; empty if
            it may.
        artifacts: The artifacts folder.
    """

    def __init__(
        self,
        record: NightRecord,
        rule: AcceptanceRule,
        budget: ErrorBudget,
        banks: SeedBanks,
        play: PlayRevisions,
        refuse: Callable[[Revision], str],
        artifacts: Path,
    ) -> None:
        self._record = record
        self._rule = rule
        self._budget = budget
        self._banks = banks
        self._play = play
        self._refuse = refuse
        self._artifacts = artifacts

    def decide(self, champion: Revision, candidates: Mapping[int, Revision]) -> list[Round]:
        """A round for each candidate, in their order; at most one of them is accepted.

        Args:
            champion: What they were made from.
            candidates: The candidates by their number in the night.

        Raises:
            Outage: So many episodes were lost that it is the machinery.
            BudgetExhausted: A limit leaves no room for the next episode.
        """
        entries = {
            number: Round.of(number, candidate, champion)
            for number, candidate in candidates.items()
        }
        racing: dict[int, Revision] = {}
        for number, candidate in candidates.items():
            refusal = _twin(candidate, racing) or self._refuse(candidate)
            if refusal:
                entries[number] = entries[number].refused(refusal)
            else:
                racing[number] = candidate
        judged: dict[int, tuple[Trial, Mapping[str, EpisodeResult]]] = {}
        while racing:
            judged |= self._race(champion, racing)
            usurper = next(
                (one for one in racing if self._won_by_itself(racing[one], *judged[one])), None
            )
            if usurper is None:
                break
            # Who won by playing in the model's place must not stand in the way of the others.
            del racing[usurper]
        known = set(self._record.judged_episodes)
        for number, (trial, needed) in sorted(judged.items()):
            entries[number] = self._judged(entries[number], trial, needed, known)
            known |= needed.keys()
        return list(entries.values())

    def _race(
        self, champion: Revision, racing: Mapping[int, Revision]
    ) -> dict[int, tuple[Trial, Mapping[str, EpisodeResult]]]:
        """Let the gate decide between candidates: each one's trial, and what it was judged on."""
        field = _Field(champion, self._banks, self._play, len(self._record.environments))
        opening = self._rule.next(Evidence())
        if isinstance(opening, Need) and not opening.alpha:
            field.play(list(racing.values()), opening, 0)
        trials = race(
            self._rule,
            [self._confirmation(candidate, champion) for candidate in racing.values()],
            self._budget,
            [field.player(candidate) for candidate in racing.values()],
        )
        return {
            number: (trial, field.needed[candidate.commit])
            for (number, candidate), trial in zip(racing.items(), trials, strict=True)
        }

    def _won_by_itself(
        self, candidate: Revision, trial: Trial, needed: Mapping[str, EpisodeResult]
    ) -> bool:
        """Whether the gate would accept what is refused for what its code did."""
        won = trial.ruling.decision == "accept"
        return won and bool(self._usurpation(candidate.tree, needed))

    def _usurpation(self, tree: str, needed: Mapping[str, EpisodeResult]) -> str:
        mine = [one for one in needed.values() if one.tree == tree]
        return usurpation(self._artifacts, mine, self._record.config.ceilings.override_rate)

    def _confirmation(self, candidate: Revision, champion: Revision) -> Confirmation:
        record = self._record
        return Confirmation(record.id, record.environment, candidate.tree, champion.tree)

    def _judged(
        self, entry: Round, trial: Trial, needed: Mapping[str, EpisodeResult], known: set[str]
    ) -> Round:
        # What earlier candidates already needed was not played for this one.
        fresh = [one for key, one in needed.items() if key not in known]
        verdict = verdict_of(
            trial,
            self._rule,
            episodes=len(fresh),
            tokens=sum(one.tokens for one in fresh),
            money_usd=sum(one.money_usd for one in fresh),
            hours=sum(one.seconds for one in fresh) / 3600,
        )
        refusal = self._usurpation(entry.tree, needed)
        judged = entry.judged(verdict, tuple(needed.values()))
        return judged.refused(refusal) if refusal else judged


class _Field:
    """What candidates of one champion have played; nobody plays the same seeds twice.

    Args:
        champion: What they were made from.
        banks: The seeds.
        play: Plays revisions.
        environments: On how many environments each seed is played.

    Attributes:
        needed: The episodes that each candidate was judged on, by the candidate's commit.
    """

    def __init__(
        self, champion: Revision, banks: SeedBanks, play: PlayRevisions, environments: int
    ) -> None:
        self._champion = champion
        self._banks = banks
        self._play = play
        self._environments = environments
        self._outcomes: dict[tuple[str, tuple[int, ...]], Played] = {}
        self.needed: dict[str, dict[str, EpisodeResult]] = {}

    def play(self, candidates: Sequence[Revision], need: Need, slice_index: int) -> tuple[int, ...]:
        """Have the champion and candidates play what is needed, all at once.

        Returns:
            The seeds.
        """
        seeds = tuple(self._banks.seeds(need.stage, need.pairs, slice_index))
        missing = [
            one for one in (self._champion, *candidates) if (one.tree, seeds) not in self._outcomes
        ]
        if missing:
            label = f"{need.stage} {len(seeds)}"
            for one, played in zip(missing, self._play(missing, seeds, label), strict=True):
                self._outcomes[one.tree, seeds] = played
        return seeds

    def player(self, candidate: Revision) -> Player:
        """Who plays the pairs of a candidate."""
        needed = self.needed.setdefault(candidate.commit, {})

        def play_pairs(need: Need, slice_index: int) -> PairedScores:
            seeds = self.play([candidate], need, slice_index)
            old = self._outcomes[self._champion.tree, seeds]
            new = self._outcomes[candidate.tree, seeds]
            check_outage((*old, *new))
            for one in (*old, *new):
                if isinstance(one, EpisodeResult):
                    needed[one.key] = one
            return PairedScores(
                seeds=seeds, champion=self._scores(old), candidate=self._scores(new)
            )

        return play_pairs

    def _scores(self, outcomes: Played) -> tuple[float | None, ...]:
        return tuple(scores_by_seed(outcomes, self._environments).values())


def _twin(candidate: Revision, others: Mapping[int, Revision]) -> str:
    """Why a candidate is refused that another of its round equals; empty if none does."""
    # By number: the other has a new name once it is accepted, and a crash must not show.
    twin = next((number for number, one in others.items() if one.tree == candidate.tree), None)
    return f"It is the same, byte for byte, as candidate {twin} of this round." if twin else ""
