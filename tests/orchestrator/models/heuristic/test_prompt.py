"""What a prompt asks and says, whatever game it is about."""

from __future__ import annotations

import pytest

from orchestrator.models.base import Message
from orchestrator.models.heuristic.crafter import CrafterPlayer
from orchestrator.models.heuristic.nethack import NetHackPlayer
from orchestrator.models.heuristic.prompt import read_prompt
from tests.support.dungeons import observation

SYSTEM = (
    "You play.\nActions: north, search, down\nMemory files: strategy, actions_log\nCommands:\n"
    "<|APPEND|>file|text<|END|>  add\n<|TAIL|>file|n<|END|>  last lines\n<|DONE|>  end LOG"
)
DUNGEON = observation("..@>", inventory=[("a", "a dagger")])
CRAFTER = (
    "You stand on grass and face tree (up).\nIt is day.\nMap (you are @):\n.@.\n"
    "Status: health 9, food 9, drink 9, energy 9.\nInventory: nothing."
)
PLAN = (
    "PLAN, step 3 of 90.\nYour last action: search\n{}\nActions_log has your notes: actions_log.\n"
)
ADVICE = "<|TAIL|>actions_log|3<|END|>\n"
ENDING = "<|ACTION|>action<|END|>"


def talk(*user: str, system: str = SYSTEM) -> list[Message]:
    said: list[Message] = [{"role": "system", "content": system}]
    for number, text in enumerate(user):
        if number:
            said.append({"role": "assistant", "content": "<|TAIL|>actions_log|3<|END|>"})
        said.append({"role": "user", "content": text})
    return said


@pytest.mark.parametrize(("shown", "player"), [(DUNGEON, NetHackPlayer), (CRAFTER, CrafterPlayer)])
def test_the_game_is_known_by_its_observation(shown: str, player: type) -> None:
    asked = read_prompt(talk(PLAN.format(shown) + ENDING)).asked
    assert isinstance(asked.game, player)
    assert asked.observations == (shown,)
    assert shown not in asked.around
    assert (asked.last_action, asked.step, asked.phase) == ("search", 3, "PLAN")


def test_every_observation_of_a_window_is_found_oldest_first() -> None:
    earlier = observation("@..>", turn=99)
    asked = read_prompt(talk(f"Before:\n{earlier}\n\nNow:\n{DUNGEON}\n\nEnd with <|DONE|>")).asked
    assert asked.observations == (earlier, DUNGEON)
    assert asked.around == "Before:\n\n\nNow:\n\n\nEnd with <|DONE|>"
    assert asked.phase == "LOG"


def test_a_prompt_without_any_observation_is_still_read() -> None:
    reading = read_prompt(talk("PLAN. You wake up.\n" + ENDING))
    assert reading.asked.observations == ()
    assert (reading.asked.last_action, reading.asked.step) == ("", None)


def test_what_was_looked_up_is_put_together_and_the_turns_are_counted() -> None:
    reading = read_prompt(talk(PLAN.format(DUNGEON) + ADVICE + ENDING, "step 1: was here", "more"))
    assert reading.turn == 2
    assert reading.looked == "step 1: was here\nmore"
    assert reading.asked.advised == ("<|TAIL|>actions_log|3<|END|>",)


def test_means_are_those_of_the_system_prompt() -> None:
    reading = read_prompt(talk(PLAN.format(DUNGEON) + ENDING))
    assert reading.means.commands == {"APPEND", "TAIL"}
    assert reading.means.files == ("strategy", "actions_log")
    assert reading.means.actions == {"north", "search", "down"}
    assert reading.named == ("actions_log",)
    assert reading.named_file("log") == "actions_log"
    assert reading.named_file("map") is None


def test_a_prompt_says_how_notes_are_wanted() -> None:
    plain = read_prompt(talk("LOG. End with <|DONE|>")).asked
    assert (plain.look_first, plain.only_new) == (False, False)
    asked = read_prompt(
        talk("LOG. Search before you write, only when something new happened. <|DONE|>")
    ).asked
    assert (asked.look_first, asked.only_new) == (True, True)


def test_one_prompt_under_two_systems_is_read_under_each() -> None:
    prompt = PLAN.format(DUNGEON) + ENDING
    first = read_prompt(talk(prompt))
    other = read_prompt(talk(prompt, system="Actions: wait\nMemory files: strategy"))
    again = read_prompt(talk(prompt))
    assert (first.named, other.named, again.named) == (("actions_log",), (), ("actions_log",))
    assert other.means.actions == {"wait"}
    assert first == again
