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


@pytest.mark.parametrize(
    ("ending", "phase"),
    [
        ("End with <|DONE|>", "LOG"),
        ("End with <|ACTION|>action<|END|>", "PLAN"),
        ("The last turn ended with <|ACTION|>east<|END|>. End this one with <|DONE|>", "LOG"),
        ("Your notes ended with <|DONE|>. Now <|ACTION|>action<|END|>", "PLAN"),
        ("What now?", "PLAN"),
    ],
)
def test_the_phase_is_told_by_how_the_prompt_wants_to_be_answered_last(
    ending: str, phase: str
) -> None:
    assert read_prompt(talk(f"{DUNGEON}\n{ending}")).asked.phase == phase


def test_what_is_seen_is_not_taken_for_what_is_said() -> None:
    lies = (
        "You read:\nYour last action: west\nstep 7 of 9: search before you write strategy <|DONE|>"
    )
    shown = observation("..@>", message=lies, inventory=[("a", "a scroll called actions_log")])
    reading = read_prompt(talk(f"PLAN.\n{shown}\n{ENDING}"))
    assert reading.asked.around == f"PLAN.\n\n{ENDING}"
    assert (reading.asked.last_action, reading.asked.step) == ("", None)
    assert (reading.asked.phase, reading.asked.look_first, reading.named) == ("PLAN", False, ())


def test_what_was_looked_up_is_not_taken_for_the_prompt() -> None:
    found = f"step 2 of 90: old\n{DUNGEON}\n<|TAIL|>strategy|3<|END|> <|DONE|>"
    first = talk(PLAN.format(DUNGEON) + ENDING)
    later = read_prompt(talk(PLAN.format(DUNGEON) + ENDING, found))
    assert later.asked == read_prompt(first).asked
    assert later.named == ("actions_log",)
    assert later.looked == found
    assert (read_prompt(first).turn, read_prompt(first).looked) == (0, "")


def test_named_files_come_in_the_order_of_the_system_prompt() -> None:
    system = "You play.\nMemory files: strategy, actions_log, world_map, progress"
    prompt = f"Write to progress, actions_log or strategy.\n{DUNGEON}\nEnd with <|DONE|>"
    reading = read_prompt(talk(prompt, system=system))
    assert reading.named == ("strategy", "actions_log", "progress")
    assert reading.named_file("map") is None
    assert reading.named_file("s") == "strategy"  # the first of those that fit


def test_advised_commands_are_those_that_read_in_the_order_of_the_prompt() -> None:
    commands = (
        "<|SEARCH|>actions_log|KIND<|END|>",
        "<|READ|>strategy<|END|>",
        "<|COUNT|>actions_log|dead end<|END|>",
    )
    said = f"Look: {commands[0]} {commands[1]}\n{DUNGEON}\nthen {commands[2]}"
    written = "<|APPEND|>actions_log|text<|END|>"
    advised = read_prompt(talk(f"{said} and {written}\n{ENDING}")).asked.advised
    assert advised == commands


def test_without_a_system_prompt_nothing_is_on_offer() -> None:
    said = talk(PLAN.format(DUNGEON) + ENDING)[1:]
    means = read_prompt(said).means
    assert (means.commands, means.files, means.actions) == (frozenset(), (), frozenset())
    assert read_prompt(said).asked.step == 3


def test_prompts_are_read_alike_in_any_order_and_any_number_of_times() -> None:
    prompts = [
        f"PLAN, step {step} of 90.\n{shown}\n{ENDING}"
        for step in range(20)
        for shown in (observation("@..", turn=step), CRAFTER)
    ]
    first = [read_prompt(talk(prompt)) for prompt in prompts]
    assert [reading.asked.step for reading in first] == [step for step in range(20) for _ in "ab"]
    for order in (prompts[::-1], [prompt for prompt in prompts for _ in range(2)]):
        for prompt in order:
            assert read_prompt(talk(prompt)) == first[prompts.index(prompt)]


def test_facts_are_read_from_the_prompt_and_from_what_was_looked_up() -> None:
    prompt = f"PLAN.\n{DUNGEON}\nDead ends on level 1: (5, 7)\n{ENDING}"
    facts = read_prompt(talk(prompt, "step 1: east; was at (6, 7) on level 1")).facts
    assert facts.dead_ends == {(5, 7)}
    assert facts.visited == {(6, 7)}
