"""Model turns, with every rule of the inner loop enforced on the host.

The sandbox composes conversations and asks for turns. Here the model of the phase's role is
called, its completion is read by the one grammar, memory commands are carried out, and everything
is recorded. What a scaffold may not do (write in PLAN, act in LOG, outrun its budget) is decided
here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from agents.grammar import BUILT_IN_BY_NAME, LOG, PLAN, Command, CommandSpec, Fault, parse
from agents.manifest import Budgets
from agents.memory.base import MemoryBackend, MemoryRefusal
from agents.messages import (
    MAX_MESSAGES,
    CommandCall,
    CommandReply,
    MemoryRequest,
    TurnReply,
    TurnRequest,
)
from orchestrator.episodes.trajectory import TrajectoryWriter
from orchestrator.models.base import Completion, Message
from orchestrator.models.config import Role
from orchestrator.models.errors import PromptTooLong, RequestRejected
from orchestrator.sandbox.base import ScaffoldFailure

CallModel = Callable[[Role, Sequence[Message]], Completion]
CallScaffold = Callable[[CommandCall], CommandReply]

ACTION_TURNS = 2
"""Turns the action model has to commit an action after the hand-over."""

HOOK_READS = frozenset({"FILES", "TEXT"})
HOOK_WRITES = frozenset({"PUT", "ADD"})
RESULT_LIMIT = 20_000
"""Characters that the model gets to see of a search's or an own command's result."""

HOOK_CHARACTERS_PER_STEP = 2_000_000
HOOK_CHARACTERS_PER_EPISODE = 100_000_000
"""Characters that code may write: each stands in the trajectory, whatever memory keeps of it."""

FAILED = "FAILED"
"""How a turn is recorded in which one of the scaffold's own commands broke."""

_CUT_BY_MEMORY = frozenset({"READ", "TAIL"})
_READ_FIRST = "Not yet: first read the results, then act."
_MEND_FIRST = "Not yet: first see what went wrong above."


@dataclass(slots=True)
class StepState:
    """Where a step stands."""

    number: int
    phase: str = ""
    used: dict[str, int] = field(default_factory=lambda: {LOG: 0, PLAN: 0})
    ended: set[str] = field(default_factory=set)
    handed_over: bool = False
    action_turns: int = 0
    action: str = ""
    turns: list[dict[str, Any]] = field(default_factory=list)
    writes: list[dict[str, Any]] = field(default_factory=list)
    hook_characters: int = 0
    events: list[str] = field(default_factory=list)


class TurnServer:
    """Serves the turns and memory requests of one episode.

    Args:
        call_model: Asks the model of a role.
        call_scaffold: Has the sandbox carry out one of the scaffold's own commands.
        memory: The memory backend.
        table: Every command there is, by name.
        budgets: The scaffold's budgets under the workspace's ceilings.
        handover: Whether a memory specialist plays the memory part of each step.
        trajectory: Where everything is recorded.
    """

    def __init__(
        self,
        *,
        call_model: CallModel,
        call_scaffold: CallScaffold,
        memory: MemoryBackend,
        table: Mapping[str, CommandSpec],
        budgets: Budgets,
        handover: bool,
        trajectory: TrajectoryWriter,
    ) -> None:
        self._call_model = call_model
        self._call_scaffold = call_scaffold
        self._memory = memory
        self._table = table
        self._budgets = budgets
        self._handover = handover
        self._trajectory = trajectory
        self._novelty: list[bool] | None = None
        self._may_write = True
        self._conversation: list[Message] = []
        self._answered = False
        self._hook_characters = 0
        self.memory_tokens = 0
        self.step = StepState(0)

    def begin_step(self, number: int) -> None:
        """Open step `number` (from 0)."""
        self.step = StepState(number)
        self._may_write = True

    def serve_turn(self, request: TurnRequest) -> TurnReply:
        """One model turn: call, parse, enforce, carry out, record.

        Raises:
            ScaffoldFailure: The scaffold asked for a turn it may not have.
            ModelFailure: The model could not answer; the episode is missing.
        """
        phase = request.phase
        self._enter(phase)
        role = self._role(phase)
        self._converse(request)
        size = sum(len(message["content"]) for message in self._conversation)
        if size > self._budgets.prompt_characters:
            raise ScaffoldFailure(
                "prompt",
                f"A prompt of {size} characters: {self._budgets.prompt_characters} are allowed.",
                mend="Show less, or raise prompt_characters in scaffold.toml and slowwave.toml.",
            )
        completion = self._ask(role)
        if phase == LOG or (self._handover and not self.step.handed_over):
            self.memory_tokens += completion.usage.total
        parsed = parse(completion.text, self._table)
        results: list[list[str]] = []
        commands: list[dict[str, Any]] = []
        ended = FAILED
        try:
            ended = self._carry_out(phase, parsed.items, results, commands)
            ended = self._close_turn(phase, ended, results)
        finally:
            self._record(request, role, completion, results, commands, ended, parsed.repairs)
        return TurnReply(completion.text, results, ended, self.step.action)

    def serve_memory(self, request: MemoryRequest) -> str:
        """One memory access by a hook or by a command of the scaffold.

        Raises:
            MemoryRefusal: It is not allowed here, or the backend refuses it.
            ScaffoldFailure: Hooks have written more than can be recorded.
        """
        operation = request.operation
        if operation in HOOK_WRITES:
            if not self._may_write and self._novelty is not None:
                raise MemoryRefusal("A command registered without writes=True may only read.")
            if not self._may_write:
                raise MemoryRefusal("Memory may be read in PLAN, not written.")
        elif operation not in HOOK_READS:
            raise MemoryRefusal(f"Memory has no operation {operation[:40]}.")
        result = self._memory.run(operation, request.arguments)
        if self._novelty is not None and result.novel is not None:
            self._novelty.append(result.novel)
        if operation in HOOK_WRITES:
            self._count_characters(request)
            by = "hook" if self._novelty is None else "command"
            self._record_write(by, operation, request.arguments)
        return result.text

    # --- the model ----------------------------------------------------------------------------

    def _converse(self, request: TurnRequest) -> None:
        """Bring the conversation to where the request wants it."""
        conversation = self._conversation
        if request.kept > len(conversation):
            raise ScaffoldFailure("protocol", "A turn builds on messages that were never sent.")
        del conversation[request.kept :]
        conversation.extend(request.messages)  # type: ignore[arg-type]
        if len(conversation) > MAX_MESSAGES:
            what = f"A conversation of the scaffold has over {MAX_MESSAGES} messages."
            raise ScaffoldFailure("protocol", what)

    def _ask(self, role: Role) -> Completion:
        """Ask the model; a prompt that it cannot take is the scaffold's failure."""
        try:
            completion = self._call_model(role, self._conversation)
        except (PromptTooLong, RequestRejected) as error:
            # A first request may be refused because of the configuration: that ends the run.
            if isinstance(error, RequestRejected) and not self._answered:
                raise
            raise ScaffoldFailure("prompt", f"The model cannot take the prompt: {error}") from error
        self._answered = True
        # Half of a surrogate pair, as a cut answer may end with, is no text.
        text = completion.text.encode("utf-8", "replace").decode("utf-8")
        return completion if text == completion.text else replace(completion, text=text)

    # --- phases and budgets -----------------------------------------------------------------

    def _enter(self, phase: str) -> None:
        step = self.step
        if phase in step.ended:
            raise ScaffoldFailure("protocol", f"The scaffold asked for a turn after {phase} ended.")
        if phase == LOG and (step.number == 0 or step.phase == PLAN):
            raise ScaffoldFailure("protocol", "The scaffold asked for LOG where there is none.")
        step.phase = phase
        self._may_write = phase == LOG
        step.used[phase] += 1
        step.action_turns += step.handed_over

    def _role(self, phase: str) -> Role:
        if not self._handover:
            return "action"
        return "action" if phase == PLAN and self.step.handed_over else "memory"

    def _close_turn(self, phase: str, ended: str, results: list[list[str]]) -> str:
        """Apply the budget, and the hand-over where there are two models."""
        step = self.step
        if not ended and self._is_last_turn(phase):
            if phase == PLAN and self._handover and not step.handed_over:
                ended = "READY"
                step.events.append("consult_budget_exhausted")
            else:
                ended = "BUDGET"
                step.events.append(f"{phase.lower()}_budget_exhausted")
        if ended == "READY":
            step.handed_over = True
        elif ended:
            step.ended.add(phase)
            self._may_write = phase == LOG
        elif not results:
            results.append(["(no command)", self._reminder(phase)])
        return ended

    def _is_last_turn(self, phase: str) -> bool:
        step = self.step
        if step.handed_over:
            return step.action_turns >= ACTION_TURNS
        limit = self._budgets.log_turns if phase == LOG else self._budgets.plan_turns
        return step.used[phase] >= limit

    def _reminder(self, phase: str) -> str:
        ending = "<|DONE|>" if phase == LOG else "<|ACTION|>action<|END|>"
        return f"Your turn held no command. End {phase} with {ending}"

    # --- commands ---------------------------------------------------------------------------

    def _carry_out(
        self,
        phase: str,
        items: Sequence[Command | Fault],
        results: list[list[str]],
        commands: list[dict[str, Any]],
    ) -> str:
        """Run a turn's commands in order; returns how the phase ended, or ``""``."""
        reads = any(self._is_read(item) for item in items)
        wrong = False
        for item in items:
            if isinstance(item, Fault):
                self.step.events.append("command_fault")
                results.append([f"<|{item.name}|>" if item.name else "(fault)", item.message])
                wrong = True
                continue
            spec = self._table[item.name]
            if phase not in spec.phases or (phase == PLAN and spec.writes):
                wrong |= not spec.ends
                self._refuse(item, f"{item.name} is not allowed in {phase}.", results)
            elif not spec.ends:
                wrong |= not self._run(item, spec, phase, results, commands)
            elif item.name == "ACTION" and reads:
                # The model has not seen what it asked for: it decides again with the results.
                results.append([_written(item), _READ_FIRST])
            elif item.name == "READY" and (self.step.handed_over or not self._handover):
                self._refuse(item, "You are the action model: end with an action.", results)
            elif wrong and not self._is_last_turn(phase):
                # An error is a message to the model, which an ended phase would never show.
                results.append([_written(item), _MEND_FIRST])
            else:
                return self._end(item)
        return ""

    def _refuse(self, item: Command, why: str, results: list[list[str]]) -> None:
        self.step.events.append("command_refused")
        results.append([_written(item), why])

    def _is_read(self, item: Command | Fault) -> bool:
        spec = self._table[item.name] if isinstance(item, Command) else None
        return spec is not None and not (spec.ends or spec.writes)

    def _end(self, item: Command) -> str:
        if item.name == "ACTION":
            if self._handover and not self.step.handed_over:
                return "READY"
            self.step.action = item.arguments[0]
        return item.name

    def _run(
        self,
        item: Command,
        spec: CommandSpec,
        phase: str,
        results: list[list[str]],
        commands: list[dict[str, Any]],
    ) -> bool:
        """Carry out one memory command; returns whether it could be."""
        ok, matches, novel = True, None, None
        try:
            if item.name in BUILT_IN_BY_NAME:
                result = self._memory.run(item.name, item.arguments)
                text, matches, novel = result.text, result.matches, result.novel
                if spec.writes:
                    self._record_write("model", item.name, item.arguments)
            else:
                text, novel, ok = self._run_own(item, spec)
        except MemoryRefusal as refusal:
            ok, text = False, str(refusal)
        if not ok:
            self.step.events.append("command_refused")
        results.append([_written(item), text if item.name in _CUT_BY_MEMORY else _cut(item, text)])
        commands.append(
            {"name": item.name, "phase": phase, "ok": ok, "matches": matches, "novel": novel}
        )
        return ok

    def _run_own(self, item: Command, spec: CommandSpec) -> tuple[str, bool | None, bool]:
        """Have the sandbox run a command of the scaffold, watching what it does to memory."""
        self._novelty = []
        before, self._may_write = self._may_write, spec.writes
        try:
            reply = self._call_scaffold(CommandCall(item.name, list(item.arguments)))
            novel = any(self._novelty) if spec.writes and reply.ok else None
        finally:
            self._novelty = None
            self._may_write = before
        return reply.text, novel, reply.ok

    # --- recording --------------------------------------------------------------------------

    def _count_characters(self, request: MemoryRequest) -> None:
        size = sum(map(len, request.arguments))
        self.step.hook_characters += size
        self._hook_characters += size
        for used, limit, where in (
            (self.step.hook_characters, HOOK_CHARACTERS_PER_STEP, "one step"),
            (self._hook_characters, HOOK_CHARACTERS_PER_EPISODE, "the episode"),
        ):
            if used > limit:
                raise ScaffoldFailure(
                    "protocol",
                    f"The hooks wrote over {limit} characters to memory in {where}.",
                    mend="Have them write less or more seldom.",
                )

    def _record_write(self, by: str, operation: str, arguments: Sequence[str]) -> None:
        """Put down what was written, in order, so that memory can be had as it was at any step."""
        file, *texts = arguments
        numbers = [self._trajectory.text(text) for text in texts]
        self.step.writes.append({"by": by, "operation": operation, "file": file, "texts": numbers})

    def _record(
        self,
        request: TurnRequest,
        role: str,
        completion: Completion,
        results: list[list[str]],
        commands: list[dict[str, Any]],
        ended: str,
        repairs: Sequence[str],
    ) -> None:
        number = self._trajectory.text
        # A step's first turn is written whole, so that a step can be read without those before.
        kept = request.kept if self.step.turns else 0
        new = self._conversation[kept:]
        record: dict[str, Any] = {
            "phase": request.phase,
            "role": role,
            "kept": kept,
            "new": [[item["role"], number(item["content"])] for item in new],
            "completion": number(completion.text),
            "results": [[command, number(text)] for command, text in results],
            "commands": commands,
            "ended": ended,
        }
        if repairs:
            record["repairs"] = list(repairs)
        if completion.finish_reason != "stop":
            record["finish_reason"] = completion.finish_reason
        self.step.turns.append(record)


def _cut(command: Command, text: str) -> str:
    """A result that is not too long for a model; a search keeps its end, the newest lines."""
    missing = len(text) - RESULT_LIMIT
    if missing <= 0:
        return text
    if command.name == "SEARCH":
        return f"({missing} earlier characters not shown)\n{text[missing:]}"
    return f"{text[:RESULT_LIMIT]}\n({missing} more characters not shown)"


def _written(command: Command) -> str:
    if not command.arguments:
        return f"<|{command.name}|>"
    return f"<|{command.name}|>{'|'.join(command.arguments)}<|END|>"
