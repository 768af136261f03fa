"""A finished night in a real workspace: real commits and verdicts, episodes with chosen scores.

Scores are given as achievements unlocked of 22. What follows from them is worked out by hand in
the tests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.episodes.spec import EpisodeResult
from orchestrator.episodes.store import EpisodeStore
from orchestrator.gate.account import Confirmation
from orchestrator.gate.banks import SeedBanks
from orchestrator.gate.budget import ErrorBudget
from orchestrator.gate.evidence import PairedScores
from orchestrator.gate.protocol import Need
from orchestrator.gate.trial import judge, verdict_of
from orchestrator.night import commit_verdict, make_rule
from orchestrator.night_record import NightRecord, ReportScores, Round
from orchestrator.scaffolds.revision import Proposal, Revision
from orchestrator.workspace import Workspace, create_workspace

ACHIEVEMENTS = 22
STARTED = 1_796_000_000.0
"""30 November 2026, 00:53:20 UTC."""

SCREEN_OLD = (10, 12, 9, 11, 10, 12, 8, 10, 11, 9)
CONFIRM_OLD = (10, 12, 9, 11, 10, 12, 8, 10, 11, 9) * 2
REPORT_OLD = (10, 12, 9, 11, 10, 12, 8, 10, 11, 9) * 2

# 16 games gain 3 achievements, two lose 1, two stay: (48 - 2) / 20 / 22 = +10.4545... points.
GAIN = (3, 3, 3, 3, 3, 3, 3, 3, -1, 0) * 2
# Ten games gain 2, ten lose 1: (20 - 10) / 20 / 22 = +2.2727... points.
SLIGHT = (2, -1) * 10

CHECKLIST = '''"""What is done, compiled from the notes."""

import re

DONE = re.compile(r"done ([a-z_]+)")


def checklist(notes: str) -> list[str]:
    """Names of everything the notes call done, in the order of the notes."""
    return list(dict.fromkeys(DONE.findall(notes)))
'''

HABITS: Mapping[str, float | None] = {
    "stuck_rate": 0.125,
    "oscillation_rate": 0.02,
    "invalid_action_rate": 0.0,
    "ineffective_action_rate": 0.145,
    "redundant_write_rate": 0.75,
    "memory_growth": 24.5,
    "empty_search_rate": None,
    "memory_tokens_per_step": 1500.0,
    "model_calls_per_step": 3.0,
}


@dataclass(frozen=True)
class Try:
    """One candidate to be: what it changes, what its editor says, how it plays."""

    proposal: Proposal
    changes: Mapping[str, bytes | None]
    screen: Sequence[int] = ()
    confirm: Sequence[int] = ()
    refusal: str = ""
    habits: Mapping[str, float | None] = field(default_factory=dict)
    lost: int = 0
    """Confirm pairs that the machinery lost, the last ones."""


def proposal(subject: str, kind: str = "memory", **texts: str) -> Proposal:
    """A proposal with short texts where none are given."""
    return Proposal(
        subject=subject,
        summary=texts.get("summary", "A part of hooks.py was changed."),
        rationale=texts.get("rationale", "Half of the searches found nothing."),
        expected_effect=texts.get("expected_effect", "Fewer empty searches."),
        kind=kind,  # type: ignore[arg-type]
        editor="rules",
    )


TRIES = (
    Try(
        proposal("Write to the diary only when something is new"),
        {"prompts/log.j2": b"Write one line, and only if something is new.\n"},
        screen=(1, -1, 0, -2, 1),
    ),
    Try(
        proposal(
            "Show a checklist of achievements",
            summary="A part of hooks.py collects what the notes call done and shows it.",
            rationale="75% of the writes repeat what is there.\n\n- it looks things up twice\n"
            "- it forgets what is done",
            expected_effect="No goal is pursued twice.",
        ),
        {
            "checklist.py": CHECKLIST.encode(),
            "memory/strategy.md": b"# Strategy\n\nRead the checklist first.\n",
        },
        screen=(2, 3, 1, 2, 2, 3, 0, 2, 1, 2),
        confirm=GAIN,
        habits={"redundant_write_rate": 0.5, "stuck_rate": 0.15, "model_calls_per_step": 6.0},
    ),
    Try(
        proposal("Warn when the agent goes round in circles", "play"),
        {"circles.py": b"LIMIT = 12\n"},
        screen=(2, 3, 1, 2, 2, 3, 0, 2, 1, 2),
        confirm=SLIGHT,
    ),
    Try(
        proposal("Import a module that is not there"),
        {"hooks.py": b"import nothing_of_ours\n"},
        refusal="hooks.py:1: nothing_of_ours may not be imported.",
    ),
)


class SampleNight:
    """Plays out a night on a workspace under `root`; see `build`."""

    def __init__(self, root: Path, models: str = "") -> None:
        self.workspace = create_workspace(root, root_seed=7)
        if models:
            text = (root / "slowwave.toml").read_text("utf-8")
            text = text.replace('[models.action]\nprovider = "heuristic"\n', models)
            (root / "slowwave.toml").write_text(text, "utf-8")
            self.workspace = create_workspace(root, root_seed=7)
        self.store = self.workspace.scaffolds
        first = self.store.champion("crafter")
        self.record = NightRecord(
            id="crafter-20261130-005320",
            lineage="crafter",
            environment="crafter-v1",
            environments=("crafter-v1",),
            first=first.commit,
            config=self.workspace.config.model_copy(update={"sandbox": "process"}),
            sandbox_cannot="The process sandbox does not enforce: no network.",
            started_at=STARTED,
            champion=first.tree,
        )
        self._banks = SeedBanks("crafter-v1", self.workspace.config.root_seed)
        self._episodes = EpisodeStore(self.workspace.artifacts)
        self._level = 0  # achievements that the champion has gained over the first one

    def attempt(self, number: int, one: Try) -> Round:
        """Commit, judge and record one candidate."""
        champion = self.store.champion("crafter")
        tree = self.store.write_tree(champion.tree, one.changes)
        candidate = self.store.propose(
            "crafter",
            night=self.record.id,
            number=number,
            tree=tree,
            parent=champion,
            proposal=one.proposal,
        )
        entry = Round.of(number, candidate, champion)
        entry = entry.refused(one.refusal) if one.refusal else self._judge(entry, one)
        entry = entry.model_copy(update={"mlflow_run": f"{number}" * 32})
        recorded = self.store.record(candidate, commit_verdict(entry, {"action": "heuristic"}))
        if entry.decision == "accept":
            entry = entry.model_copy(update={"name": self.store.accept(recorded).name})
        self.record = self.record.with_rounds([entry])
        return entry

    def finish(self, gains: Sequence[int] | None = None) -> NightRecord:
        """Play the report bank: the last champion gains so much on each game."""
        accepted = [one for one in self.record.rounds if one.decision == "accept"]
        last: Revision = self.store.champion("crafter")
        new = gains if gains is not None else (GAIN if accepted else (0,) * 20)
        scores = PairedScores(
            seeds=self._banks.seeds("report", 20),
            champion=tuple(map(percent, REPORT_OLD)),
            candidate=tuple(percent(a + b) for a, b in zip(REPORT_OLD, new, strict=True)),
        )
        report = ReportScores(first="crafter/v0", last=last.name, scores=scores)
        stopped = self.record.stopped(f"{len(self.record.rounds)} candidates were tried")
        ended = {"report": report, "champion": last.tree, "ended_at": STARTED + 252.4}
        self.record = stopped.model_copy(update=ended)
        return self.record

    def _judge(self, entry: Round, one: Try) -> Round:
        played: dict[str, EpisodeResult] = {}

        def play(need: Need, slice_index: int) -> PairedScores:
            seeds = self._banks.seeds(need.stage, need.pairs, slice_index)
            old = SCREEN_OLD if need.stage == "screen" else CONFIRM_OLD
            gains = one.screen if need.stage == "screen" else one.confirm
            lost = one.lost if need.stage == "confirm" else 0
            before: list[float | None] = []
            after: list[float | None] = []
            for place, seed in enumerate(seeds):
                had, got = old[place], old[place] + gains[place]
                before.append(percent(had))
                after.append(None if place >= len(seeds) - lost else percent(got))
                results = [self._result(entry.parent, seed, had, HABITS)]
                if after[-1] is not None:
                    results.append(self._result(entry.tree, seed, got, {**HABITS, **one.habits}))
                played.update({result.key: result for result in results})
            return PairedScores(seeds=seeds, champion=tuple(before), candidate=tuple(after))

        rule = make_rule(self.record.config)
        ledger = ErrorBudget(self.workspace.ledger, self.record.config.gate.night_alpha)
        confirmation = Confirmation(self.record.id, "crafter-v1", entry.tree, entry.parent)
        trial = judge(rule, confirmation, ledger, play)
        episodes = list(played.values())
        verdict = verdict_of(
            trial,
            rule,
            episodes=len(episodes),
            tokens=sum(result.tokens for result in episodes),
            money_usd=sum(result.money_usd for result in episodes),
            hours=sum(result.seconds for result in episodes) / 3600,
        )
        return entry.judged(verdict, episodes)

    def _result(
        self, tree: str, seed: int, unlocked: int, habits: Mapping[str, float | None]
    ) -> EpisodeResult:
        key = f"{tree[:16]}{seed:016x}"
        path = self._episodes.trajectory_path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        result = EpisodeResult(
            key=key,
            environment="crafter-v1",
            seed=seed,
            replicate=0,
            tree=tree,
            steps=600,
            progression=unlocked / ACHIEVEMENTS,
            outcome="step_limit",
            digest="0" * 64,
            metrics={"progression": percent(unlocked), **habits},
            details={},
            usage={"action": {"input_tokens": 90_000.0, "output_tokens": 10_000.0, "calls": 1.0}},
            seconds=9.0,
            trajectory=self._episodes.relative(path),
        )
        self._episodes.put(result)
        return result


def percent(unlocked: int) -> float:
    """Progression in percent."""
    return 100 * (unlocked / ACHIEVEMENTS)


def build(root: Path, tries: Sequence[Try] = TRIES) -> tuple[Workspace, NightRecord]:
    """A finished night of some candidates."""
    night = SampleNight(root)
    for number, one in enumerate(tries, 1):
        night.attempt(number, one)
    return night.workspace, night.finish()
