"""Judging the candidates that were made from one champion.

the static checks and a smoke episode        refused
the screen, all candidates at once           rejected, or a survivor
the best survivor is confirmed, the next     accepted: the others that survived are indecisive,
best only if it fails                        for the lineage has another champion now

Where a budget ends in the midst of it, what was decided stands, and the rest is indecisive.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from orchestrator.episodes.spec import EpisodeResult, MissingEpisode
from orchestrator.evaluation import scores_by_seed
from orchestrator.gate.account import Confirmation
from orchestrator.gate.banks import SeedBanks
from orchestrator.gate.budget import ErrorBudget
from orchestrator.gate.errors import Halted
from orchestrator.gate.evidence import Evidence, PairedScores
from orchestrator.gate.protocol import AcceptanceRule, Need, Ruling
from orchestrator.gate.trial import Player, Trial, race, verdict_of
from orchestrator.models.errors import BudgetExhausted
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

    Attributes:
        halted: Why nothing more could be played; empty if all was.
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
        self.halted = ""

    def decide(self, champion: Revision, candidates: Mapping[int, Revision]) -> list[Round]:
        """A round for each candidate, in their order; at most one of them is accepted.

        Args:
            champion: What they were made from.
            candidates: The candidates by their number in the night.

        Raises:
            Outage: So many episodes were lost that it is the machinery.
        """
        entries = {
            number: Round.of(number, candidate, champion)
            for number, candidate in candidates.items()
        }
        racing: dict[int, Revision] = {}
        for number, candidate in candidates.items():
            try:
                refusal = _twin(candidate, racing) or self._refuse(candidate)
            except BudgetExhausted as spent:
                self.halted = spent.message
                entries[number] = entries[number].unjudged(f"Not tried out: {spent.message}")
                continue
            if refusal:
                entries[number] = entries[number].refused(refusal)
            else:
                racing[number] = candidate
        known = set(self._record.judged_episodes)
        judged = self._race(champion, racing) if racing else {}
        for number, (trial, needed) in judged.items():
            self.halted = self.halted or trial.halted
            entries[number] = self._judged(entries[number], trial, needed, known)
            known |= needed.keys()
        return list(entries.values())

    def _race(
        self, champion: Revision, racing: Mapping[int, Revision]
    ) -> dict[int, tuple[Trial, Mapping[str, EpisodeResult]]]:
        """Let the gate decide between candidates: each one's trial, and what it was judged on."""
        field = _Field(champion, self._banks, self._play, len(self._record.environments))
        runners = list(racing.values())

        def may_win(place: int) -> bool:
            # Who wins by playing in the model's place must not stand in the way of the others.
            one = runners[place]
            return not self._usurpation(one.tree, field.needed[one.commit])

        field.open(runners, self._rule.next(Evidence()))
        trials = race(
            self._rule,
            [self._confirmation(candidate, champion) for candidate in runners],
            self._budget,
            [field.player(candidate) for candidate in runners],
            may_win,
        )
        return {
            number: (trial, field.needed[candidate.commit])
            for (number, candidate), trial in zip(racing.items(), trials, strict=True)
        }

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

    def open(self, candidates: Sequence[Revision], opening: Need | Ruling) -> None:
        """Have all play the first that is needed of each, at once, unless it is charged for."""
        if isinstance(opening, Need) and not opening.alpha:
            # Where it halts, each candidate's own player meets it again.
            with suppress(Halted):
                self.play(candidates, opening, 0)

    def play(self, candidates: Sequence[Revision], need: Need, slice_index: int) -> tuple[int, ...]:
        """Have the champion and candidates play what is needed, all at once.

        Returns:
            The seeds.

        Raises:
            Halted: A budget leaves no room for it.
        """
        seeds = tuple(self._banks.seeds(need.stage, need.pairs, slice_index))
        missing = [
            one for one in (self._champion, *candidates) if (one.tree, seeds) not in self._outcomes
        ]
        if missing:
            try:
                outcomes = self._play(missing, seeds, f"{need.stage} {len(seeds)}")
            except BudgetExhausted as spent:
                raise Halted(spent.message) from spent
            for one, played in zip(missing, outcomes, strict=True):
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
