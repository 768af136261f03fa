"""What is typed into a question, a menu or a line of text, and what into none."""

from __future__ import annotations

import pytest

from orchestrator.models.heuristic.game import Decision
from orchestrator.models.heuristic.nethack.answers import answer
from orchestrator.models.heuristic.nethack.facts import Facts
from tests.support.dungeons import decided, stand

MEAL = (
    ("a", "a long sword (weapon in hand)"),
    ("b", "an uncursed lichen corpse"),
    ("c", "3 eggs"),
    ("e", "2 uncursed food rations"),
)
DRINKS = (("h", "a milky potion"), ("i", "a potion of extra healing"), ("j", "a potion of healing"))
TRAVEL = "Where do you want to travel to? (For instructions type a ?)"


def answered(
    message: str, last: str = "", drawing: str = "..@..", asked: bool = True, **rest: object
) -> Decision | None:
    return answer(stand(drawing, None, last, message=message, asked=asked, **rest))


def typed(message: str, last: str = "", drawing: str = "..@..", **rest: object) -> str:
    decision = answered(message, last, drawing, **rest)
    assert decision is not None
    return decision.action


def test_where_nothing_is_asked_nothing_is_answered() -> None:
    assert answered("You see here a dagger.", asked=False) is None
    assert answered("What do you want to eat? [e or ?*]", "eat", asked=False) is None


@pytest.mark.parametrize(
    ("offered", "letter"),
    [
        ("bce", "e"),  # what keeps and fills comes before what may be rotten
        ("bc", "c"),
        ("b-e", "e"),
        ("b", "b"),  # nothing of what is known to be good: then what is offered
        ("x-z", "x"),  # a letter that the inventory does not list
        ("c or ?*", "c"),
        ("*", "escape"),
        ("$", "escape"),
    ],
)
def test_the_best_food_that_is_offered_is_eaten(offered: str, letter: str) -> None:
    question = f"What do you want to eat? [{offered}]"
    assert typed(question, "eat", inventory=MEAL) == letter


def test_only_what_is_offered_is_picked() -> None:
    pack = (("a", "an orange potion"), ("b", "an apple"))
    assert typed("What do you want to eat? [b or ?*]", "eat", inventory=pack) == "b"
    assert typed("What do you want to eat?", "eat", inventory=pack) == "escape"


@pytest.mark.parametrize(
    ("question", "letter"),
    [
        ("What do you want to drink? [h-j or ?*]", "j"),  # healing before what heals more
        ("What do you want to drink? [hi or ?*]", "i"),
        ("What do you want to drink? [h or ?*]", "h"),
    ],
)
def test_what_heals_is_drunk(question: str, letter: str) -> None:
    assert typed(question, "quaff", inventory=DRINKS) == letter


def test_the_horn_is_applied_without_a_tune_and_the_wand_is_zapped() -> None:
    pack = (("a", "a long sword"), ("f", "a horn"), ("g", "a pick-axe"), ("k", "a sapphire wand"))
    assert typed("What do you want to use or apply? [fg or ?*]", "apply", inventory=pack) == "f"
    assert typed("What do you want to zap? [k or ?*]", "zap", inventory=pack) == "k"
    assert typed("Improvise? [ynq]", "f", inventory=pack) == "n"


@pytest.mark.parametrize(
    ("message", "action"),
    [
        ("Are you sure you want to pray? [yn] (n)", "y"),
        ("You're having a hard time getting all of it down.\nStop eating? [yn] (n)", "y"),
        ("There is a newt corpse here; eat it? [ynq] (n)", "n"),
        ("Really attack the peaceful gnome lord? [yn] (n)", "n"),
        ("Drink from the fountain? [yn] (n)", "n"),
        ("Dip it into the fountain? [yn] (n)", "n"),
        ("Really quit? [yn] (n)", "n"),
        ("What do you want to throw? [a or ?*]", "escape"),
        ("What do you want to call it?", "escape"),
    ],
)
def test_what_may_do_harm_is_declined(message: str, action: str) -> None:
    assert typed(message, inventory=MEAL) == action


def test_the_question_asked_last_counts() -> None:
    told = "Are you sure you want to pray? [yn] (n)\nYou hear a door open."
    assert typed(told) == "escape"
    assert typed("You feel hungry.\nWhat do you want to eat? [e or ?*]", inventory=MEAL) == "e"


@pytest.mark.parametrize("kind", ["menu", "typing"])
def test_a_menu_or_a_line_of_text_is_left_whatever_the_message_says(kind: str) -> None:
    opened = {"menu": {"menu": "a - a dagger\n(end)"}, "typing": {"typing": True}}[kind]
    question = "Are you sure you want to pray? [yn] (n)"
    assert typed(question, "pray", **opened) == "escape"


# --- directions ---------------------------------------------------------------------------------

WHERE = "In what direction?"


@pytest.mark.parametrize(
    ("drawing", "action"),
    [
        ("-+-\n|@|\n---", "north"),
        ("---\n|@+\n---", "east"),
        ("---\n|@|\n-+-", "south"),
        ("---\n+@|\n---", "west"),
        ("--+\n|@.\n---", "escape"),  # a door is kicked straight
        ("---\n|@/\n---", "escape"),  # an open one not at all
        ("---\n|@.+\n---", "escape"),  # and none from further off
    ],
)
def test_a_kick_goes_to_the_closed_door_beside(drawing: str, action: str) -> None:
    assert typed(WHERE, "kick", drawing) == action


@pytest.mark.parametrize(
    ("drawing", "action"),
    [
        ("@}}..", "east"),
        ("..}}@", "west"),
        ("@\n}\n}\n.", "south"),
        (".\n}\n@", "north"),
        ("@}}|", "escape"),  # a wall behind it
        ("@}}", "escape"),  # who knows what
        ("@.}.", "escape"),  # it is not beside
        ("....\n.@}.\n....", "escape"),  # there is a way round
    ],
)
def test_a_ray_goes_over_lava_to_ground_that_cannot_be_reached(drawing: str, action: str) -> None:
    assert typed(WHERE, "k", drawing) == action


# --- travelling ---------------------------------------------------------------------------------


@pytest.mark.parametrize("arrived", [True, False])
def test_who_travels_confirms_only_at_the_stairs(arrived: bool) -> None:
    cursor = (14, 5) if arrived else (12, 5)
    shown = typed(TRAVEL, "down", "@...>", asked=False, cursor=cursor)
    assert shown == ("." if arrived else "escape")


def test_the_cursor_alone_tells_that_travel_goes_on() -> None:
    for last, action in (("travel", "down"), ("east", None)):
        decision = answered("nothing", last, "@...>", asked=False, cursor=(13, 5))
        assert (decision.action if decision else None) == action


def test_who_travels_without_stairs_in_sight_gives_up() -> None:
    assert typed(TRAVEL, "travel", "@....", cursor=(13, 5)) == "escape"


def test_a_question_is_answered_before_anything_else_is_done() -> None:
    scene = {"message": "Really attack? [yn] (n)", "asked": True, "hit_points": (1, 12)}
    assert decided("@r..>", Facts(warning=True), turn=5000, **scene).action == "n"
