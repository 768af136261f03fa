"""Whole small episodes through the real sandbox: what is played, recorded and blamed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from agents.manifest import Budgets
from agents.memory.base import MemoryResult
from agents.memory.files import FilesBackend
from agents.messages import FromSandbox
from orchestrator.episodes.trajectory import Trajectory
from orchestrator.models.base import Message
from orchestrator.models.errors import BudgetExhausted, ModelTimeout
from orchestrator.sandbox.base import SandboxFailure, SandboxLimits
from orchestrator.sandbox.line import LineSession
from orchestrator.sandbox.process import ProcessSandbox
from tests.support.episode_parts import WALK_RIGHT, Stage, by_phase, partial_of

UPSERT = """
from agents.scaffold import command


@command("UPSERT", ("file", "key", "text"), "one line per key", writes=True)
def upsert(context, file, key, text):
    kept = [line for line in context.memory.lines(file) if not line.startswith(key + ":")]
    context.memory.write(file, "\\n".join([*kept, f"{key}: {text}"]))
    return "saved"


@command("LATEST", ("file",), "the last line")
def latest(context, file):
    return context.memory.lines(file)[-1]


@command("SNEAK", ("file",), "claims to read")
def sneak(context, file):
    context.memory.append(file, "sneaked")
    return "done"
"""


# --- playing ----------------------------------------------------------------------------------


def test_a_game_that_is_won(stage: Stage) -> None:
    show = stage.play(seed=3, steps=10)
    assert (show.played.steps, show.played.outcome) == (3, "won")
    assert show.played.progression == 1.0
    assert show.played.metrics["progression"] == 100.0
    assert stage.game.played == ["right"] * 3
    assert show.played.details == {"best": 6}
    assert show.events() == []


def test_a_game_that_is_stopped_at_its_limit(stage: Stage) -> None:
    show = stage.play(steps=2)
    assert (show.played.steps, show.played.outcome) == (2, "step_limit")
    assert show.played.progression == 2 / 6
    assert stage.game.played == ["right"] * 2


def test_each_step_is_log_then_plan_and_the_first_is_plan_alone(stage: Stage) -> None:
    show = stage.play(steps=3)
    phases = [[turn["phase"] for turn in step["turns"]] for step in show.steps()]
    assert phases == [["PLAN"], ["LOG", "PLAN"], ["LOG", "PLAN"]]
    said = [asked[1]["content"] for asked in show.action.asked]
    assert said == [
        "PLAN 0\nnow: You are in room 0.\n",
        "LOG 1\nbefore: You are in room 0.\nnow: You are in room 1.\n",
        "PLAN 1\nnow: You are in room 1.\n",
        "LOG 2\nbefore: You are in room 1.\nnow: You are in room 2.\n",
        "PLAN 2\nnow: You are in room 2.\n",
    ]
    assert {asked[0]["content"] for asked in show.action.asked} == {
        "Walk to room 6.\nActions: wait, left, right\nFiles: notes"
    }


def test_an_action_outside_the_vocabulary_is_not_played_and_told(stage: Stage) -> None:
    show = stage.play(by_phase("<|DONE|>", "<|ACTION|>fly up<|END|>"), steps=2)
    assert stage.game.played == ["wait", "wait"]
    assert show.events() == ["invalid_action"] * 2
    assert show.played.metrics["invalid_action_rate"] == 1.0
    note = "'fly up' is not an action, so wait was played."
    assert all(note in asked[1]["content"] for asked in show.action.asked[1:])
    step = show.steps()[0]
    assert (step["committed"], step["action"], step["overridden"]) == ("fly up", "wait", False)


def test_a_plan_without_an_action_is_played_by_default_and_told(stage: Stage) -> None:
    show = stage.play(by_phase("<|DONE|>", "hm"), steps=2, budgets=Budgets(plan_turns=2))
    assert stage.game.played == ["wait", "wait"]
    assert show.events() == ["plan_budget_exhausted", "no_action"] * 2
    assert show.played.metrics["invalid_action_rate"] == 0.0
    assert "No action was committed, so wait was played." in show.action.asked[-1][1]["content"]


def test_a_log_that_never_ends_is_cut_with_an_event(stage: Stage) -> None:
    show = stage.play(
        by_phase("<|SEARCH|>notes|x<|END|>", "<|ACTION|>right<|END|>"),
        steps=2,
        budgets=Budgets(log_turns=3),
    )
    assert show.events() == ["log_budget_exhausted"]
    assert [len(step["turns"]) for step in show.steps()] == [1, 4]
    assert show.played.metrics["empty_search_rate"] == 1.0


def test_results_are_shown_to_the_model_in_the_next_turn(stage: Stage) -> None:
    show = stage.play(
        [
            "Let me see. <|SEARCH|>notes|x<|END|><|READ|>notes<|END|>",
            "<|ACTION|>right<|END|>",
        ],
        steps=1,
        seeds={"notes": "first\nsecond x"},
    )
    conversation = show.action.asked[1]
    assert [message["role"] for message in conversation] == ["system", "user", "assistant", "user"]
    assert conversation[2]["content"].startswith("Let me see.")
    assert conversation[3]["content"] == (
        "<|SEARCH|>notes|x<|END|>\nsecond x\n\n<|READ|>notes<|END|>\nfirst\nsecond x"
    )


def test_memory_is_reset_for_every_episode(stage: Stage) -> None:
    script = by_phase("<|APPEND|>notes|learned<|END|><|DONE|>", "<|ACTION|>right<|END|>")
    for _ in range(2):
        show = stage.play(script, steps=3, seeds={"notes": "seed"})
        assert show.end()["memory"] == {"notes": "seed\nlearned\nlearned\n"}
        assert show.played.metrics["memory_growth"] == 16 / 3
        assert show.played.metrics["redundant_write_rate"] == 1 / 2


# --- two models -------------------------------------------------------------------------------


def test_the_hand_over_is_one_conversation_with_one_line_added(stage: Stage) -> None:
    show = stage.play(
        ["<|ACTION|>right<|END|>"] * 2,
        memory_script=[
            "<|READ|>notes<|END|>",
            "<|READY|>",
            "<|APPEND|>notes|moved<|END|><|DONE|>",
            "<|READ|>notes<|END|><|READY|>",
        ],
        steps=2,
        seeds={"notes": "go right"},
    )
    assert show.memory_client is not None
    first, second = show.action.asked
    assert first[:-1] == [
        *show.memory_client.asked[1],
        {"role": "assistant", "content": "<|READY|>"},
    ]
    ask = "You are the action model. Reply with the game action as <|ACTION|>action<|END|>."
    assert first[-1] == {"role": "user", "content": ask}
    assert second[-1] == {
        "role": "user",
        "content": f"<|READ|>notes<|END|>\ngo right\nmoved\n\n{ask}",
    }
    roles = [[turn["role"] for turn in step["turns"]] for step in show.steps()]
    assert roles == [["memory", "memory", "action"], ["memory", "memory", "action"]]
    assert stage.game.played == ["right", "right"]
    # The specialist's turns are the memory's cost, those of the action model are not.
    assert show.played.metrics["memory_tokens_per_step"] == 4 * 15 / 2


def test_ready_is_offered_only_where_there_are_two_models(stage: Stage) -> None:
    listing = "{% for one in commands %}{{ one.form }}\n{% endfor %}"
    alone = stage.play(steps=1, system=listing)
    both = stage.play(
        ["<|ACTION|>right<|END|>"], memory_script=["<|READY|>"], steps=1, system=listing
    )
    assert "READY" not in alone.action.asked[0][0]["content"]
    assert "<|READY|>" in both.action.asked[0][0]["content"]
    asked = stage.play(["<|READY|>", "<|ACTION|>right<|END|>"], steps=1)
    assert asked.events() == ["command_fault"]


# --- code of the scaffold ---------------------------------------------------------------------


def test_own_commands_run_in_the_sandbox_and_are_listed(stage: Stage) -> None:
    show = stage.play(
        by_phase(
            "<|UPSERT|>notes|iron|at (1, 2)<|END|><|LATEST|>notes<|END|><|DONE|>",
            "<|ACTION|>right<|END|>",
        ),
        steps=3,
        hooks=UPSERT,
        system="{% for one in commands %}{{ one.form }}\n{% endfor %}",
    )
    assert show.memory.snapshot() == {"notes": "iron: at (1, 2)\n"}
    commands = [one for step in show.steps() for turn in step["turns"] for one in turn["commands"]]
    assert [(one["name"], one["novel"]) for one in commands] == [
        ("UPSERT", True),
        ("LATEST", None),
        ("UPSERT", False),
        ("LATEST", None),
    ]
    assert "<|UPSERT|>file|key|text<|END|>" in show.action.asked[0][0]["content"]
    assert show.played.metrics["redundant_write_rate"] == 1 / 2


def test_an_own_command_may_not_write_in_plan_nor_where_it_claims_to_read(stage: Stage) -> None:
    plan = ["<|UPSERT|>notes|a|b<|END|>", "<|SNEAK|>notes<|END|>", "<|ACTION|>right<|END|>"]
    show = stage.play(plan, steps=1, hooks=UPSERT)
    assert [text for turn in show.turns() for _, text in turn.results] == [
        "UPSERT is not allowed in PLAN.",
        "A command registered without writes=True may only read.",
    ]
    assert show.memory.snapshot() == {"notes": ""}


@pytest.mark.parametrize(
    ("hooks", "fault"),
    [
        (UPSERT.replace("UPSERT", "SEARCH"), "The command SEARCH is already there"),
        (UPSERT.replace("UPSERT", "upsert"), "'upsert' is no command name"),
        (UPSERT.replace("UPSERT", "END"), "'END' is no command name"),
    ],
)
def test_a_command_that_cannot_be_is_the_scaffolds_fault(
    stage: Stage, hooks: str, fault: str
) -> None:
    show = stage.play(steps=1, hooks=hooks)
    assert show.played.outcome == "scaffold_fault"
    assert fault in str(show.played.details["fault"])


def test_hooks_see_the_game_and_leave_notes_for_the_prompts(stage: Stage) -> None:
    hooks = """
def on_start(context):
    context.state["seen"] = []
    context.memory.write("plan", f"{context.environment} {context.steps} {context.actions}")


def on_observation(context):
    context.state["seen"].append(context.previous_action or "-")
    context.notes["Moves"] = " ".join(context.state["seen"])


def after_log(context):
    context.memory.append("plan", f"step {context.step}")
"""
    show = stage.play(steps=3, hooks=hooks, plan="PLAN {{ notes['Moves'] }}")
    plans = [asked[1]["content"] for asked in show.action.asked if "PLAN" in asked[1]["content"]]
    assert plans == ["PLAN -", "PLAN - right", "PLAN - right right"]
    assert show.memory.snapshot()["plan"].splitlines() == [
        "corridor-v1 3 ('wait', 'left', 'right')",
        "step 0",
        "step 1",
        "step 2",
    ]
    writes = [
        (one["by"], one["operation"]) for step in show.steps() for one in step.get("writes", [])
    ]
    assert writes == [("hook", "PUT"), ("hook", "ADD"), ("hook", "ADD"), ("hook", "ADD")]


def test_overrides_are_counted_and_repairs_of_form_are_not(stage: Stage) -> None:
    hooks = """
ACTIONS = ["right", "Right", "left", ""]


def before_act(context, action):
    return ACTIONS[context.step]
"""
    show = stage.play(by_phase("<|DONE|>", "<|ACTION|>RIGHT<|END|>"), steps=4, hooks=hooks)
    assert [step["overridden"] for step in show.steps()] == [False, False, True, True]
    assert show.played.metrics["override_rate"] == 2 / 4
    assert stage.game.played == ["right", "wait", "left", "wait"]
    assert [step["events"] for step in show.steps()] == [[], ["invalid_action"], [], ["no_action"]]


def test_a_scaffold_that_never_asks_the_model_overrides_every_step(stage: Stage) -> None:
    hooks = """
from agents.loop import Agent

Agent.step = lambda self, observe: "right"
"""
    show = stage.play([], steps=3, hooks=hooks)
    assert stage.game.played == ["right"] * 3
    assert show.played.metrics["override_rate"] == 1.0
    assert show.played.metrics["model_calls_per_step"] == 0.0


def test_before_act_may_not_write(stage: Stage) -> None:
    hooks = "def before_act(context, action):\n    context.memory.append('notes', 'x')\n"
    show = stage.play(steps=1, hooks=hooks)
    assert show.played.outcome == "scaffold_fault"
    assert "hooks.py:2" in str(show.played.details["fault"])
    assert "not written" in str(show.played.details["fault"])


def test_two_prompts_that_read_the_same_are_two_turns(stage: Stage) -> None:
    show = stage.play(
        ["<|ACTION|>right<|END|>", "<|DONE|>", "<|ACTION|>right<|END|>"],
        steps=2,
        log="the same",
        plan="the same",
    )
    assert show.played.outcome == "step_limit"


# --- failures of the scaffold: the episode ends and keeps its score ---------------------------


def at_step_two(line: str) -> str:
    return (
        "import os, sys, time\n\n\ndef on_observation(context):\n"
        f"    if context.step == 2:\n        {line}\n"
    )


@pytest.mark.parametrize(
    ("line", "outcome", "says"),
    [
        ("1 / 0", "scaffold_fault", "failed at hooks.py:6: ZeroDivisionError"),
        ("os._exit(4)", "scaffold_exit", "exit status 4"),
        ("time.sleep(1000)", "scaffold_timeout", "did not answer within 0."),
        ("os.write(3, b'nonsense\\n')", "scaffold_protocol", "broke the protocol"),
        (
            'os.write(3, b\'{"type":"command","ok":true,"text":""}\\n\')',
            "scaffold_protocol",
            "Unasked CommandReply",
        ),
        (
            'os.write(3, b\'{"type":"ready","commands":[]}\\n\')',
            "scaffold_protocol",
            "Unasked Ready",
        ),
        ('os.write(3, b\'{"type":"up"}\\n\')', "scaffold_protocol", "Unasked Up"),
        (
            "[context.memory.files() for _ in range(3000)]",
            "scaffold_protocol",
            "Over 2000 messages in one step",
        ),
    ],
)
def test_a_scaffold_that_breaks_keeps_the_score_it_had(
    stage: Stage, line: str, outcome: str, says: str
) -> None:
    seconds = 0.5 if outcome == "scaffold_timeout" else 10
    limits = SandboxLimits(start_seconds=20, step_seconds=seconds)
    show = stage.play(steps=5, hooks=at_step_two(line), limits=limits)
    assert show.played.outcome == outcome
    assert says in str(show.played.details["fault"])
    assert (show.played.steps, show.played.progression) == (2, 2 / 6)
    assert len(show.steps()) == 2
    assert show.end()["complete"] is True
    # what the last action led to was seen, so that it is judged by that and not as stuck
    assert show.played.metrics["stuck_rate"] == 0.0


def test_many_short_answers_may_not_add_up_to_a_long_step(stage: Stage) -> None:
    limits = SandboxLimits(start_seconds=20, step_seconds=0.4)
    hooks = at_step_two("[(time.sleep(0.05), context.memory.files()) for _ in range(1000)]")
    show = stage.play(steps=5, hooks=hooks, limits=limits)
    assert show.played.outcome == "scaffold_timeout"
    assert show.played.steps == 2


class SlowMemory(FilesBackend):
    """A memory whose every access takes the host a while."""

    def run(self, operation: str, arguments: Sequence[str]) -> MemoryResult:
        end = time.monotonic() + 0.1
        while time.monotonic() < end:
            pass
        return super().run(operation, arguments)


@pytest.mark.parametrize("limit", ["step", "whole episode"])
def test_what_the_host_takes_for_memory_is_the_scaffolds_time(stage: Stage, limit: str) -> None:
    step, episode = (2.0, 600.0) if limit == "step" else (60.0, 2.0)
    limits = SandboxLimits(start_seconds=20, step_seconds=step, episode_seconds=episode)
    hooks = at_step_two("[context.memory.files() for _ in range(1000)]")
    show = stage.play(steps=5, hooks=hooks, limits=limits, memory=SlowMemory())
    assert show.played.outcome == "scaffold_timeout"
    assert show.played.steps == 2


def test_an_own_commands_memory_requests_are_its_time_too(stage: Stage) -> None:
    own = UPSERT.replace(
        "return context.memory.lines(file)[-1]",
        "return str([context.memory.files() for _ in range(1000)])",
    )
    show = stage.play(
        ["<|LATEST|>notes<|END|>"],
        steps=1,
        hooks=own,
        limits=SandboxLimits(start_seconds=20, step_seconds=2),
        memory=SlowMemory(),
    )
    assert show.played.outcome == "scaffold_timeout"


def test_a_longer_step_may_take_longer_for_one_message(stage: Stage) -> None:
    """There is one deadline: no smaller one for a single message stands behind it."""
    asked: list[float] = []

    class Watched(LineSession):
        def receive(self, seconds: float) -> FromSandbox:
            asked.append(seconds)
            return super().receive(seconds)

    class Sandbox(ProcessSandbox):
        def start(self, scaffold: Path, limits: SandboxLimits) -> LineSession:
            session = super().start(scaffold, limits)
            session.__class__ = Watched
            return session

    limits = SandboxLimits(start_seconds=20, step_seconds=500)
    stage.play(steps=1, limits=limits, sandbox=Sandbox(stage.bundles))
    assert max(asked) > 400


def test_turns_of_a_step_that_was_not_finished_are_kept(stage: Stage) -> None:
    hooks = "def before_act(context, action):\n    return action if context.step < 1 else 1 / 0\n"
    show = stage.play(steps=5, hooks=hooks)
    unfinished = show.end()["unfinished"]
    assert unfinished["step"] == 1
    assert [turn["phase"] for turn in unfinished["turns"]] == ["LOG", "PLAN"]
    assert stage.play(steps=2).end()["unfinished"] is None


def test_a_command_of_the_scaffold_that_breaks_is_blamed_and_its_turn_kept(stage: Stage) -> None:
    plan = "<|READ|>notes<|END|><|LATEST|>notes<|END|>"
    show = stage.play(by_phase("<|DONE|>", plan), steps=5, hooks=UPSERT)
    assert show.played.outcome == "scaffold_fault"
    assert "IndexError" in str(show.played.details["fault"])  # the file has no last line
    (turn,) = show.end()["unfinished"]["turns"]
    assert turn["ended"] == "FAILED"
    assert [command["name"] for command in turn["commands"]] == ["READ"]


def test_a_scaffold_that_dies_after_its_last_action_changes_nothing(stage: Stage) -> None:
    """The game is over when the step was played, whatever the scaffold makes of it."""
    hooks = """
import os

import agents.runner

send = agents.runner.Channel.send


def send_and_die(self, message):
    send(self, message)
    if type(message).__name__ == "Act":
        os._exit(7)


agents.runner.Channel.send = send_and_die
"""
    show = stage.play(steps=1, hooks=hooks)
    assert (show.played.outcome, show.played.steps) == ("step_limit", 1)
    assert "fault" not in show.played.details


def test_words_of_a_fault_are_fit_for_a_screen(stage: Stage) -> None:
    hooks = "raise ValueError('\\x1b[2J' + 'x' * 100_000)\n"
    fault = str(stage.play(steps=1, hooks=hooks).played.details["fault"])
    assert "\x1b" not in fault
    assert len(fault) <= 4_000


@pytest.mark.parametrize(
    ("seeds", "says"),
    [
        ({"notes": "x" * 1_000_001}, "Memory is full"),
        ({"not a name": ""}, "is no file name"),
        ({f"f{number}": "" for number in range(65)}, "64 files already"),
    ],
)
def test_seed_memory_that_cannot_be_taken_is_the_scaffolds_fault(
    stage: Stage, seeds: dict[str, str], says: str
) -> None:
    show = stage.play(steps=1, seeds=seeds)
    assert show.played.outcome == "scaffold_fault"
    assert says in str(show.played.details["fault"])
    assert show.played.steps == 0


# --- failures of the machinery: the episode is missing ----------------------------------------


def failing_at(call: int, error: BaseException) -> Any:
    made = iter(range(1000))

    def say(messages: Sequence[Message]) -> str:
        if next(made) == call:
            raise error
        return WALK_RIGHT(messages)

    return say


@pytest.mark.parametrize(
    "error",
    [
        ModelTimeout("The server took too long."),
        BudgetExhausted("tokens", value=2, limit=1, where="slowwave.toml"),
        KeyboardInterrupt(),
    ],
)
def test_a_failure_of_the_model_leaves_a_partial_trajectory_and_no_score(
    stage: Stage, error: BaseException
) -> None:
    with pytest.raises(type(error)):
        stage.play(failing_at(4, error), steps=5)
    path = stage.root / "trajectory.jsonl.zst"
    assert not path.exists()
    partial = Trajectory(partial_of(path))
    assert [step["action"] for step in partial.steps()] == ["right", "right"]
    assert partial.end["complete"] is False
    assert type(error).__name__ in partial.end["reason"]


def test_a_sandbox_that_does_not_start_leaves_a_partial_trajectory(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    with pytest.raises(SandboxFailure):
        stage.play(steps=1)
    path = stage.root / "trajectory.jsonl.zst"
    partial = Trajectory(partial_of(path))
    assert list(partial.steps()) == []
    assert partial.end["reason"].startswith("SandboxFailure")
