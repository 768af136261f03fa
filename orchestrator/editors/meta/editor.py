"""The conversation: a model reads, changes and hands in, one tool call after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agents.manifest import Budgets
from orchestrator.editors.base import Bench, Brief, Draft
from orchestrator.editors.meta.evidence import Evidence
from orchestrator.editors.meta.past import Past
from orchestrator.editors.meta.toolbox import Toolbox
from orchestrator.editors.meta.transcript import Transcript
from orchestrator.editors.meta.workshop import Workshop
from orchestrator.episodes.spec import EpisodeResult
from orchestrator.models.base import Block, Completion, Question, ToolMessage
from orchestrator.models.broker import Broker
from orchestrator.models.errors import PromptTooLong

INSTRUCTIONS = Path(__file__).with_name("instructions.md")

NUDGES = 3
"""Answers without a tool call before the conversation is ended."""

KEPT_AFTER_TRIM = 0.5
"""What of the allowed characters is left when old results are taken out."""

REMOVED = (
    "(an earlier result of {size:,} characters was taken out to make room: call again if needed)"
)
_GO_ON = "Your answer was cut off for its length. Go on, with shorter calls."
_NUDGE = "Use the tools, and end with submit or give_up."
_LAST_TURNS = "({left} turns are left: submit or give up in time.)"
_WARN_AT = 5

MakeBroker = Callable[[str], AbstractContextManager[Broker]]
"""Opens the broker of a conversation, by a name that stays the same when a night goes on."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a conversation may become.

    Args:
        turns: Answers of the model.
        characters: Characters of the conversation that are kept; older results of tools are taken
            out when it grows past them.
    """

    turns: int = 80
    characters: int = 400_000


class MetaEditor:
    """Revises a scaffold by a conversation with a language model.

    Args:
        name: Provider and model, for commits: ``anthropic:<model>``.
        make_broker: Opens the broker of a conversation.
        artifacts: The artifacts folder, for trajectories.
        transcripts: Gives the place of a candidate's transcript, by night and number.
        patience: How long a conversation may become.
        say: Told in a few words what the editor does.
    """

    continues = True

    def __init__(
        self,
        name: str,
        make_broker: MakeBroker,
        artifacts: Path,
        transcripts: Callable[[str, int], Path],
        *,
        patience: Patience | None = None,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.name = name
        self._make_broker = make_broker
        self._artifacts = artifacts
        self._transcripts = transcripts
        self._patience = patience or Patience()
        self._say = say

    def propose(self, brief: Brief, bench: Bench) -> Draft | None:
        """Hold one conversation.

        Raises:
            ModelFailure: The model could not be reached.
            BudgetExhausted: A limit leaves no room for the next call.
        """
        evidence = Evidence(self._artifacts)
        seed_memory = seed_files(brief.files)
        for number, episode in enumerate(_best_first(brief.episodes), 1):
            evidence.add(f"e{number}", episode, seed_memory)
        failed = brief.failed
        if failed is not None:
            for number, episode in enumerate(_best_first(failed.episodes), 1):
                evidence.add(f"r{number}", episode, seed_files(failed.files))
        tried = 0

        def show(episode: EpisodeResult, files: Mapping[str, bytes]) -> str:
            nonlocal tried
            tried += 1
            evidence.add(f"try{tried}", episode, seed_files(files))
            return f"try{tried}"

        workshop = Workshop(brief.files, bench, self.name, show, failed)
        past = Past(brief, bench)
        toolbox = Toolbox([*evidence.tools(), *past.tools(), *workshop.tools()])
        conversation = Conversation(
            toolbox,
            _opening(brief, past),
            Transcript(self._transcripts(brief.night, brief.number)),
            self._patience,
        )
        with self._make_broker(_name(brief.night, brief.number)) as broker:
            conversation.hold(broker, lambda: workshop.over, self._say)
            spent = broker.metrics["meta"]
        if workshop.draft is None:
            return None
        proposal = replace(
            workshop.draft.proposal,
            tokens=spent.input_tokens + spent.output_tokens,
            cost=float(spent.money_usd),
        )
        return replace(workshop.draft, proposal=proposal)

    def settle(self, night: str, number: int) -> None:
        """Delete the answers that were kept to take the conversation up again."""
        with self._make_broker(_name(night, number)) as broker:
            broker.finish()


class Conversation:
    """Messages to and fro until somebody says that it is over.

    Args:
        toolbox: What the model may call.
        opening: The first message.
        transcript: Where it is written down.
        patience: How long it may become.
    """

    def __init__(
        self, toolbox: Toolbox, opening: str, transcript: Transcript, patience: Patience
    ) -> None:
        self._toolbox = toolbox
        self._transcript = transcript
        self._patience = patience
        self._system = INSTRUCTIONS.read_text(encoding="utf-8")
        self._messages: list[ToolMessage] = []
        self._add({"role": "user", "content": opening})

    def hold(self, broker: Broker, over: Callable[[], bool], say: Callable[[str], None]) -> None:
        """Ask and carry out, turn by turn."""
        nudges = 0
        for turn in range(1, self._patience.turns + 1):
            answer = self._ask(broker)
            said: list[Block] = list(answer.blocks) or [
                {"type": "text", "text": answer.text or "…"}
            ]
            self._add({"role": "assistant", "content": said}, answer)
            calls = [block for block in said if block["type"] == "tool_use"]
            nudges = 0 if calls else nudges + 1
            if nudges > NUDGES:
                return
            results = []
            for call in calls:
                say(_in_words(call))
                results.append(self._toolbox.carry_out(call))
            if over():
                self._add({"role": "user", "content": results})
                return
            self._add({"role": "user", "content": [*results, *self._remarks(answer, calls, turn)]})

    def _remarks(self, answer: Completion, calls: list[Block], turn: int) -> list[Block]:
        left = self._patience.turns - turn
        remarks = []
        if answer.finish_reason == "length":
            remarks.append(_GO_ON)
        elif not calls:
            remarks.append(_NUDGE)
        if left <= _WARN_AT:
            remarks.append(_LAST_TURNS.format(left=left))
        return [{"type": "text", "text": remark} for remark in remarks]

    def _ask(self, broker: Broker) -> Completion:
        """Ask; a conversation that the model cannot take is shortened once."""
        self._make_room(self._patience.characters)
        try:
            return broker.converse("meta", self._question())
        except PromptTooLong:
            if not self._make_room(int(_size(self._messages) * KEPT_AFTER_TRIM)):
                raise
            return broker.converse("meta", self._question())

    def _question(self) -> Question:
        return Question(self._system, list(self._messages), self._toolbox.specs)

    def _add(self, message: ToolMessage, answer: Completion | None = None) -> None:
        self._messages.append(message)
        self._transcript.add(message, answer)

    def _make_room(self, most: int) -> bool:
        """Take out the oldest results of tools once there are too many characters.

        Well below the limit at once: each time the server's cache of the conversation is lost.

        Returns:
            Whether anything was taken out.
        """
        size = _size(self._messages)
        if size <= most:
            return False
        goal, before = most * KEPT_AFTER_TRIM, size
        for number, message in enumerate(self._messages[:-1]):
            if size <= goal:
                break
            content = message["content"]
            if message["role"] == "user" and isinstance(content, list):
                shortened = [_without_result(block) for block in content]
                size -= _length(content) - _length(shortened)
                self._messages[number] = {"role": "user", "content": shortened}
        return size < before


def _name(night: str, number: int) -> str:
    return f"{night}/editor/{number}"


def seed_files(files: Mapping[str, bytes]) -> dict[str, str]:
    """The memory files that a scaffold begins with, by name."""
    return {
        Path(path).stem: data.decode("utf-8", "replace")
        for path, data in sorted(files.items())
        if path.startswith("memory/")
    }


def _opening(brief: Brief, past: Past) -> str:
    tried = past.tried() or "- nothing yet"
    budgets = ", ".join(Budgets.model_fields)
    siblings = (
        f" It is number {brief.place} of up to {brief.proposals} that are made from this scaffold"
        " before any is judged: take up another weakness than those below that are not judged yet."
        if brief.proposals > 1
        else ""
    )
    return (
        f"The game: {brief.environment}. This is candidate {brief.number} of the night.{siblings}"
        f" The scaffold played {len(brief.episodes)} episodes that you can read.{_lost(brief)}\n\n"
        f"Tried so far:\n{tried}\n\n"
        f"scaffold.toml may set its budgets ({budgets}); the host keeps them under ceilings of its"
        " own, whatever stands there."
    )


def _lost(brief: Brief) -> str:
    failed = brief.failed
    if failed is None:
        return ""
    return (
        f"\n\n{failed.view.name} ({failed.view.subject}) was rejected against it, and played the"
        f" same games: r1 to r{len(failed.episodes)}, its best first. If its idea was right and"
        " only carried out badly, you may go on from it, once: take_up puts its files into the"
        " draft."
    )


def _best_first(episodes: Sequence[EpisodeResult]) -> list[EpisodeResult]:
    return sorted(episodes, key=lambda one: (-one.progression, one.key))


def _in_words(call: Block) -> str:
    given: Any = call.get("input")
    shown = ""
    if isinstance(given, dict):
        shown = ", ".join(
            f"{name} {str(value)[:40]!r}" if isinstance(value, str) else f"{name} {value}"
            for name, value in given.items()
        )
    return f"{call['name']}({shown[:120]})"


def _without_result(block: Block) -> Block:
    content = block.get("content")
    if block["type"] != "tool_result" or not isinstance(content, str):
        return block
    stub = REMOVED.format(size=len(content))
    return {**block, "content": stub} if len(content) > len(stub) else block


def _length(content: str | list[Block]) -> int:
    if isinstance(content, str):
        return len(content)
    return sum(len(str(block)) for block in content)


def _size(messages: list[ToolMessage]) -> int:
    return sum(_length(message["content"]) for message in messages)
