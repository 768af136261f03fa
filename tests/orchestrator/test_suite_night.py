"""A night on a suite: every seed on each environment, one pair per seed, one list to the end.

Mazes and a quest are really played, by an agent that sees nothing and by one that does.
"""

from __future__ import annotations

import itertools
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from envs import registry
from envs.minihack import boxoban
from envs.registry import select
from orchestrator.episodes.store import EpisodeStore
from orchestrator.gate.banks import SeedBanks
from orchestrator.night_record import (
    NightRecord,
    Round,
    paired_differences,
    read_record,
    unfinished,
)
from orchestrator.report import write_report
from orchestrator.report.data import ReportData
from orchestrator.report.gather import gather
from orchestrator.workspace import Workspace
from tests.envs.levels import published
from tests.support.nights import ListEditor, Quiet, Runner, Stopped, run
from tests.support.workspaces import add_blind_lineage, small_workspace

pytestmark = pytest.mark.slow

MAZE, QUEST = "minihack/mazewalk-9x9-v1", "minihack/quest-easy-v1"
LATER = "minihack/boxoban-medium-v1"
SUITE = (MAZE, LATER, QUEST)
STEPS = 30


@pytest.fixture(scope="module", autouse=True)
def suite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """`minihack` with two tasks, and a third whose levels are not there yet."""
    data = tmp_path_factory.mktemp("data")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "SUITES", {"minihack": SUITE})
        patch.setenv("SLOWWAVE_DATA", str(data / "nothing"))
        yield data


def lab(folder: Path) -> tuple[Workspace, ListEditor]:
    """An agent that sees nothing, and an editor that opens its eyes and then shuts them again."""
    workspace = small_workspace(folder / "lab", steps=STEPS)
    seeing = add_blind_lineage(workspace, folder, "minihack")
    shut = seeing.replace(b"{{ observation }}", b"It is dark.")
    assert shut != seeing
    return workspace, ListEditor({"prompts/plan.j2": seeing}, {"prompts/plan.j2": shut})


def begin(workspace: Workspace) -> NightRecord:
    return NightRecord.begin(
        "blind",
        workspace.environment_of("blind"),
        workspace.scaffolds.champion("blind").commit,
        workspace.config,
        allow_unsandboxed=True,
    )


@pytest.fixture(scope="module")
def whole(
    suite: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Workspace, NightRecord, Runner, Quiet]:
    """A night that nothing interrupts, with its page."""
    workspace, editor = lab(tmp_path_factory.mktemp("whole"))
    runner, listener = Runner(), Quiet()
    record = run(workspace, begin(workspace), runner, editor, listener=listener)
    write_report(workspace, record)
    return workspace, record, runner, listener


Whole = tuple[Workspace, NightRecord, Runner, Quiet]


def by_game(workspace: Workspace, tree: str) -> dict[tuple[int, str], float]:
    """Percent of every stored game of a scaffold, smoke episodes left out."""
    return {
        (one.seed, one.environment): 100 * one.progression
        for one in EpisodeStore(workspace.artifacts).results()
        if one.tree == tree and (one.steps == STEPS or one.outcome != "step_limit")
    }


def means(workspace: Workspace, tree: str, seeds: tuple[int, ...]) -> list[float]:
    """What each seed scores: the mean of maze and quest."""
    games = by_game(workspace, tree)
    return [(games[seed, MAZE] + games[seed, QUEST]) / 2 for seed in seeds]


def decided_on(record: NightRecord, one: Round) -> tuple[int, ...]:
    """Seeds of the stage that decided; a screen that is lost for certain is cut short."""
    banks = SeedBanks("minihack", record.config.root_seed)
    assert one.verdict is not None
    assert one.verdict.missing == 0
    return banks.seeds(one.verdict.stage, one.verdict.pairs, 0)


def test_the_record_names_what_is_played_and_what_cannot_be(whole: Whole) -> None:
    workspace, record, _, _ = whole
    assert record.environment == "minihack"
    assert record.environments == (MAZE, QUEST)
    assert list(record.unavailable) == [LATER]
    assert "needs the Boxoban levels" in record.unavailable[LATER]
    assert read_record(workspace.night_folder(record.id)) == record
    assert [one.decision for one in record.rounds] == ["accept", "reject"]
    assert record.ended_at is not None


def test_pairs_are_one_per_seed(whole: Whole) -> None:
    _, record, _, _ = whole
    kept, dropped = record.rounds
    assert kept.verdict is not None
    assert dropped.verdict is not None
    assert (kept.verdict.stage, kept.verdict.pairs) == ("confirm", 5)
    assert (dropped.verdict.stage, dropped.verdict.missing) == ("screen", 0)
    # Four seeds of the screen and five of the confirmation, on two environments, by two agents.
    assert len(kept.episodes) == kept.verdict.episodes == (4 + 5) * 2 * 2
    assert record.report is not None
    assert len(record.report.scores.seeds) == 2


def test_effects_are_differences_of_suite_means(whole: Whole) -> None:
    workspace, record, _, _ = whole
    for one in record.rounds:
        seeds = decided_on(record, one)
        before, after = (means(workspace, tree, seeds) for tree in (one.parent, one.tree))
        effect = sum(new - old for old, new in zip(before, after, strict=True)) / len(seeds)
        assert one.verdict is not None
        assert one.verdict.effect == pytest.approx(effect)
    first = record.rounds[0].verdict
    assert first is not None
    assert first.effect is not None
    assert first.effect > 0


def test_p_is_of_seeds_and_not_of_games(whole: Whole) -> None:
    workspace, record, _, _ = whole
    one = record.rounds[0]
    seeds = decided_on(record, one)
    before, after = (means(workspace, tree, seeds) for tree in (one.parent, one.tree))
    gains = [new - old for old, new in zip(before, after, strict=True)]
    patterns = list(itertools.product((1, -1), repeat=len(gains)))
    far = [
        signs
        for signs in patterns
        if sum(g * s for g, s in zip(gains, signs, strict=True)) >= sum(gains) - 1e-9
    ]
    assert one.verdict is not None
    assert one.verdict.p == len(far) / len(patterns)


def test_the_report_bank_holds_suite_means(whole: Whole) -> None:
    workspace, record, _, _ = whole
    assert record.report is not None
    scores = record.report.scores
    assert scores.seeds == SeedBanks("minihack", record.config.root_seed).seeds("report", 2)
    kept = record.rounds[0]
    assert list(scores.champion) == means(workspace, kept.parent, scores.seeds)
    assert list(scores.candidate) == means(workspace, kept.tree, scores.seeds)
    assert set(scores.candidate) <= {0.0, 50.0, 100.0}


def test_the_spread_is_that_of_suite_means(whole: Whole) -> None:
    workspace, record, _, _ = whole
    expected: list[float] = []
    banks = SeedBanks("minihack", record.config.root_seed)
    for one in record.rounds:
        assert one.verdict is not None
        seeds = decided_on(record, one)
        if one.verdict.stage == "confirm":
            seeds += banks.seeds("screen", 4)
        before, after = (means(workspace, tree, seeds) for tree in (one.parent, one.tree))
        gains = [new - old for old, new in zip(before, after, strict=True)]
        expected += [gain - sum(gains) / len(gains) for gain in gains]
    assert sorted(paired_differences(workspace.artifacts)) == pytest.approx(sorted(expected))


def test_the_page_is_computed_from_the_stored_games(whole: Whole) -> None:
    workspace, record, _, _ = whole
    facts = gather(workspace, record)
    assert facts.suite
    assert facts.unavailable == tuple(record.unavailable.values())
    assert facts.steps == STEPS
    for one, shown in zip(record.rounds, facts.candidates, strict=True):
        seeds = decided_on(record, one)
        before, after = (means(workspace, tree, seeds) for tree in (one.parent, one.tree))
        assert shown.comparison is not None, "what is stored no longer gives the verdict"
        pairs = {pair.seed: (pair.before, pair.after) for pair in shown.comparison.pairs}
        assert pairs == dict(zip(seeds, zip(before, after, strict=True), strict=True))
        assert one.verdict is not None
        assert shown.comparison.effect.mean == pytest.approx(one.verdict.effect)
        assert shown.comparison.missing == 0
    _check_missing(workspace, record, facts)


def _check_missing(workspace: Workspace, record: NightRecord, facts: ReportData) -> None:
    """A game that is no longer stored makes its seed incomplete, never another score."""
    one = record.rounds[0]
    seed = decided_on(record, one)[0]
    store = EpisodeStore(workspace.artifacts)
    (game,) = (
        found
        for found in store.results()
        if (found.tree, found.seed, found.environment) == (one.tree, seed, QUEST)
    )
    store.forget(game.key)
    try:
        shown = gather(workspace, record).candidates[0].comparison
    finally:
        store.put(game)
    before = facts.candidates[0].comparison
    assert before is not None
    gains = [pair.difference for pair in before.pairs if pair.seed != seed]
    still = [gain for gain in gains if gain is not None]
    # Without it the effect is another one, unless that seed gained just the mean.
    same = sum(still) / len(still) == pytest.approx(before.effect.mean, abs=1e-6)
    assert (shown is not None) == same


def test_the_page_says_that_it_is_a_suite(whole: Whole) -> None:
    workspace, record, _, _ = whole
    page = (workspace.night_folder(record.id) / "report.html").read_text(encoding="utf-8")
    words = re.sub(r"\s+", " ", re.sub("<[^>]*>", " ", page))
    assert "a suite: each seed is played on every environment, and its score is their mean" in words
    assert f"Not played: {LATER} needs the Boxoban levels, which are not here." in words
    # One game cannot be played without the others of its seed.
    again = re.search(rf"slowwave eval minihack --seeds (\d+) --steps {STEPS} --scaffold", words)
    assert again is not None
    assert record.report is not None
    assert int(again[1]) in record.report.scores.seeds
    assert "night.steps.minihack 30" in words


@pytest.mark.parametrize("stop_after", [5, 31])
def test_a_night_keeps_its_environments_when_levels_are_added_meanwhile(
    whole: Whole,
    suite: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    stop_after: int,
) -> None:
    _, expected, runner, _ = whole
    workspace, editor = lab(tmp_path)
    record = begin(workspace).model_copy(update={"id": expected.id})
    first = Runner(stop_after)
    with pytest.raises(Stopped):
        run(workspace, record, first, editor)
    monkeypatch.setenv("SLOWWAVE_DATA", str(tmp_path / "data"))
    boxoban.add(published(tmp_path / "levels"))
    assert select("minihack").ids == SUITE, "a new night would play three"
    resumed = unfinished(workspace.artifacts / "nights", "blind")
    assert resumed is not None
    assert resumed.environments == (MAZE, QUEST)
    second = Runner()
    finished = run(workspace, resumed, second, editor)
    assert finished.environments == (MAZE, QUEST)
    assert list(finished.unavailable) == [LATER]
    assert sorted([*first.played, *second.played]) == sorted(runner.played)
    assert finished.report == expected.report
    assert [(one.decision, one.episodes, effect(one)) for one in finished.rounds] == [
        (one.decision, one.episodes, effect(one)) for one in expected.rounds
    ]


def effect(one: Round) -> float | None:
    return one.verdict.effect if one.verdict else None


def test_a_night_whose_levels_are_gone_says_so(
    whole: Whole, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from envs.errors import EnvironmentUnavailable

    workspace, editor = lab(tmp_path)
    monkeypatch.setenv("SLOWWAVE_DATA", str(tmp_path / "data"))
    boxoban.add(published(tmp_path / "levels"))
    record = begin(workspace)
    assert record.environments == SUITE
    shutil.rmtree(tmp_path / "data")
    runner = Runner()
    with pytest.raises(EnvironmentUnavailable, match="needs the Boxoban levels"):
        run(workspace, record, runner, editor)
    assert runner.played == []
