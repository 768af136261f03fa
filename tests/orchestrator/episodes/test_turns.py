"""The rules of the inner loop, each with a model that says what a script has it say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from agents.grammar import CommandSpec, command_table
from agents.manifest import Budgets
from agents.memory.base import MemoryRefusal
from agents.memory.files import FilesBackend
from agents.messages import (
    MAX_MESSAGES,
    CommandCall,
    CommandReply,
    MemoryRequest,
    TurnReply,
    TurnRequest,
)
from orchestrator.episodes import turns
from orchestrator.episodes.trajectory import TrajectoryWriter
from orchestrator.episodes.turns import RESULT_LIMIT, TurnServer
from orchestrator.models.base import Completion, Message, Usage
from orchestrator.models.config import Role
from orchestrator.models.errors import ModelTimeout, PromptTooLong, RequestRejected
from orchestrator.sandbox.base import ScaffoldFailure

OWN = (
    CommandSpec("UPSERT", ("file", "key", "text"), "one line per key", writes=True),
    CommandSpec("LATEST", ("file",), "the last line"),
    CommandSpec("PUT", ("file", "text"), "claims to read"),
)
PROMPT: list[dict[str, Any]] = [
    {"role": "system", "content": "rules"},
    {"role": "user", "content": "now"},
]


class Table:
    """A turn server with scripted models, a memory and a scaffold of two honest commands."""

    def __init__(
        self,
        folder: Path,
        action: Iterable[str] = (),
        memory: Iterable[str] | None = None,
        *,
        budgets: Budgets | None = None,
        files: FilesBackend | None = None,
    ) -> None:
        self.lines = {"action": iter(action), "memory": iter(memory or ())}
        self.asked: list[tuple[Role, list[Message]]] = []
        self.files = files or FilesBackend()
        self.files.begin_episode({"notes": "water left\nstone right"})
        self.failure: Exception | None = None
        self.server = TurnServer(
            call_model=self.call_model,
            call_scaffold=self.call_scaffold,
            memory=self.files,
            table=command_table(OWN),
            budgets=budgets or Budgets(),
            handover=memory is not None,
            trajectory=TrajectoryWriter(folder / "t.zst", {}),
        )
        self.server.begin_step(1)

    def call_model(self, role: Role, messages: Sequence[Message]) -> Completion:
        if self.failure is not None:
            raise self.failure
        self.asked.append((role, [message.copy() for message in messages]))
        return Completion(next(self.lines[role]), Usage(10, 5), "stop", role)

    def call_scaffold(self, call: CommandCall) -> CommandReply:
        """What the sandbox would do: reach memory by messages."""
        try:
            if call.name == "PUT":
                self.memory("PUT", *call.arguments)
                return CommandReply(True, "put")
            lines = self.memory("TEXT", call.arguments[0]).splitlines()
            if call.name == "LATEST":
                return CommandReply(True, lines[-1])
            _, key, text = call.arguments
            kept = [line for line in lines if not line.startswith(f"{key}:")]
            self.memory("PUT", call.arguments[0], "\n".join([*kept, f"{key}: {text}"]))
            return CommandReply(True, "saved")
        except MemoryRefusal as refusal:
            return CommandReply(False, str(refusal))

    def memory(self, operation: str, *arguments: str) -> str:
        return self.server.serve_memory(MemoryRequest(operation, list(arguments)))

    def turn(self, phase: str, kept: int = 0) -> TurnReply:
        return self.server.serve_turn(TurnRequest(phase, kept, PROMPT))

    @property
    def events(self) -> list[str]:
        return self.server.step.events

    @property
    def commands(self) -> list[tuple[str, bool]]:
        turns = self.server.step.turns
        return [(one["name"], one["ok"]) for turn in turns for one in turn["commands"]]


# --- what a phase may do ----------------------------------------------------------------------


def test_log_reads_and_writes_in_the_order_written_and_ends_with_done(tmp_path: Path) -> None:
    text = (
        "<|SEARCH|>notes|iron<|END|><|APPEND|>notes|iron up<|END|><|SEARCH|>notes|iron<|END|>"
        "<|DONE|>"
    )
    table = Table(tmp_path, [text])
    reply = table.turn("LOG")
    assert reply.results == [
        ["<|SEARCH|>notes|iron<|END|>", "(no match)"],
        ["<|APPEND|>notes|iron up<|END|>", "appended"],
        ["<|SEARCH|>notes|iron<|END|>", "iron up"],
    ]
    assert (reply.completion, reply.ended, reply.action) == (text, "DONE", "")
    assert table.events == []


@pytest.mark.parametrize(
    "command",
    [
        "<|APPEND|>notes|x<|END|>",
        "<|WRITE|>notes|x<|END|>",
        "<|CREATE|>map<|END|>",
        "<|UPSERT|>notes|k|x<|END|>",
    ],
)
def test_a_write_in_plan_is_refused_and_changes_nothing(tmp_path: Path, command: str) -> None:
    table = Table(tmp_path, [command])
    before = table.files.snapshot()
    reply = table.turn("PLAN")
    name = command[2:].partition("|")[0]
    assert reply.results == [[command, f"{name} is not allowed in PLAN."]]
    assert reply.ended == ""
    assert table.files.snapshot() == before
    assert table.events == ["command_refused"]
    assert table.commands == []


def test_log_may_not_act_nor_hand_over(tmp_path: Path) -> None:
    table = Table(tmp_path, ["<|ACTION|>noop<|END|><|READY|>"])
    reply = table.turn("LOG")
    assert [result for _, result in reply.results] == [
        "ACTION is not allowed in LOG.",
        "READY is not allowed in LOG.",
    ]
    assert (reply.ended, reply.action) == ("", "")


def test_plan_ends_with_its_action(tmp_path: Path) -> None:
    table = Table(tmp_path, ["Onwards. <|ACTION|>move left<|END|>"])
    reply = table.turn("PLAN")
    assert (reply.ended, reply.action, reply.results) == ("ACTION", "move left", [])
    assert table.server.step.action == "move left"


@pytest.mark.parametrize(
    "text",
    [
        "<|READ|>notes<|END|><|ACTION|>noop<|END|>",
        "<|ACTION|>noop<|END|><|READ|>notes<|END|>",
        "<|LATEST|>notes<|END|><|ACTION|>noop<|END|>",
    ],
)
def test_reads_and_an_action_in_one_turn_ask_again(tmp_path: Path, text: str) -> None:
    table = Table(tmp_path, [text, "<|ACTION|>do<|END|>"])
    reply = table.turn("PLAN")
    assert (reply.ended, reply.action) == ("", "")
    results = dict(map(tuple, reply.results))
    assert results["<|ACTION|>noop<|END|>"] == "Not yet: first read the results, then act."
    assert any("stone right" in result for result in results.values())
    assert table.turn("PLAN").action == "do"


def test_commands_after_an_ending_one_are_not_run(tmp_path: Path) -> None:
    table = Table(
        tmp_path,
        ["<|DONE|><|APPEND|>notes|late<|END|><|FOO|>", "<|ACTION|>a<|END|><|ACTION|>b<|END|>"],
    )
    log = table.turn("LOG")
    assert (log.ended, log.results) == ("DONE", [])
    assert "late" not in table.files.snapshot()["notes"]
    assert table.events == []
    assert table.turn("PLAN").action == "a"


def test_done_in_plan_is_refused_and_the_action_behind_it_counts(tmp_path: Path) -> None:
    reply = Table(tmp_path, ["<|DONE|><|ACTION|>noop<|END|>"]).turn("PLAN")
    assert reply.results == [["<|DONE|>", "DONE is not allowed in PLAN."]]
    assert (reply.ended, reply.action) == ("ACTION", "noop")


@pytest.mark.parametrize(
    ("phase", "text"),
    [
        ("LOG", "<|APPEND|>diary|x<|END|><|DONE|>"),
        ("LOG", "<|FOO|>x<|END|><|DONE|>"),
        ("PLAN", "<|SEARCH|>notes<|END|><|ACTION|>noop<|END|>"),
        ("PLAN", "<|APPEND|>notes|x<|END|><|ACTION|>noop<|END|>"),
    ],
)
def test_an_error_reaches_the_model_before_the_phase_ends(
    tmp_path: Path, phase: str, text: str
) -> None:
    budgets = Budgets(log_turns=2, plan_turns=2)
    table = Table(tmp_path, [text, text], budgets=budgets)
    first = table.turn(phase)
    assert first.ended == ""
    assert first.results[-1][1] == "Not yet: first see what went wrong above."
    # On the last turn there is no later: what the model decided counts.
    assert table.turn(phase).ended == {"LOG": "DONE", "PLAN": "ACTION"}[phase]


def test_an_empty_turn_is_answered_with_the_right_form(tmp_path: Path) -> None:
    table = Table(tmp_path, ["hm", "hm"])
    assert table.turn("LOG").results == [
        ["(no command)", "Your turn held no command. End LOG with <|DONE|>"]
    ]
    assert table.turn("PLAN").results == [
        ["(no command)", "Your turn held no command. End PLAN with <|ACTION|>action<|END|>"]
    ]


def test_a_fault_is_answered_in_its_place(tmp_path: Path) -> None:
    table = Table(tmp_path, ["<|FOO|>x<|END|> <|READ|>notes<|END|> <|SEARCH notes|>"])
    reply = table.turn("PLAN")
    assert [command for command, _ in reply.results] == [
        "<|FOO|>",
        "<|END|>",
        "<|READ|>notes<|END|>",
        "(fault)",
    ]
    assert "There is no command FOO" in reply.results[0][1]
    assert table.events == ["command_fault"] * 3


def test_a_refusal_of_memory_is_told_to_the_model(tmp_path: Path) -> None:
    small = FilesBackend(size_limit=30)
    table = Table(
        tmp_path, ["<|READ|>diary<|END|><|APPEND|>notes|a long line here<|END|>"], files=small
    )
    reply = table.turn("LOG")
    assert reply.results[0][1] == "There is no file 'diary'. Files: notes."
    assert reply.results[1][1].startswith("Memory is full (23 of 30 characters)")
    assert table.events == ["command_refused"] * 2
    assert table.commands == [("READ", False), ("APPEND", False)]


def test_repairs_are_counted(tmp_path: Path) -> None:
    table = Table(tmp_path, ["```\n<|read|>notes<|END>\n```", "<|ACTION|>noop<|END|>"])
    table.turn("PLAN")
    table.turn("PLAN")
    first, second = table.server.step.turns
    assert first["repairs"] == ["case", "pipe", "fence"]
    assert "repairs" not in second


# --- results ----------------------------------------------------------------------------------


def test_a_long_search_keeps_its_newest_lines(tmp_path: Path) -> None:
    files = FilesBackend(search_limit=1000)
    table = Table(tmp_path, ["<|SEARCH|>big|x<|END|>"], files=files)
    files.restore({"big": "\n".join(f"x{number:05} {'y' * 92}" for number in range(300))})
    ((_, result),) = table.turn("PLAN").results
    # 300 lines of 100 characters each, their ends included but for the last one's
    assert result.startswith("(9999 earlier characters not shown)\n")
    assert result.endswith("x00299 " + "y" * 92)
    assert len(result) == RESULT_LIMIT + len("(9999 earlier characters not shown)\n")


def test_a_read_is_cut_once_and_by_its_own_limit(tmp_path: Path) -> None:
    files = FilesBackend(read_limit=30_000)
    table = Table(tmp_path, ["<|READ|>big<|END|>"], files=files)
    files.restore({"big": "x" * 30_005})
    ((_, result),) = table.turn("PLAN").results
    assert result == "x" * 30_000 + "\n(5 more characters not shown)"


# --- budgets ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("phase", "turns"), [("LOG", 2), ("PLAN", 3)])
def test_a_spent_budget_ends_the_phase_with_an_event(
    tmp_path: Path, phase: str, turns: int
) -> None:
    table = Table(
        tmp_path, ["<|READ|>notes<|END|>"] * 5, budgets=Budgets(log_turns=2, plan_turns=3)
    )
    replies = [table.turn(phase) for _ in range(turns)]
    assert [reply.ended for reply in replies] == [""] * (turns - 1) + ["BUDGET"]
    assert replies[-1].action == ""
    assert table.events == [f"{phase.lower()}_budget_exhausted"]
    with pytest.raises(ScaffoldFailure, match=f"after {phase} ended") as failure:
        table.turn(phase)
    assert failure.value.kind == "protocol"
    assert len(table.asked) == turns


def test_an_unseen_read_spends_the_last_turn_too(tmp_path: Path) -> None:
    table = Table(
        tmp_path, ["<|READ|>notes<|END|><|ACTION|>do<|END|>"], budgets=Budgets(plan_turns=1)
    )
    reply = table.turn("PLAN")
    assert (reply.ended, reply.action) == ("BUDGET", "")
    assert table.events == ["plan_budget_exhausted"]


def test_every_step_has_its_own_budget(tmp_path: Path) -> None:
    table = Table(tmp_path, ["hm"] * 2, budgets=Budgets(plan_turns=1))
    assert table.turn("PLAN").ended == "BUDGET"
    table.server.begin_step(2)
    assert table.turn("PLAN").ended == "BUDGET"
    assert table.events == ["plan_budget_exhausted"]


# --- order of phases --------------------------------------------------------------------------


def test_the_first_step_has_no_log(tmp_path: Path) -> None:
    table = Table(tmp_path, ["<|DONE|>"])
    table.server.begin_step(0)
    with pytest.raises(ScaffoldFailure, match="LOG where there is none"):
        table.turn("LOG")
    assert table.asked == []


def test_there_is_no_way_back_from_plan_to_log(tmp_path: Path) -> None:
    table = Table(tmp_path, ["<|READ|>notes<|END|>", "<|DONE|>"])
    table.turn("PLAN")
    with pytest.raises(ScaffoldFailure, match="LOG where there is none"):
        table.turn("LOG")
    assert len(table.asked) == 1


@pytest.mark.parametrize(
    ("phase", "text"), [("LOG", "<|DONE|>"), ("PLAN", "<|ACTION|>noop<|END|>")]
)
def test_an_ended_phase_has_no_more_turns(tmp_path: Path, phase: str, text: str) -> None:
    table = Table(tmp_path, [text, text])
    table.turn(phase)
    with pytest.raises(ScaffoldFailure, match=f"after {phase} ended"):
        table.turn(phase)


# --- the hand-over ----------------------------------------------------------------------------


def test_the_specialist_serves_log_and_plan_until_it_is_ready(tmp_path: Path) -> None:
    table = Table(
        tmp_path,
        ["<|ACTION|>do<|END|>"],
        ["<|DONE|>", "<|READ|>notes<|END|>", "<|READY|>"],
    )
    ended = [table.turn(phase).ended for phase in ("LOG", "PLAN", "PLAN", "PLAN")]
    assert ended == ["DONE", "", "READY", "ACTION"]
    assert [role for role, _ in table.asked] == ["memory", "memory", "memory", "action"]
    assert table.server.step.action == "do"
    assert table.events == []
    assert table.server.memory_tokens == 3 * 15


def test_a_read_in_the_turn_of_ready_is_run(tmp_path: Path) -> None:
    table = Table(tmp_path, [], ["<|READ|>notes<|END|><|READY|>"])
    reply = table.turn("PLAN")
    assert reply.ended == "READY"
    assert reply.results == [["<|READ|>notes<|END|>", "water left\nstone right"]]


def test_a_specialist_that_tries_to_act_hands_over(tmp_path: Path) -> None:
    table = Table(tmp_path, ["<|ACTION|>do<|END|>"], ["<|ACTION|>sleep<|END|>"])
    reply = table.turn("PLAN")
    assert (reply.ended, reply.action) == ("READY", "")
    assert table.turn("PLAN").action == "do"


def test_a_specialist_whose_budget_ends_hands_over_with_an_event(tmp_path: Path) -> None:
    table = Table(
        tmp_path,
        ["<|ACTION|>do<|END|>"],
        ["<|READ|>notes<|END|>"] * 2,
        budgets=Budgets(plan_turns=2),
    )
    assert [table.turn("PLAN").ended for _ in range(3)] == ["", "READY", "ACTION"]
    assert table.events == ["consult_budget_exhausted"]
    assert [role for role, _ in table.asked] == ["memory", "memory", "action"]


@pytest.mark.parametrize(
    "text", ["hm", "<|READY|>", "<|READ|>notes<|END|>", "<|READ|>notes<|END|><|ACTION|>do<|END|>"]
)
def test_the_action_model_has_two_turns(tmp_path: Path, text: str) -> None:
    table = Table(tmp_path, [text] * 9, ["<|READY|>"], budgets=Budgets(plan_turns=1))
    assert [table.turn("PLAN").ended for _ in range(3)] == ["READY", "", "BUDGET"]
    assert table.events[-1] == "plan_budget_exhausted"
    assert table.server.step.action == ""
    with pytest.raises(ScaffoldFailure):
        table.turn("PLAN")


def test_with_one_model_there_is_nobody_to_hand_over_to(tmp_path: Path) -> None:
    table = Table(tmp_path, ["<|READY|>", "<|ACTION|>do<|END|>"])
    reply = table.turn("PLAN")
    assert reply.ended == ""
    assert reply.results == [["<|READY|>", "You are the action model: end with an action."]]
    assert table.turn("PLAN").ended == "ACTION"


# --- the conversation -------------------------------------------------------------------------


def test_a_turn_builds_on_what_was_said(tmp_path: Path) -> None:
    table = Table(tmp_path, ["one", "two"])
    table.turn("PLAN")
    more: list[dict[str, Any]] = [
        {"role": "assistant", "content": "one"},
        {"role": "user", "content": "go on"},
    ]
    table.server.serve_turn(TurnRequest("PLAN", 2, more))
    assert [message["content"] for message in table.asked[1][1]] == ["rules", "now", "one", "go on"]


@pytest.mark.parametrize(("kept", "says"), [(1, "never sent"), (MAX_MESSAGES, "never sent")])
def test_a_turn_may_not_build_on_what_was_never_said(tmp_path: Path, kept: int, says: str) -> None:
    table = Table(tmp_path, ["one"])
    with pytest.raises(ScaffoldFailure, match=says):
        table.turn("PLAN", kept)
    assert table.asked == []


def test_a_conversation_has_an_end(tmp_path: Path) -> None:
    table = Table(tmp_path, ["one"])
    long: list[dict[str, Any]] = [{"role": "user", "content": "x"}] * (MAX_MESSAGES - 1)
    table.server.serve_turn(TurnRequest("PLAN", 0, long))
    with pytest.raises(ScaffoldFailure, match="over 200 messages"):
        table.turn("PLAN", MAX_MESSAGES - 1)
    assert len(table.asked) == 1


def test_half_a_letter_at_the_end_of_an_answer_is_replaced(tmp_path: Path) -> None:
    table = Table(tmp_path, ["<|APPEND|>notes|smile \ud83d<|END|><|DONE|>"])
    reply = table.turn("LOG")
    assert reply.completion == "<|APPEND|>notes|smile ?<|END|><|DONE|>"
    assert table.files.snapshot()["notes"].endswith("smile ?\n")


# --- failures of the model --------------------------------------------------------------------


def test_a_model_that_fails_is_no_fault_of_the_scaffold(tmp_path: Path) -> None:
    table = Table(tmp_path)
    table.failure = ModelTimeout("too slow")
    with pytest.raises(ModelTimeout):
        table.turn("PLAN")


def test_a_prompt_that_is_too_long_is(tmp_path: Path) -> None:
    table = Table(tmp_path)
    table.failure = PromptTooLong("9000 tokens and 8192 fit.")
    with pytest.raises(ScaffoldFailure, match="9000 tokens") as failure:
        table.turn("PLAN")
    assert failure.value.kind == "prompt"


def test_a_rejected_request_is_the_scaffolds_once_the_model_has_answered(tmp_path: Path) -> None:
    table = Table(tmp_path, ["hm"])
    table.failure = RequestRejected("400 bad request")
    with pytest.raises(RequestRejected):
        table.turn("PLAN")
    table.server.begin_step(2)
    table.failure = None
    table.turn("PLAN")
    table.failure = RequestRejected("400 bad request")
    with pytest.raises(ScaffoldFailure, match="400 bad request"):
        table.turn("PLAN")


# --- the scaffold's own commands and hooks ----------------------------------------------------


def test_an_own_command_runs_in_the_sandbox_and_reaches_memory(tmp_path: Path) -> None:
    table = Table(
        tmp_path,
        [
            "<|UPSERT|>notes|iron|at (1, 2)<|END|><|UPSERT|>notes|iron|at (1, 2)<|END|>"
            "<|LATEST|>notes<|END|><|DONE|>"
        ],
    )
    reply = table.turn("LOG")
    assert [result for _, result in reply.results] == ["saved", "saved", "iron: at (1, 2)"]
    (turn,) = table.server.step.turns
    assert [(one["name"], one["ok"], one["novel"]) for one in turn["commands"]] == [
        ("UPSERT", True, True),
        ("UPSERT", True, False),
        ("LATEST", True, None),
    ]


def test_an_own_command_that_says_it_only_reads_may_not_write(tmp_path: Path) -> None:
    """Not even one that takes the name of a hook's access to memory."""
    for phase in ("LOG", "PLAN"):
        table = Table(tmp_path, ["<|PUT|>notes|gone<|END|>"])
        before = table.files.snapshot()
        reply = table.turn(phase)
        assert reply.results == [
            [
                "<|PUT|>notes|gone<|END|>",
                "A command registered without writes=True may only read.",
            ]
        ]
        assert table.files.snapshot() == before
        assert table.commands == [("PUT", False)]


def test_an_own_commands_refusal_is_a_result(tmp_path: Path) -> None:
    reply = Table(tmp_path, ["<|LATEST|>diary<|END|>"]).turn("PLAN")
    assert reply.results == [["<|LATEST|>diary<|END|>", "There is no file 'diary'. Files: notes."]]


def test_hooks_may_write_before_plan_and_only_read_from_then_on(tmp_path: Path) -> None:
    table = Table(tmp_path, ["<|DONE|>", "<|READ|>notes<|END|>", "<|ACTION|>do<|END|>"])
    table.memory("ADD", "notes", "before LOG")
    table.turn("LOG")
    table.memory("PUT", "status", "after LOG")
    table.turn("PLAN")
    for _ in range(2):
        assert table.memory("TEXT", "status") == "after LOG"
        assert table.memory("FILES") == "notes\nstatus"
        for operation in ("PUT", "ADD"):
            with pytest.raises(MemoryRefusal, match="read in PLAN, not written"):
                table.memory(operation, "notes", "x")
        if not table.server.step.action:
            table.turn("PLAN")
    table.server.begin_step(2)
    table.memory("ADD", "notes", "next step")
    assert table.files.snapshot()["notes"].endswith("before LOG\nnext step\n")


@pytest.mark.parametrize("operation", ["SEARCH", "APPEND", "WRITE", "restore", "x" * 500])
def test_a_hook_has_four_operations(tmp_path: Path, operation: str) -> None:
    with pytest.raises(MemoryRefusal, match="Memory has no operation") as refusal:
        Table(tmp_path).memory(operation, "notes", "x")
    assert len(str(refusal.value)) < 100


def test_what_hooks_write_is_recorded_and_is_no_choice_of_the_model(tmp_path: Path) -> None:
    table = Table(tmp_path)
    table.memory("TEXT", "notes")
    table.memory("ADD", "notes", "by code")
    writes = table.server.step.writes
    assert [(one["by"], one["operation"], one["file"]) for one in writes] == [
        ("hook", "ADD", "notes")
    ]
    assert table.commands == []


@pytest.mark.parametrize("where", ["one step", "the episode"])
def test_what_hooks_write_has_an_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    name = "HOOK_CHARACTERS_PER_" + where.split()[1].upper()
    monkeypatch.setattr(turns, name, 30)
    table = Table(tmp_path)
    table.memory("PUT", "notes", "x" * 10)  # 15 characters with the name
    table.memory("TEXT", "notes")  # reading costs nothing
    table.memory("PUT", "notes", "y" * 10)
    table.server.begin_step(2)
    if where == "one step":
        table.memory("PUT", "notes", "z" * 25)  # a new step: 30 again
    with pytest.raises(ScaffoldFailure, match=f"over 30 characters to memory in {where}") as error:
        table.memory("ADD", "notes", "")
    assert error.value.kind == "protocol"
