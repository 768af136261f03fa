"""The search for the revision that lost something: its errors, its finds, and a real lineage."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats
from typer.testing import CliRunner

from orchestrator.bisect import Found, bisect, pairs_needed
from orchestrator.cli import bisect as cli_bisect
from orchestrator.cli.app import app
from orchestrator.scaffolds.revision import Proposal, Verdict
from orchestrator.workspace import Workspace
from tests.support.serial import play_serially
from tests.support.workspaces import small_workspace


def searched(
    levels: list[float], seed: int, *, noise: float = 9.0, pairs: int = 20, alpha: float = 0.05
) -> Found:
    """A search over revisions of these true means, with noise of their own on shared seeds."""
    rng = np.random.default_rng(seed)
    shared = 6 * rng.standard_normal(40)
    scores = [level + shared + noise * rng.standard_normal(40) for level in levels]
    return bisect(
        len(levels),
        lambda at, count: scores[at][:count].tolist(),
        pairs=pairs,
        alpha=alpha,
    )


@pytest.mark.parametrize("loss", range(1, 9))
def test_without_noise_every_place_is_found(loss: int) -> None:
    levels = [50.0] * loss + [30.0] * (9 - loss)
    rng = np.random.default_rng(loss)
    shared = rng.standard_normal(40)
    found = bisect(9, lambda at, count: (levels[at] + shared[:count]).tolist())
    assert (found.outcome, found.first, found.last) == ("found", loss - 1, loss)
    assert not found.in_steps
    # Seven revisions lie between, each with at most one false claim, at three looks.
    assert found.level == pytest.approx(0.05 / 21)
    assert len(found.tests) == 7
    assert {one.pairs for one in found.tests} == {10}, "ten equal pairs already tell"


def test_where_nothing_is_lost_something_is_named_in_no_more_nights_than_promised() -> None:
    # Of six revisions four lie between, and one claim is tested: .2 / 4 over all its looks.
    alpha, searches = 0.2, 600
    named = sum(
        searched([50.0] * 6, seed, alpha=alpha).outcome != "nothing" for seed in range(searches)
    )
    assert stats.binomtest(named, searches, alpha / 4, alternative="greater").pvalue > 0.01
    assert stats.binomtest(named, searches, alpha / 16, alternative="less").pvalue > 0.01


def test_a_wrong_revision_is_named_no_more_often_than_promised() -> None:
    alpha, searches = 0.2, 300
    levels = [50.0, 50.0, 50.0, 40.0, 40.0, 40.0, 40.0, 40.0]
    found = [searched(levels, seed, alpha=alpha) for seed in range(searches)]
    wrong = sum(one.outcome == "found" and one.last != 3 for one in found)
    right = sum(one.outcome == "found" and one.last == 3 for one in found)
    assert right > wrong * 10
    # A range without the loss in it is wrong too. The promise is over all searches: of those that
    # end in a range, which are the ones with unlucky games, a larger share may be.
    wrong += sum(one.outcome == "range" and not one.first < 3 <= one.last for one in found)
    assert stats.binomtest(wrong, searches).proportion_ci().high <= alpha


def test_a_clear_loss_is_found_nearly_always() -> None:
    levels = [50.0] * 5 + [30.0] * 3
    found = [searched(levels, seed) for seed in range(100)]
    assert sum((one.outcome, one.last) == ("found", 5) for one in found) >= 95


def test_a_loss_in_two_steps_follows_the_larger_and_says_so() -> None:
    levels = [80.0, 80.0, 40.0, 40.0, 25.0]
    found = searched(levels, 1, noise=2.0)
    assert (found.outcome, found.last, found.in_steps) == ("found", 2, True)


def test_what_cannot_be_told_apart_is_left_as_a_range() -> None:
    # Together clearly worse; each step alone drowns in the noise.
    levels = [50.0 - 1.5 * at for at in range(9)]
    outcomes = {searched(levels, seed).outcome for seed in range(30)}
    assert "range" in outcomes


def test_a_look_that_could_show_nothing_costs_no_error() -> None:
    # Nine revisions at .05: 2**-8 > .05 / 7 / 2 > 2**-9, so of 4, 8 and 16 pairs only 16 can tell.
    found = bisect(9, lambda at, count: [50.0 - 20 * (at > 4)] * count, pairs=16)
    assert (found.outcome, found.last) == ("found", 5)
    assert found.level == pytest.approx(0.05 / 7)
    assert {one.pairs for one in found.tests} == {16}


def test_the_fewest_pairs_that_can_name_a_revision() -> None:
    assert pairs_needed(9, 0.05) == 8  # 2**-8 = .0039 <= .05 / 7 = .0071 < 2**-7
    assert pairs_needed(2, 0.05) == 5
    assert bisect(9, lambda at, count: [-20.0 * at] * count, pairs=8).outcome == "found"
    assert bisect(9, lambda at, count: [-20.0 * at] * count, pairs=7).outcome == "nothing"


def test_a_long_lineage_that_lost_in_many_places_keeps_the_error() -> None:
    # Every second revision loses 15 points: which claims are tested depends on the data.
    levels = [400.0 - 15 * (at // 2) for at in range(33)]
    searches, alpha = 500, 0.2
    found = [searched(levels, seed, alpha=alpha) for seed in range(searches)]
    wrong = sum(not levels[one.last] < levels[one.first] for one in found)
    assert stats.binomtest(wrong, searches).proportion_ci().high <= alpha
    assert sum(one.outcome == "found" for one in found) > 0.9 * searches


def test_missing_games_are_no_pairs() -> None:
    def measure(at: int, count: int) -> list[float | None]:
        return [None if seed % 2 else 50.0 - 20 * at + seed % 3 for seed in range(count)]

    found = bisect(2, measure, pairs=40)
    assert found.outcome == "found"
    assert found.tests[0].pairs == 10, "half of the twenty seeds of a look"
    nobody = bisect(2, lambda at, count: [None] * count)
    assert nobody.outcome == "nothing"
    assert nobody.tests[0].effect is None


# --- a real lineage -------------------------------------------------------------------------------

STANDS_STILL = b"PLAN.\n<|TAIL|>actions_log|2<|END|>\nEnd with <|ACTION|>\n"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Crafter's v0, and v1 to v4, of which v3 shows nothing of the game any more."""
    place = small_workspace(tmp_path_factory.mktemp("bisect") / "lab", steps=40)
    store = place.scaffolds
    changes: list[dict[str, bytes | None]] = [
        {"README.md": b"One."},
        {"README.md": b"Two."},
        {"prompts/plan.j2": STANDS_STILL},
        {"README.md": b"Four."},
    ]
    for number, change in enumerate(changes, 1):
        champion = store.champion("crafter")
        candidate = store.propose(
            "crafter",
            night="crafter-20260101-000000",
            number=number,
            tree=store.write_tree(champion.tree, change),
            parent=champion,
            proposal=Proposal(
                subject=f"Make change {number}",
                summary="A change.",
                rationale="To see.",
                expected_effect="None.",
                kind="memory",
                editor="rules",
            ),
        )
        store.accept(store.record(candidate, Verdict(word="accept")))
    return place


def run(lab: Workspace, *words: str) -> str:
    asked = ["bisect", *words, "--sandbox", "process", "-w", str(lab.root)]
    done = CliRunner().invoke(app, asked)
    return done.stdout if done.exit_code == 0 else str(done.exception)


@pytest.mark.slow
def test_the_revision_that_lost_it_is_named(
    lab: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli_bisect, "play_jobs", lambda place, jobs, label: play_serially(jobs))
    monkeypatch.setattr(cli_bisect.screen, "_width", 160)
    words = ("crafter/v4", "crafter/v0", "--pairs", "8", "--alpha", "0.2")
    found = json.loads(run(lab, *words, "--json"))
    assert (found["outcome"], found["good"], found["bad"]) == ("found", "crafter/v2", "crafter/v3")
    assert found["level"] == pytest.approx(0.2 / 3)
    tested = {(one["better"], one["worse"]): one for one in found["tests"]}
    assert tested["crafter/v0", "crafter/v4"]["effect"] > 0
    same = tested["crafter/v0", "crafter/v2"]
    assert (same["effect"], same["shown"]) == (0.0, False)
    told = run(lab, *words)
    assert 'crafter/v3 lost it: "Make change 3" (-' in told
    assert "wrong with a probability of at most 20%" in told
    assert "slowwave revert crafter/v3" in told
    nothing = run(lab, "crafter/v2", "crafter/v0", "--pairs", "8", "--alpha", "0.2")
    assert "No loss of progression could be shown between crafter/v0 and crafter/v2" in nothing
    worse = json.loads(
        run(lab, *words, "--metric", "memory_growth", "--higher-is-better", "--json")
    )
    assert worse["metric"] == "memory_growth"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("crafter/v9", "crafter/v0"), "crafter/v9"),
        (("crafter/v1", "crafter/v1"), "are the same revision"),
        (("crafter/v0", "crafter/v2"), "came after crafter/v0"),
        (("crafter/v2", "minihack/v0"), "minihack/v0 is not an accepted revision of crafter"),
        (("crafter/v4", "crafter/v0", "--pairs", "4"), "4 pairs cannot tell 5 revisions apart"),
        (("crafter/v2", "crafter/v0", "--metric", "score"), "There is no metric 'score'"),
    ],
)
def test_wrong_input_is_a_sentence(lab: Workspace, words: tuple[str, ...], said: str) -> None:
    assert said in run(lab, *words)
