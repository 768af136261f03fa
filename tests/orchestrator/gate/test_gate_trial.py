"""The driver: what is played, charged and said, also across a crash."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.gate.account import Confirmation, MemoryBudget
from orchestrator.gate.budget import ErrorBudget
from orchestrator.gate.errors import Halted, SameRevision
from orchestrator.gate.evidence import PairedScores
from orchestrator.gate.rules import Need, StrictMeanRule, TwoStageRule
from orchestrator.gate.trial import judge, race, verdict_of

THIS = Confirmation("n1", "crafter-v1", "candidate-tree", "champion-tree")


class Table:
    """A player whose candidate differs from a champion at 50 by fixed amounts."""

    def __init__(self, screen: list[float | None], confirm: list[float | None]) -> None:
        self.differences = {"screen": screen, "confirm": confirm}
        self.asked: list[tuple[Need, int]] = []

    def __call__(self, need: Need, slice_index: int) -> PairedScores:
        self.asked.append((need, slice_index))
        differences = self.differences[need.stage][: need.pairs]
        return PairedScores(
            seeds=tuple(range(len(differences))),
            champion=(50.0,) * len(differences),
            candidate=tuple(None if d is None else 50.0 + d for d in differences),
        )


def test_an_acceptance_from_end_to_end() -> None:
    player = Table([5.0] * 10, [2.0] * 16 + [-2.0] * 4)
    budget = MemoryBudget()
    rule = TwoStageRule()
    trial = judge(rule, THIS, budget, player)
    assert player.asked == [
        (Need("screen", 5, False), 0),
        (Need("screen", 10, False), 0),
        (Need("confirm", 20, True, 0.01), 0),
    ]
    verdict = verdict_of(trial, rule, episodes=50, tokens=9, money_usd=0.5, hours=0.1)
    assert (verdict.decision, verdict.stage, verdict.p) == ("accept", "confirm", 6196 / 2**20)
    assert (verdict.slices, verdict.alpha) == (("screen", "confirm[0]"), 0.01)
    assert (verdict.episodes, verdict.tokens, verdict.money_usd, verdict.hours) == (50, 9, 0.5, 0.1)
    assert verdict.effect == pytest.approx(1.2)
    assert verdict.low is not None
    assert verdict.high is not None
    assert verdict.low < 1.2 < verdict.high
    assert budget.left("n1") == pytest.approx(0.04, abs=1e-12)


def test_a_screened_out_candidate_charges_nothing() -> None:
    budget = MemoryBudget()
    rule = TwoStageRule()
    trial = judge(rule, THIS, budget, Table([-1.0, -2.0, -3.0, -4.0, -5.0], []))
    verdict = verdict_of(trial, rule)
    assert (verdict.decision, verdict.alpha, verdict.slices) == ("reject", 0.0, ("screen",))
    assert (verdict.effect, verdict.pairs) == (-3.0, 5)
    assert budget.left("n1") == 0.05


def test_without_error_budget_nothing_is_accepted_and_it_says_so() -> None:
    player = Table([5.0] * 10, [5.0] * 20)
    budget = MemoryBudget(0.005)
    rule = TwoStageRule()
    verdict = verdict_of(judge(rule, THIS, budget, player), rule)
    assert verdict.decision == "indecisive"
    assert "error budget of 0.005 has 0.005 left" in verdict.reason
    assert all(need.stage == "screen" for need, _ in player.asked)
    assert (verdict.alpha, verdict.effect, verdict.pairs) == (0.0, 5.0, 10)


def test_strict_mean_needs_no_budget() -> None:
    rule = StrictMeanRule()
    verdict = verdict_of(judge(rule, THIS, MemoryBudget(0.001), Table([0.5] * 10, [])), rule)
    assert (verdict.decision, verdict.p, verdict.alpha) == ("accept", None, 0.0)


def test_a_crash_between_charge_and_episodes_pays_once(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    rule = TwoStageRule()
    table = Table([5.0] * 10, [2.0] * 20)

    def dies(need: Need, slice_index: int) -> PairedScores:
        if need.stage == "confirm":
            raise KeyboardInterrupt
        return table(need, slice_index)

    with pytest.raises(KeyboardInterrupt):
        judge(rule, THIS, ErrorBudget(path), dies)
    # Someone else confirms in between: the slice must still be the one that was charged.
    ErrorBudget(path).charge(Confirmation("n1", "crafter-v1", "other"), 0.01)
    resumed = judge(rule, THIS, ErrorBudget(path), table)
    assert table.asked[-1] == (Need("confirm", 20, True, 0.01), 0)
    assert resumed == judge(rule, THIS, ErrorBudget(path), table)
    assert ErrorBudget(path).spent("n1") == pytest.approx(0.02, abs=1e-12)


def test_the_same_tree_is_refused_before_any_episode() -> None:
    player = Table([], [])
    with pytest.raises(SameRevision, match="the champion's own tree"):
        judge(TwoStageRule(), Confirmation("n1", "crafter-v1", "t", "t"), MemoryBudget(), player)
    assert player.asked == []


def test_a_player_that_hides_lost_pairs_is_a_bug() -> None:
    with pytest.raises(ValueError, match="needed 5 pairs and was given 3"):
        judge(TwoStageRule(), THIS, MemoryBudget(), Table([1.0] * 3, []))


# --- several candidates of one champion ---------------------------------------------------------


def rivals(*screens: float, confirm: list[float | None] | None = None) -> list[Table]:
    """Candidates that are better by so much on every screening pair."""
    return [Table([screen] * 10, confirm or [1.0] * 20) for screen in screens]


def ids(count: int) -> list[Confirmation]:
    return [Confirmation("n1", "crafter-v1", f"tree-{one}", "champion") for one in range(count)]


def test_only_the_best_survivor_of_the_screen_is_confirmed() -> None:
    budget = MemoryBudget()
    players = rivals(2.0, 6.0, -1.0, 4.0)
    trials = race(TwoStageRule(), ids(4), budget, players)
    assert [one.ruling.decision for one in trials] == [
        "indecisive", "accept", "reject", "indecisive",
    ]  # fmt: skip
    stages = [[need.stage for need, _ in player.asked] for player in players]
    assert stages == [["screen"] * 2, ["screen"] * 2 + ["confirm"], ["screen"], ["screen"] * 2]
    assert [one.alpha for one in trials] == [0.0, 0.01, 0.0, 0.0]
    assert budget.left("n1") == pytest.approx(0.04)
    assert "another candidate of its round did better" in trials[0].ruling.reason
    assert trials[0].ruling.effect == 2.0


def test_when_the_best_is_not_confirmed_the_next_best_is_tried() -> None:
    budget = MemoryBudget()
    players = [*rivals(6.0, confirm=[-1.0] * 20), *rivals(2.0, 4.0)]
    trials = race(TwoStageRule(), ids(3), budget, players)
    assert [one.ruling.decision for one in trials] == ["reject", "indecisive", "accept"]
    assert budget.left("n1") == pytest.approx(0.03)


def test_a_race_stops_confirming_when_the_error_budget_is_gone() -> None:
    budget = MemoryBudget(night_alpha=0.01)
    trials = race(TwoStageRule(), ids(2), budget, rivals(6.0, 5.0, confirm=[-1.0] * 20))
    assert [one.ruling.decision for one in trials] == ["reject", "indecisive"]
    assert "error budget" in trials[1].ruling.reason


def test_of_equals_the_first_is_confirmed_and_a_race_of_one_is_a_trial() -> None:
    first, second = race(TwoStageRule(), ids(2), MemoryBudget(), rivals(5.0, 5.0))
    assert (first.ruling.decision, second.ruling.decision) == ("accept", "indecisive")
    (alone,) = race(TwoStageRule(), ids(1), MemoryBudget(), rivals(5.0))
    assert alone == judge(TwoStageRule(), ids(1)[0], MemoryBudget(), rivals(5.0)[0])


def test_a_rule_without_a_confirmation_accepts_only_the_best_of_a_race() -> None:
    trials = race(StrictMeanRule(), ids(3), MemoryBudget(), rivals(1.0, 3.0, 2.0))
    assert [one.ruling.decision for one in trials] == ["indecisive", "accept", "indecisive"]


def test_who_may_not_win_costs_nothing_and_does_not_stand_in_the_way() -> None:
    # All that the night may spend is one confirmation.
    budget = MemoryBudget(night_alpha=0.01)
    players = rivals(6.0, 5.0, 4.0)
    barred, honest, behind = race(TwoStageRule(), ids(3), budget, players, lambda one: one > 0)
    assert [need.stage for need, _ in players[0].asked] == ["screen", "screen"]
    assert (barred.ruling.decision, barred.alpha) == ("indecisive", 0.0)
    assert "bars it" in barred.ruling.reason
    assert (honest.ruling.decision, behind.ruling.decision) == ("accept", "indecisive")


def test_who_shows_only_in_the_confirmation_that_it_may_not_win_is_passed_over() -> None:
    players = rivals(6.0, 5.0)

    def may_win(one: int) -> bool:
        return not (one == 0 and players[0].asked[-1][0].stage == "confirm")

    trials = race(TwoStageRule(), ids(2), MemoryBudget(), players, may_win)
    assert [one.ruling.decision for one in trials] == ["accept", "accept"]
    assert [one.alpha for one in trials] == [0.01, 0.01]


class Halting(Table):
    """A player that can play no more after so many needs."""

    left = 0

    def __call__(self, need: Need, slice_index: int) -> PairedScores:
        if len(self.asked) >= self.left:
            raise Halted("The lamp is out.")
        return super().__call__(need, slice_index)


def halting(screen: float, left: int, confirm: float = 1.0) -> Halting:
    player = Halting([screen] * 10, [confirm] * 20)
    player.left = left
    return player


def test_what_was_decided_before_a_race_halted_stands_and_nothing_more_is_charged() -> None:
    budget = MemoryBudget()
    # Rejected on the screen; halted on it; halted in the confirmation; never confirmed.
    players = [halting(-1.0, 9), halting(3.0, 1), halting(6.0, 2), halting(5.0, 2)]
    lost, early, late, waiting = race(TwoStageRule(), ids(4), budget, players)
    assert (lost.ruling.decision, lost.halted) == ("reject", "")
    for one in (early, late, waiting):
        assert (one.ruling.decision, one.halted) == ("indecisive", "The lamp is out.")
        assert one.ruling.reason == "Not judged to its end: The lamp is out."
    assert [one.ruling.effect for one in (early, late, waiting)] == [3.0, 6.0, 5.0]
    # The screen of one halted, so no confirmation was begun.
    assert budget.left("n1") == 0.05


def test_a_confirmation_that_halts_is_the_last_and_stays_charged() -> None:
    budget = MemoryBudget()
    players = [halting(5.0, 9), halting(6.0, 2)]
    trials = race(TwoStageRule(), ids(2), budget, players)
    assert [one.ruling.decision for one in trials] == ["indecisive", "indecisive"]
    assert [one.alpha for one in trials] == [0.0, 0.01]
    assert budget.left("n1") == pytest.approx(0.04)


def test_who_was_charged_before_a_crash_comes_out_the_same_though_another_is_halted() -> None:
    budget = MemoryBudget()
    before = race(TwoStageRule(), ids(2), budget, [halting(3.0, 9), halting(6.0, 9)])
    assert [one.ruling.decision for one in before] == ["indecisive", "accept"]
    # A game of the first was lost, and is played once more when the money has been spent.
    again = race(TwoStageRule(), ids(2), budget, [halting(3.0, 0), halting(6.0, 9)])
    assert again[1] == before[1]
    assert (again[0].ruling.decision, again[0].halted) == ("indecisive", "The lamp is out.")
    assert budget.left("n1") == pytest.approx(0.04)


def test_a_race_that_is_run_again_after_a_crash_is_charged_once() -> None:
    budget = MemoryBudget()
    for _ in range(2):
        trials = race(TwoStageRule(), ids(2), budget, rivals(3.0, 5.0))
        assert [one.slices for one in trials] == [("screen",), ("screen", "confirm[0]")]
    assert budget.left("n1") == pytest.approx(0.04)
