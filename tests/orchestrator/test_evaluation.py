"""Averages over episodes and differences between scaffolds, against values worked out by hand."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping

import pytest
from scipy import stats

from orchestrator.episodes.spec import EpisodeResult, MissingEpisode
from orchestrator.evaluation import compare, mean_metrics, scores_by_seed, summarize

A, B = "minihack/mazewalk-9x9-v1", "minihack/quest-easy-v1"


def played(
    seed: int,
    progression: float,
    environment: str = A,
    metrics: Mapping[str, float | None] | None = None,
) -> EpisodeResult:
    return EpisodeResult(
        key=f"{environment}:{seed}",
        environment=environment,
        seed=seed,
        replicate=0,
        tree="0" * 40,
        steps=10,
        progression=progression,
        outcome="step_limit",
        digest="",
        metrics=dict(metrics or {}),
        details={},
        usage={},
        seconds=1.0,
        trajectory="",
    )


def lost(seed: int, environment: str = A) -> MissingEpisode:
    return MissingEpisode(
        key=f"{environment}:{seed}", environment=environment, seed=seed, error="E", message="Gone."
    )


def by_pair(*differences: float) -> tuple[dict[int, float | None], dict[int, float | None]]:
    """Scores of two scaffolds that differ by so much, seed by seed."""
    old: dict[int, float | None] = dict.fromkeys(range(len(differences)), 40.0)
    return old, {seed: 40.0 + difference for seed, difference in enumerate(differences)}


class TestScoresBySeed:
    def test_one_environment_gives_its_own_score_in_percent(self) -> None:
        assert scores_by_seed([played(9, 0.25), lost(4), played(1, 1.0)]) == {
            9: 25.0,
            4: None,
            1: 100.0,
        }

    def test_a_suite_gives_the_mean_over_its_environments(self) -> None:
        outcomes = [played(5, 1.0, A), played(5, 0.0, B), played(2, 0.5, A), played(2, 0.25, B)]
        assert scores_by_seed(outcomes, 2) == {5: 50.0, 2: 37.5}

    def test_a_seed_of_which_an_episode_is_missing_has_no_score(self) -> None:
        outcomes = [played(1, 1.0, A), lost(1, B), lost(2, A), lost(2, B), played(3, 0.5, A)]
        assert scores_by_seed([*outcomes, played(3, 0.5, B)], 2) == {1: None, 2: None, 3: 50.0}

    def test_seeds_come_in_the_order_in_which_they_were_played(self) -> None:
        outcomes = [played(seed, 0.5, name) for seed in (7, 3, 11) for name in (A, B)]
        assert list(scores_by_seed(outcomes, 2)) == [7, 3, 11]

    def test_what_was_never_stored_is_missing_as_well(self) -> None:
        # A night's record names the episodes; one that was deleted since is simply not there.
        assert scores_by_seed([played(1, 1.0, A)], 2) == {1: None}

    def test_nothing_gives_nothing(self) -> None:
        assert scores_by_seed([]) == {}


class TestSummary:
    def test_of_one_environment(self) -> None:
        found = summarize([played(1, 0.2), played(2, 0.4), played(3, 0.9), lost(4)])
        # Mean .5; squares of -.3, -.1 and .4 are .26 in all; sqrt(.26 / 2 / 3) is the error.
        assert found.mean == pytest.approx(0.5)
        assert found.stderr == pytest.approx(math.sqrt(0.26 / 6))
        assert found.missing == 1

    def test_of_a_suite_the_error_is_that_of_seeds_and_not_of_episodes(self) -> None:
        outcomes = [played(1, 1.0, A), played(1, 0.0, B), played(2, 1.0, A), played(2, 0.5, B)]
        found = summarize(outcomes, 2)
        # Seeds score .5 and .75.
        assert found.mean == pytest.approx(0.625)
        assert found.stderr == pytest.approx(0.125)
        assert found.missing == 0

    def test_a_seed_that_is_not_whole_is_left_out_of_a_suites_mean(self) -> None:
        found = summarize([played(1, 1.0, A), lost(1, B), played(2, 0.5, A), played(2, 0.0, B)], 2)
        assert (found.mean, found.stderr, found.missing) == (0.25, None, 1)

    def test_metrics_are_means_over_the_episodes_that_have_them(self) -> None:
        episodes = [
            played(1, 0.0, metrics={"stuck": 0.2, "searches": None}),
            played(2, 0.0, metrics={"stuck": 0.4, "searches": 3.0}),
        ]
        expected = {"stuck": pytest.approx(0.3), "searches": 3.0}
        assert mean_metrics(episodes) == expected
        assert summarize([*episodes, lost(3)]).metrics == expected
        assert mean_metrics([played(1, 0.0, metrics={"searches": None})]) == {"searches": None}

    def test_of_nothing(self) -> None:
        found = summarize([lost(1), lost(2)])
        assert (found.mean, found.stderr, found.missing, found.metrics) == (None, None, 2, {})


class TestCompare:
    def test_no_pair(self) -> None:
        for old, new in (({}, {}), ({1: 50.0}, {2: 60.0}), ({1: None, 2: 3.0}, {1: 4.0, 2: None})):
            found = compare(old, new)
            assert (found.effect, found.low, found.high, found.p, found.pairs) == (
                None, None, None, None, 0,
            )  # fmt: skip

    def test_one_pair_has_a_difference_and_no_more(self) -> None:
        found = compare({1: 30.0, 2: None}, {1: 42.0, 2: 60.0})
        assert found.as_record() == {
            "effect": 12.0, "low": None, "high": None, "p": None, "pairs": 1,
        }  # fmt: skip

    def test_pairs_are_found_by_seed_whatever_their_order(self) -> None:
        found = compare({1: 10.0, 2: 20.0, 3: None, 4: 0.0}, {4: 50.0, 2: 21.0, 1: 14.0, 3: 99.0})
        # +4, +1 and +50.
        assert found.effect == pytest.approx(55 / 3)
        assert found.pairs == 3

    @pytest.mark.parametrize(
        ("differences", "p"),
        [
            # All in one direction: the pattern and its mirror image of 2^n.
            ((5.0, 5.0), 2 / 4),
            ((1.0, 2.0, 3.0, 4.0), 2 / 16),
            ((-1.0, -2.0, -3.0, -4.0), 2 / 16),
            # Of eight sums of 1, 2 and 3, those at least 4 from zero: 6, 4, -4, -6.
            ((-1.0, 2.0, 3.0), 4 / 8),
            # 1 + 2 - 3 = 0: every pattern lies at least as far.
            ((1.0, 2.0, -3.0), 1.0),
            # Differences of zero say nothing.
            ((3.0, 0.0, 0.0, 3.0), 2 / 4),
            ((0.0, 0.0, 0.0), 1.0),
        ],
    )
    def test_p_is_the_share_of_sign_patterns_at_least_as_far_from_zero(
        self, differences: tuple[float, ...], p: float
    ) -> None:
        assert compare(*by_pair(*differences)).p == p

    def test_differences_that_cancel_on_paper_cancel(self) -> None:
        # Scores of 22 achievements: the last bits of 1/22, 2/22 and 3/22 must decide nothing.
        parts = [100 * part / 22 for part in (1, 2, -3, 4, 5, -9)]
        old = dict.fromkeys(range(6), 100 * 10 / 22)
        found = compare(old, {seed: old[seed] + part for seed, part in enumerate(parts)})
        assert found.p == 1.0
        assert found.effect == pytest.approx(0.0, abs=1e-12)

    def test_twenty_pairs_are_still_tested_exactly(self) -> None:
        found = compare(*by_pair(*[1.0] * 15, *[-1.0] * 5))
        # Two-sided binomial test of 15 in 20.
        tail = sum(math.comb(20, heads) for heads in range(15, 21))
        assert found.p == 2 * tail / 2**20

    def test_many_pairs_are_tested_at_random_and_always_the_same(self) -> None:
        differences = [1.0] * 33 + [-1.0] * 17
        found = compare(*by_pair(*differences))
        exact = 2 * sum(math.comb(50, heads) for heads in range(33, 51)) / 2**50  # .0328
        assert found.p == pytest.approx(exact, abs=0.01)
        assert compare(*by_pair(*differences)) == found

    def test_the_interval_is_of_the_mean_difference(self) -> None:
        draw = random.Random(5)
        differences = [draw.gauss(8.0, 10.0) for _ in range(30)]
        found = compare(*by_pair(*differences))
        # Thirty draws of a bell curve: BCa and Student's interval nearly agree.
        mean, error = sum(differences) / 30, float(stats.sem(differences))
        low, high = stats.t.interval(0.95, 29, loc=mean, scale=error)
        assert found.low is not None
        assert found.high is not None
        assert found.effect == pytest.approx(mean)
        assert found.low == pytest.approx(low, abs=0.35 * error)
        assert found.high == pytest.approx(high, abs=0.35 * error)

    def test_the_interval_of_equal_differences_is_that_difference(self) -> None:
        found = compare(*by_pair(5.0, 5.0, 5.0))
        assert (found.effect, found.low, found.high) == (5.0, 5.0, 5.0)

    def test_turning_it_round_turns_the_sign(self) -> None:
        old, new = by_pair(-1.0, 2.0, 3.0, 7.0, -4.0)
        there, back = compare(old, new), compare(new, old)
        assert there.effect == pytest.approx(-back.effect if back.effect is not None else None)
        assert there.p == back.p
