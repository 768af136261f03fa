"""What must hold before something is dropped, with scores that are made up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from orchestrator.ablation.bench import AblationBench, Outcomes
from orchestrator.ablation.hunks import Contribution
from orchestrator.ablation.minimal import Smaller, drop_dead
from orchestrator.config import Config
from orchestrator.episodes.job import EpisodeJob
from orchestrator.episodes.spec import EpisodeResult, MissingEpisode
from orchestrator.errors import UsageError
from orchestrator.outage import Outage
from orchestrator.workspace import Workspace
from tests.support.ablation_parts import accepted, laboratory
from tests.support.nights import Stopped, StoppingStore
from tests.support.serial import lost_episode

IDLE = ("README.md", "hooks.py")


@pytest.fixture
def place(tmp_path: Path) -> Workspace:
    return laboratory(tmp_path)


@dataclass
class Scores:
    """Plays nothing: every tree has a percent at each stage, the same on all seeds.

    Attributes:
        parent: What the parent of the revision scores.
        whole: What the revision scores.
        smaller: What it scores without some of its parts, on the seeds of the hunks.
        spread: Added to that on one of the seeds, and taken away on another.
        judged: What that scores on the gate's screen.
        confirmed: What it scores when it is confirmed.
        lost: How many episodes of it are lost on the seeds of the hunks.
        during: Done while the gate has it played.
    """

    place: Workspace
    parent: float = 10.0
    whole: float = 50.0
    smaller: float = 50.0
    spread: float = 0.0
    judged: float = 50.0
    confirmed: float = 50.0
    lost: int = 0
    during: Callable[[], object] = lambda: None
    played: list[str] = field(default_factory=list)

    def __call__(self, jobs: list[EpisodeJob], label: str) -> Outcomes:
        store = self.place.scaffolds
        known = {store.revision(f"blind/v{n}").tree: (self.parent, self.whole)[n] for n in (0, 1)}
        beside = label.startswith("ablate")
        self.played.append(label)
        if not beside:
            self.during()
        lost = self.lost if beside else 0
        more = [self.spread, -self.spread] if beside else []
        found: list[EpisodeResult | MissingEpisode] = []
        for job in jobs:
            tree = job.spec.tree
            if tree not in known and lost:
                lost -= 1
                found.append(lost_episode(job, error="Gone", message="It went dark."))
                continue
            score = self.smaller if beside else self.judged
            if label.startswith("confirm"):
                score = self.confirmed
            if tree not in known and more:
                score += more.pop()
            found.append(_result(job, known.get(tree, score)))
        return found


def _result(job: EpisodeJob, score: float) -> EpisodeResult:
    spec = job.spec
    return EpisodeResult(
        key=spec.key,
        environment=spec.environment,
        seed=spec.seed,
        replicate=0,
        tree=spec.tree,
        steps=60,
        progression=score / 100,
        outcome="step_limit",
        digest="0" * 64,
        metrics={},
        details={},
        usage={"action": {"input_tokens": 7.0, "money_usd": 0.25}},
        seconds=36.0,
        trajectory="none",
    )


def drop(
    place: Workspace, play: Scores, paths: Sequence[str] = IDLE, config: Config | None = None
) -> Smaller:
    """Drop the hunks of these files as if they had been found dead."""
    bench = AblationBench.make(place, config or place.config, play, "blind/v1")
    found = [
        Contribution(hunk, "", None, "dead" if hunk.path in paths else "helps")
        for hunk in bench.hunks
    ]
    return drop_dead(bench, found, margin=1.0)


def untouched(place: Workspace) -> bool:
    """Whether the lineage is as it was and no candidate waits with an acceptance."""
    history = place.scaffolds.history("blind", include_candidates=True)
    words = [one.verdict.word for one in history if one.verdict and not one.accepted]
    return place.scaffolds.champion("blind").name == "blind/v1" and "accept" not in words


def test_what_is_as_good_is_committed_with_what_it_cost(place: Workspace) -> None:
    made = drop(place, Scores(place, smaller=49.5))
    assert made.name == "blind/v2"
    verdict = place.scaffolds.revision("blind/v2").verdict
    assert verdict is not None
    # Four seeds of the screen and five to confirm, each played by two.
    assert (verdict.episodes, len(verdict.trajectories)) == (18, 18)
    assert (verdict.tokens, verdict.cost, verdict.hours) == (126, 4.5, 0.18)
    assert verdict.effect == 40.0
    assert "Against blind/v1 itself: -0.5 points on 5 pairs." in verdict.notes


def test_what_was_played_for_an_earlier_verdict_is_not_paid_again(
    place: Workspace, tmp_path: Path
) -> None:
    drop(place, Scores(place))
    first = place.scaffolds.revision("blind/v2").verdict
    assert first is not None
    known = first.trajectories[:6]
    other = laboratory(tmp_path / "other", known)
    drop(other, Scores(other))
    verdict = other.scaffolds.revision("blind/v2").verdict
    assert verdict is not None
    assert (verdict.episodes, verdict.trajectories) == (12, first.trajectories)
    assert (verdict.tokens, verdict.cost, verdict.hours) == (84, 3.0, 0.12)


@pytest.mark.parametrize(
    ("play", "said"),
    [
        ({"smaller": 48.9}, "it may be worse by 1.1 points"),
        # As good on average; but the mean of five of which one may be 6 lower is not known so well.
        ({"spread": 6.0}, "it may be worse by"),
        ({"lost": 1}, "only 4 of 5 pairs were played to the end"),
        ({"lost": 4}, "only 1 of 5 pairs"),
    ],
)
def test_what_may_be_worse_never_meets_the_gate(
    place: Workspace, play: dict[str, float], said: str
) -> None:
    scores = Scores(place, **play)  # type: ignore[arg-type]
    made = drop(place, scores)
    assert said in made.sentence
    assert (made.verdict, scores.played) == (None, ["ablate minimal · blind/v1"])
    assert untouched(place)


def test_where_too_much_is_lost_it_is_the_machinery(place: Workspace) -> None:
    with pytest.raises(Outage, match="5 of 10 episodes could not be played: It went dark"):
        drop(place, Scores(place, lost=5))


def test_what_the_gate_does_not_accept_is_not_committed(place: Workspace) -> None:
    made = drop(place, Scores(place, parent=60.0))
    assert made.sentence.startswith("Without 1, 3 the gate does not agree: ")
    assert made.verdict is not None
    assert made.verdict.decision == "reject"
    assert untouched(place)


def test_a_lineage_that_moves_meanwhile_leaves_no_acceptance_behind(place: Workspace) -> None:
    def move() -> None:
        if place.scaffolds.champion("blind").name == "blind/v1":
            accepted(place, {"README.md": b"Another.\n"}, number=2)

    with pytest.raises(UsageError, match="blind/v1 is not the newest of blind"):
        drop(place, Scores(place, during=move))
    assert place.scaffolds.champion("blind").name == "blind/v2"
    history = place.scaffolds.history("blind", include_candidates=True)
    assert [one.verdict for one in history if not one.accepted and one.verdict] == []


@pytest.mark.parametrize("moment", ["record", "accept"])
def test_killed_while_it_is_committed_it_is_made_once(place: Workspace, moment: str) -> None:
    store = StoppingStore.open(place.root / "scaffolds")
    store.stop_after = moment
    stopping = Workspace(place.root, place.config)
    stopping.__dict__["scaffolds"] = store
    with pytest.raises(Stopped):
        drop(stopping, Scores(place))
    if moment == "record":
        assert drop(place, Scores(place)).name == "blind/v2"
    else:
        with pytest.raises(UsageError, match="name blind/v2"):
            drop(place, Scores(place))
    names = [one.name for one in place.scaffolds.history("blind", include_candidates=True)]
    assert names == ["blind/v2", "blind/v1", "blind/v0"]


def test_every_try_on_one_revision_is_paid_from_one_error_budget(place: Workspace) -> None:
    gate = place.config.gate
    once = gate.model_copy(update={"night_alpha": gate.confirm_alpha})
    config = place.config.model_copy(update={"gate": once})
    first = drop(place, Scores(place, confirmed=9.0), config=config)
    assert first.verdict is not None
    assert (first.verdict.decision, first.verdict.stage) == ("reject", "confirm")
    second = drop(place, Scores(place), ["README.md"], config)
    assert second.verdict is not None
    assert second.verdict.decision == "indecisive"
    assert "error budget of 0.2 has 0 left" in second.sentence
    assert untouched(place)
