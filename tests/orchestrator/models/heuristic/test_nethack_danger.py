"""Prayer, potions and food; whom to hit, whom to let be, and where to stand."""

from __future__ import annotations

import pytest

from orchestrator.models.heuristic.nethack.danger import fight, recover, retreat
from orchestrator.models.heuristic.nethack.facts import Facts
from tests.support.dungeons import decided, stand

RATION = (("d", "2 uncursed food rations"),)
POTION = (("f", "an uncursed potion of healing"),)
WALK = frozenset(
    ("north", "east", "south", "west", "northeast", "southeast", "southwest", "northwest", "escape")
)


def recovering(
    facts: Facts | None = None, can: frozenset[str] = frozenset(), **rest: object
) -> str | None:
    decision = recover(stand("..@..", facts, can=can, **rest))
    return decision.action if decision else None


def struck(drawing: str, can: frozenset[str] = frozenset(), **rest: object) -> str | None:
    decision = fight(stand(drawing, can=can, **rest))
    return decision.action if decision else None


def fallen_back(drawing: str, **rest: object) -> str | None:
    decision = retreat(stand(drawing, **rest))
    return decision.action if decision else None


# --- wounds and hunger --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("points", "action"),
    [
        ((5, 12), "pray"),
        ((6, 12), None),
        ((13, 98), "pray"),  # less than a seventh
        ((15, 98), None),
        ((5, 5), "pray"),  # few are few, however many there can be
    ],
)
def test_prayer_helps_below_six_points_or_a_seventh(
    points: tuple[int, int], action: str | None
) -> None:
    assert recovering(turn=5000, hit_points=points) == action


@pytest.mark.parametrize("state", ["hungry", "weak", "fainting"])
def test_the_hungry_and_starving_eat_unless_nothing_is_left(state: str) -> None:
    asked = {"turn": 5000, "state": state, "inventory": RATION}
    assert recovering(Facts(prayed=4900), **asked) == "eat"
    told = "You don't have anything to eat."
    assert recovering(Facts(prayed=4900), message=told, **asked) is None


@pytest.mark.parametrize("state", ["weak", "fainting"])
def test_prayer_helps_the_starving_and_not_the_hungry(state: str) -> None:
    assert recovering(turn=5000, state=f"{state}, burdened") == "pray"
    assert recovering(turn=5000, state="hungry") is None


def test_who_has_just_prayed_drinks_or_eats_instead() -> None:
    lately = Facts(prayed=4500)
    assert recovering(lately, turn=5000, hit_points=(2, 30), inventory=POTION) == "quaff"
    assert recovering(lately, turn=5000, state="weak", inventory=RATION) == "eat"
    assert recovering(lately, turn=5000, hit_points=(2, 30)) is None
    assert recovering(lately, turn=5000, state="weak") is None


def test_only_what_can_be_done_is_done() -> None:
    needy = {"turn": 5000, "hit_points": (2, 30), "state": "hungry", "inventory": POTION + RATION}
    assert recovering(can=WALK | {"pray", "quaff", "eat"}, **needy) == "pray"
    assert recovering(can=WALK | {"quaff", "eat"}, **needy) == "quaff"
    assert recovering(can=WALK | {"eat"}, **needy) == "eat"
    assert recovering(can=WALK, **needy) is None


@pytest.mark.parametrize(
    ("carried", "action"),
    [
        ("a potion of full healing", "quaff"),
        ("a spellbook of extra healing", None),
        ("a milky potion", None),
    ],
)
def test_the_wounded_drink_what_is_known_to_heal(carried: str, action: str | None) -> None:
    assert recovering(hit_points=(2, 30), inventory=[("f", carried)]) == action


@pytest.mark.parametrize(
    ("carried", "action"),
    [
        ("3 cram rations", "eat"),
        ("a lembas wafer", "eat"),
        ("2 fortune cookies", "eat"),
        ("a slime mold", "eat"),
        ("an uncursed newt corpse", None),  # it may have lain for long
        ("a tin opener", None),
        ("a spear", None),
        ("an orange potion", None),
        ("3 uncursed oranges", "eat"),
        ("a pear named a spear (unpaid, 9 zorkmids)", "eat"),
        ("2 huge chunks of meat", "eat"),
    ],
)
def test_the_hungry_eat_what_keeps(carried: str, action: str | None) -> None:
    assert recovering(state="hungry", inventory=[("d", carried)]) == action
    assert recovering(state="not hungry", inventory=[("d", carried)]) is None


# --- fighting -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("drawing", "action"),
    [
        ("r..\n.@.\n...", "northwest"),
        (".r.\n.@.\n...", "north"),
        ("..r\n.@.\n...", "northeast"),
        ("...\nr@.\n...", "west"),
        ("...\n.@r\n...", "east"),
        ("...\n.@.\nr..", "southwest"),
        ("...\n.@.\n.r.", "south"),
        ("...\n.@.\n..r", "southeast"),
    ],
)
def test_a_creature_is_hit_in_the_direction_it_is_in(drawing: str, action: str) -> None:
    assert struck(drawing) == action


def test_who_has_no_word_for_a_diagonal_hits_straight_only() -> None:
    straight = frozenset(("north", "east", "south", "west"))
    assert struck("r..\n.@.\n...", can=straight) is None
    assert struck("r..\n.@r\n...", can=straight) == "east"


def test_a_creature_is_hit_across_the_corner_of_a_doorway() -> None:
    """NetHack refuses such a step, and not such a blow."""
    assert struck("|..\n@..\n|r.") == "southeast"
    assert decided("|..\n@..\n|r.").goal == "fight giant rat"


@pytest.mark.parametrize(
    "name",
    [
        *("floating eye", "blue jelly", "cockatrice", "chickatrice", "gas spore"),
        *("gelatinous cube", "brown mold", "lichen", "acid blob", "shrieker", "violet fungus"),
    ],
)
def test_what_is_worse_hit_is_let_be(name: str) -> None:
    signs = {"X": ("b", name)}
    assert struck("..@X..", legend=signs) is None
    # though it does not keep anybody from hitting another
    assert struck(".r@X..", legend=signs) == "west"


def test_nobody_walks_into_a_floating_eye_that_bars_the_way() -> None:
    hall = "-------\n|..@e..\n-------"
    for turn in range(60):
        assert decided(hall, turn=turn).action not in ("east", "far_east")


def test_who_is_seen_is_hit_before_who_is_remembered() -> None:
    assert struck(".I.\n.@.\n..r") == "southeast"
    assert struck(".I.\n.@.\n...") == "north"


def test_what_is_remembered_is_hit_only_where_hitting_thin_air_is_meant() -> None:
    assert struck("I@..", can=WALK) is None
    assert struck("I@..", can=WALK | {"fight"}) == "west"
    assert struck("r@..", can=WALK) == "west"


# --- falling back -------------------------------------------------------------------------------

MOUTH = """
       --------
       |......|
    ###%s|
       |......|
       --------
"""
"""A hall whose doorway, the first square of the row, leads to a corridor in the west."""


@pytest.mark.parametrize(
    ("row", "action"),
    [
        ("..@rr..", "west"),
        ("..@r.r.", None),  # one attacker near is fought where it comes
        ("..@.rr.", None),
        ("..@rd..", None),  # neither a pet nor the watch attacks, nor does stone
        ("..@rw..", None),
        ("..@rs..", None),
    ],
)
def test_two_attackers_near_are_met_in_the_corridor(row: str, action: str | None) -> None:
    assert fallen_back(MOUTH.replace("%s", row)) == action


def test_who_stands_in_a_corridor_stays_and_fights() -> None:
    assert fallen_back("##@rr") is None
    assert decided("##@rr").goal == "fight giant rat"


def test_nobody_falls_back_through_an_attacker() -> None:
    hall = """
        |....|
     ###r@r..|
        |....|
    """
    assert fallen_back(hall) is None
    assert decided(hall).goal == "fight giant rat"


def test_without_a_narrow_place_in_reach_the_player_fights() -> None:
    hall = "-------\n|.....|\n|..@rr|\n|.....|\n-------"
    assert fallen_back(hall) is None
    assert struck(hall) == "east"


def test_the_nearest_narrow_place_is_taken() -> None:
    hall = """
       -------
       |..r..|
    ####..@r.|
       |.....|
       ---.---
          #
          #
    """
    assert fallen_back(hall) == "south"  # three steps, and four to that in the west
    assert fallen_back(hall.replace("---.---", "-------")) == "west"


def test_wounds_come_before_flight_and_flight_before_blows() -> None:
    near = MOUTH.replace("%s", "..@rr..")
    assert decided(near, turn=5000, hit_points=(2, 30)).goal == "pray"
    assert decided(near).goal == "fall back"
