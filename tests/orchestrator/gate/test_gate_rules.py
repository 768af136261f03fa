"""The rules as state machines."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.gate.errors import BadRule, CannotReach, UnknownRule
from orchestrator.gate.evidence import Evidence, PairedScores
from orchestrator.gate.reach import check_reach
from orchestrator.gate.rules import (
    AcceptanceRule,
    Need,
    Ruling,
    StrictMeanRule,
    TwoStageRule,
    available_rules,
    rule_from_name,
)
from orchestrator.gate.signflip import sign_flip_p


def scores(*differences: float | None) -> PairedScores:
    """A champion at 50 everywhere and a candidate that differs from it by these."""
    return PairedScores(
        seeds=tuple(range(len(differences))),
        champion=(50.0,) * len(differences),
        candidate=tuple(None if d is None else 50.0 + d for d in differences),
    )


GOOD_SCREEN = scores(*[5.0] * 10)


class TestTwoStage:
    rule = TwoStageRule()

    def test_it_begins_with_half_the_screen_on_stored_scores(self) -> None:
        assert self.rule.next(Evidence()) == Need("screen", 5, fresh_incumbent=False)

    def test_ahead_at_the_look_it_goes_on_and_never_accepts(self) -> None:
        # p of five is 1/32: far below .10, and still not an acceptance.
        assert self.rule.next(Evidence(screen=scores(9, 9, 9, 9, 9))) == Need("screen", 10, False)

    @pytest.mark.parametrize("look", [(-1, -1, -1, -1, -1), (3, -1, -2, 0, 0), (0, 0, 0, 0, 0)])
    def test_not_ahead_at_the_look_it_stops(self, look: tuple[float, ...]) -> None:
        ruling = self.rule.next(Evidence(screen=scores(*look)))
        assert isinstance(ruling, Ruling)
        assert (ruling.decision, ruling.stage, ruling.pairs) == ("reject", "screen", 5)
        assert ruling.reason.startswith("Stopped early: ")

    def test_the_look_stops_even_if_later_pairs_are_there(self) -> None:
        # Otherwise a resumed night, with all ten in the store, might decide otherwise.
        late = scores(-1, -1, -1, -1, -1, 90, 90, 90, 90, 90)
        ruling = self.rule.next(Evidence(screen=late))
        assert isinstance(ruling, Ruling)
        assert (ruling.decision, ruling.effect, ruling.p) == ("reject", -1.0, 1.0)

    def test_screen_is_passed_at_its_level(self) -> None:
        # Eight of ten equal differences: p = 56 / 1024 <= .10; seven of ten: 176 / 1024.
        passed = scores(1, 1, 1, 1, 1, 1, 1, 1, -1, -1)
        assert self.rule.next(Evidence(screen=passed)) == Need("confirm", 20, True, alpha=0.01)
        failed = self.rule.next(Evidence(screen=scores(1, 1, 1, 1, 1, 1, 1, -1, -1, -1)))
        assert isinstance(failed, Ruling)
        assert (failed.decision, failed.p) == ("reject", 176 / 1024)
        assert failed.effect == pytest.approx(0.4)

    def test_confirmed(self) -> None:
        # Sixteen of twenty: (1 + 20 + 190 + 1140 + 4845) / 2**20 = .0059.
        confirm = scores(*[2.0] * 16, *[-2.0] * 4)
        ruling = self.rule.next(Evidence(screen=GOOD_SCREEN, confirm=confirm))
        assert isinstance(ruling, Ruling)
        assert (ruling.decision, ruling.stage, ruling.pairs) == ("accept", "confirm", 20)
        assert ruling.p == 6196 / 2**20
        assert ruling.effect == pytest.approx(1.2)
        assert ruling.reason == (
            "Confirmed: +1.2 points on 20 pairs of fresh seeds (p = 0.00591 <= 0.01)."
        )

    def test_not_confirmed(self) -> None:
        # Fifteen of twenty: p = (6196 + 15504) / 2**20 = .0207.
        confirm = scores(*[2.0] * 15, *[-2.0] * 5)
        ruling = self.rule.next(Evidence(screen=GOOD_SCREEN, confirm=confirm))
        assert isinstance(ruling, Ruling)
        assert (ruling.decision, ruling.p) == ("reject", 21700 / 2**20)

    def test_lost_pairs_make_it_indecisive_only_below_the_share(self) -> None:
        enough = scores(*[2.0] * 18, None, None)
        accepted = self.rule.next(Evidence(screen=GOOD_SCREEN, confirm=enough))
        assert isinstance(accepted, Ruling)
        assert (accepted.decision, accepted.pairs, accepted.missing) == ("accept", 18, 2)
        short = scores(*[2.0] * 17, None, None, None)
        ruling = self.rule.next(Evidence(screen=GOOD_SCREEN, confirm=short))
        assert isinstance(ruling, Ruling)
        assert (ruling.decision, ruling.missing, ruling.p) == ("indecisive", 3, None)
        assert "17 of 20 pairs" in ruling.reason

    def test_no_look_on_too_few_pairs(self) -> None:
        look = scores(-1, None, None, -1, -1)
        assert self.rule.next(Evidence(screen=look)) == Need("screen", 10, False)

    def test_certain_loss_stops_below_the_futility_level(self) -> None:
        # Two pairs are left after eight; p of eight is 37/256 and 37/256/4 > .01.
        rule = TwoStageRule(screen_alpha=0.01, futility_pairs=8)
        look = scores(1, 1, 1, 1, 1, 1, -1, -1)
        assert sign_flip_p(look.differences()) == 37 / 256
        ruling = rule.next(Evidence(screen=look))
        assert isinstance(ruling, Ruling)
        assert ruling.decision == "reject"

    @settings(deadline=None)
    @given(st.lists(st.integers(-22, 22), min_size=30, max_size=30))
    def test_the_look_only_turns_others_into_rejections(self, whole: list[int]) -> None:
        """Harmless to false acceptance: what it accepts, the rule without it accepts too."""
        evidence = Evidence(screen=scores(*whole[:10]), confirm=scores(*whole[10:]))
        looked = self.rule.next(evidence)
        patient = TwoStageRule(futility_pairs=0).next(evidence)
        assert isinstance(looked, Ruling)
        assert isinstance(patient, Ruling)
        if looked != patient:
            assert looked.decision == "reject"

    @settings(deadline=None)
    @given(st.lists(st.integers(-22, 22), min_size=10, max_size=10))
    def test_what_the_look_costs_is_bounded(self, whole: list[int]) -> None:
        """Of all orders of ten differences with screen p, (1024 p - 1) / 252 stop at most."""
        p = sign_flip_p(whole)
        stopped = sum(
            sign_flip_p(half) > self.rule.futility_p for half in itertools.combinations(whole, 5)
        )
        assert stopped <= max(0, 1024 * p - 1)

    @settings(deadline=None)
    @given(st.lists(st.integers(-22, 22), min_size=5, max_size=5))
    def test_the_look_is_the_sign_of_the_mean(self, whole: list[int]) -> None:
        stopped = isinstance(self.rule.next(Evidence(screen=scores(*whole))), Ruling)
        assert stopped == (sum(whole) <= 0)

    def test_half_of_everything(self) -> None:
        half = self.rule.scaled(0.5)
        assert (half.screen_pairs, half.confirm_pairs, half.futility_pairs) == (5, 10, 2)
        assert (half.screen_alpha, half.confirm_alpha) == (0.10, 0.01)


class TestStrictMean:
    rule = StrictMeanRule()

    def test_it_plays_ten_and_never_the_incumbent(self) -> None:
        assert self.rule.next(Evidence()) == Need("screen", 10, fresh_incumbent=False)

    @pytest.mark.parametrize(
        ("differences", "decision"),
        [
            ([0.1] + [0.0] * 9, "accept"),
            ([0.0] * 10, "reject"),
            ([-0.1] + [0.0] * 9, "reject"),
            # Equal means in twenty-seconds, which floating point would call higher.
            ([3 / 22 * 100, -1 / 22 * 100, -2 / 22 * 100] + [0.0] * 7, "reject"),
        ],
    )
    def test_any_higher_mean_will_do(self, differences: list[float], decision: str) -> None:
        ruling = self.rule.next(Evidence(screen=scores(*differences)))
        assert isinstance(ruling, Ruling)
        assert (ruling.decision, ruling.p) == (decision, None)

    def test_lost_pairs(self) -> None:
        ruling = self.rule.next(Evidence(screen=scores(*[1.0] * 8, None, None)))
        assert isinstance(ruling, Ruling)
        assert ruling.decision == "indecisive"


class TestNames:
    def test_every_name_gives_its_rule(self) -> None:
        assert available_rules() == ("two-stage", "strict-mean")
        for name in available_rules():
            rule: AcceptanceRule = rule_from_name(name)
            assert rule.name == name

    def test_settings(self) -> None:
        assert rule_from_name("two-stage", confirm_pairs=30) == TwoStageRule(confirm_pairs=30)

    def test_did_you_mean(self) -> None:
        with pytest.raises(UnknownRule, match="Did you mean two-stage"):
            rule_from_name("twostage")
        with pytest.raises(UnknownRule, match="There are: two-stage, strict-mean"):
            rule_from_name("zzz")
        with pytest.raises(BadRule, match="Did you mean confirm_alpha"):
            rule_from_name("two-stage", confirm_alfa=0.01)

    @pytest.mark.parametrize(
        "chosen",
        [
            {"screen_pairs": 0},
            {"confirm_pairs": 41},
            {"confirm_pairs": 7.5},
            {"screen_alpha": 0.0},
            {"confirm_alpha": 1.5},
            {"min_share": 0.0},
            {"futility_pairs": 11},
            {"futility_p": 0.2},
        ],
    )
    def test_settings_that_make_no_sense(self, chosen: dict[str, float]) -> None:
        with pytest.raises(BadRule):
            rule_from_name("two-stage", **chosen)


class TestReach:
    def test_the_defaults_reach(self) -> None:
        assert check_reach(TwoStageRule()) == ()
        assert check_reach(StrictMeanRule()) == ()

    def test_too_few_pairs_are_refused_before_anything_is_spent(self) -> None:
        # Seven pairs reach 1/128 = .0078; with a share of .9 six (.0156) may have to do.
        assert check_reach(TwoStageRule(confirm_pairs=7, min_share=1.0)) == ()
        with pytest.raises(CannotReach, match=r"6 pairs .* at least 7 pairs"):
            check_reach(TwoStageRule(confirm_pairs=6))

    def test_binary_scores_are_told_how_many_must_be_discordant(self) -> None:
        screen, confirm = check_reach(
            TwoStageRule(screen_alpha=0.05), binary=True, champion_rate=0.4
        )
        assert "screen stage needs 5 or more" in screen
        assert "confirm stage needs 7 or more" in confirm

    def test_a_champion_that_wins_leaves_too_little_to_win(self) -> None:
        with pytest.raises(CannotReach, match=r"about 2\.0 of 10 pairs of the screen"):
            check_reach(TwoStageRule(), binary=True, champion_rate=0.8)
        with pytest.raises(CannotReach, match="harder task"):
            check_reach(TwoStageRule(), binary=True, champion_rate=1.0)

    def test_a_confirmation_the_night_cannot_afford(self) -> None:
        with pytest.raises(CannotReach, match="nothing could ever be accepted"):
            check_reach(TwoStageRule(confirm_alpha=0.02), night_alpha=0.01)
