"""Play one episode: the host's side of the channel, from reset to result.

The environment, its seed, the score, the memory and the model stay here; the sandbox gets texts
and gives an action. A failure of the scaffold ends the episode with the score it had; a failure of
the machinery (`InfrastructureError`) makes the episode missing.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents.grammar import BUILT_IN, CommandSpec, command_table
from agents.memory.base import MemoryBackend, MemoryRefusal
from agents.messages import (
    Act,
    CommandCall,
    CommandReply,
    FromHost,
    MemoryReply,
    MemoryRequest,
    Observe,
    Ready,
    Start,
    Stop,
    TurnRequest,
)
from agents.messages import ScaffoldFault as FaultMessage
from envs.base import Environment, Observation
from orchestrator.episodes.metrics import MetricsCounter
from orchestrator.episodes.spec import EpisodeSpec
from orchestrator.episodes.trajectory import TrajectoryWriter
from orchestrator.episodes.turns import CallModel, TurnServer
from orchestrator.sandbox.base import Sandbox, SandboxLimits, ScaffoldFailure, Session

MESSAGES_PER_STEP = 2_000
"""Requests one step may make; a flood beyond them is the scaffold's failure."""

STOP_SECONDS = 1.0
"""How long it is tried to tell the sandbox that the episode is over."""

STEP_LIMIT = "step_limit"
WORDS_KEPT = 4_000
"""Characters kept of what the sandbox says for people."""


@dataclass(frozen=True, slots=True)
class Cast:
    """Everything an episode is played with.

    Attributes:
        environment: The game.
        sandbox: Where the scaffold's code runs.
        limits: What the sandbox may use.
        scaffold: Folder with the scaffold.
        seed_memory: The scaffold's seed files by name.
        options: The scaffold's ``[options]``.
        memory: The memory backend.
        handover: Whether a memory specialist serves the memory role.
        call_model: Asks the model of a role.
        on_step: Told after each step how many were played.
    """

    environment: Environment
    sandbox: Sandbox
    limits: SandboxLimits
    scaffold: Path
    seed_memory: dict[str, str]
    options: dict[str, Any]
    memory: MemoryBackend
    handover: bool
    call_model: CallModel
    on_step: Callable[[int], None] | None = None


@dataclass(frozen=True, slots=True)
class Played:
    """What came of it; see `orchestrator.episodes.spec.EpisodeResult` for the fields."""

    steps: int
    progression: float
    outcome: str
    digest: str
    metrics: dict[str, float | None]
    details: dict[str, object]
    seconds: float


def play(spec: EpisodeSpec, cast: Cast, trajectory: TrajectoryWriter) -> Played:
    """Play the episode and record it.

    Raises:
        InfrastructureError: The machinery failed; the trajectory is marked incomplete.
    """
    started = time.monotonic()
    try:
        session = cast.sandbox.start(cast.scaffold, cast.limits)
        try:
            return _Episode(spec, cast, trajectory, session).run(started)
        finally:
            session.close()
    except BaseException as error:
        trajectory.abandon(f"{type(error).__name__}: {error}")
        raise


class _Episode:
    """One episode under way."""

    def __init__(
        self, spec: EpisodeSpec, cast: Cast, trajectory: TrajectoryWriter, session: Session
    ) -> None:
        self._spec = spec
        self._cast = cast
        self._trajectory = trajectory
        self._session = session
        self._left = cast.limits.start_seconds
        self._episode_left = cast.limits.episode_seconds
        self._requests = 0
        self._turns: TurnServer | None = None
        self._counter = MetricsCounter(cast.environment.idle_actions)
        self._steps = 0
        self._observation = Observation("")
        self._progression = self._told = 0.0
        self._outcome = ""
        self._fault = ""

    def run(self, started: float) -> Played:
        """From reset to the end."""
        environment, memory = self._cast.environment, self._cast.memory
        self._observation = environment.reset(self._spec.seed)
        size = 0
        try:
            size = self._begin_memory()
            self._turns = self._open()
            self._play_steps()
        except ScaffoldFailure as failure:
            self._outcome = f"scaffold_{failure.kind}"
            self._fault = _words(str(failure))
        memory.end_episode(self._outcome)
        progression = environment.progression
        last = self._trajectory.text(self._observation.text)
        metrics = self._counter.finish(
            last_seen=self._observation.compared,
            progression=progression,
            growth=memory.stats().characters - size,
            memory_tokens=self._turns.memory_tokens if self._turns else 0,
        )
        details: dict[str, object] = dict(environment.details())
        if self._fault:
            details["fault"] = self._fault
        digest = self._trajectory.finish(
            progression=progression,
            last_observation=last,
            outcome=self._outcome,
            steps=self._steps,
            details=details,
            metrics=metrics,
            memory=memory.snapshot(),
            unfinished=self._unfinished(),
        )
        seconds = time.monotonic() - started
        return Played(self._steps, progression, self._outcome, digest, metrics, details, seconds)

    def _begin_memory(self) -> int:
        """Fill memory with the seed files; returns its size."""
        memory = self._cast.memory
        try:
            memory.begin_episode(self._cast.seed_memory)
        except MemoryRefusal as refusal:
            memory.begin_episode({})
            raise ScaffoldFailure(
                "fault", f"The seed files of memory cannot be taken: {refusal}"
            ) from None
        return memory.stats().characters

    def _unfinished(self) -> dict[str, Any] | None:
        """The turns of the step in which the scaffold failed; ``None`` without any."""
        step = self._turns.step if self._turns else None
        if step is None or step.number < self._steps or not step.turns:
            return None
        begun = {"step": step.number, "turns": step.turns, "events": step.events}
        return begun | {"writes": step.writes} if step.writes else begun

    def _open(self) -> TurnServer:
        """Exchange `Start` and `Ready`."""
        spec, cast = self._spec, self._cast
        offered = [one for one in BUILT_IN if cast.handover or one.name != "READY"]
        self._send(
            Start(
                environment=spec.environment,
                instructions=cast.environment.instructions,
                actions=list(cast.environment.actions),
                steps=spec.steps,
                log_turns=spec.budgets.log_turns,
                plan_turns=spec.budgets.plan_turns,
                handover=cast.handover,
                files=list(cast.seed_memory),
                commands=[{"name": one.name} for one in offered],
                options=cast.options,
            )
        )
        message = self._receive()
        if not isinstance(message, Ready):
            raise ScaffoldFailure("protocol", "The scaffold did not say that it is ready.")
        own = [
            CommandSpec(one["name"], tuple(one["arguments"]), one["help"], one["writes"])
            for one in message.commands
        ]
        try:
            table = command_table(own)
            if not cast.handover:
                del table["READY"]
        except ValueError as error:
            raise ScaffoldFailure("fault", f"hooks.py: {error}") from None
        return TurnServer(
            call_model=cast.call_model,
            call_scaffold=self._call_scaffold,
            memory=cast.memory,
            table=table,
            budgets=spec.budgets,
            handover=cast.handover,
            trajectory=self._trajectory,
        )

    def _play_steps(self) -> None:
        """Play until the game or the step limit ends the episode."""
        environment = self._cast.environment
        action: str | None = None
        note = ""
        while not self._outcome:
            number = self._steps
            wanted = self._decide(number, Observe(number, self._observation.text, action, note))
            action, note, event = self._playable(wanted)
            self._write_step(number, wanted, action, event)
            step = environment.step(action)
            self._steps += 1
            self._observation = step.observation
            self._progression = environment.progression
            if step.done:
                self._outcome = step.outcome or "done"
            elif self._steps == self._spec.steps:
                self._outcome = STEP_LIMIT
            if self._cast.on_step is not None:
                self._cast.on_step(self._steps)
        # What the scaffold makes of the end no longer matters.
        with contextlib.suppress(ScaffoldFailure):
            self._session.send(Stop(self._outcome), STOP_SECONDS)

    def _decide(self, number: int, observe: Observe) -> str:
        """Serve one step's requests until the sandbox acts."""
        turns = self._turns
        assert turns is not None
        turns.begin_step(number)
        self._left = self._cast.limits.step_seconds
        self._requests = 0
        self._send(observe)
        while True:
            message = self._receive()
            if isinstance(message, TurnRequest):
                self._send(turns.serve_turn(message))
            elif isinstance(message, MemoryRequest):
                self._send(self._serve_memory(message))
            elif isinstance(message, Act):
                return message.action.strip()
            else:
                raise ScaffoldFailure("protocol", f"Unasked {type(message).__name__}.")

    def _playable(self, wanted: str) -> tuple[str, str, str]:
        """Returns the action to play, what to tell the agent about it, and an event."""
        environment = self._cast.environment
        if wanted in environment.actions:
            return wanted, "", ""
        default = environment.default_action
        if not wanted:
            return default, f"No action was committed, so {default} was played.", "no_action"
        note = f"'{wanted[:80]}' is not an action, so {default} was played."
        return default, note, "invalid_action"

    def _write_step(self, number: int, wanted: str, action: str, event: str) -> None:
        assert self._turns is not None
        step = self._turns.step
        record: dict[str, Any] = {
            "step": number,
            "observation": self._trajectory.text(self._observation.text),
            "turns": step.turns,
            "committed": step.action,
            "action": action,
            "overridden": _form(wanted) != _form(step.action),
            "events": [*step.events, event] if event else step.events,
        }
        if wanted != action:
            record["wanted"] = self._trajectory.text(wanted[:WORDS_KEPT])
        if step.writes:
            record["writes"] = step.writes
        if self._progression > self._told:
            record["progression"] = self._told = self._progression
        self._counter.add(record, self._observation.compared)
        self._trajectory.step(record)

    def _serve_memory(self, request: MemoryRequest) -> MemoryReply:
        assert self._turns is not None
        with self._charged():
            try:
                return MemoryReply(True, self._turns.serve_memory(request))
            except MemoryRefusal as refusal:
                return MemoryReply(False, str(refusal))

    def _call_scaffold(self, call: CommandCall) -> CommandReply:
        """Have the sandbox run one of its commands, serving its memory requests meanwhile."""
        self._send(call)
        while True:
            message = self._receive()
            if isinstance(message, CommandReply):
                return message
            if not isinstance(message, MemoryRequest):
                raise ScaffoldFailure("protocol", f"Unasked {type(message).__name__}.")
            self._send(self._serve_memory(message))

    @contextlib.contextmanager
    def _charged(self) -> Iterator[None]:
        """Charge what happens inside to the scaffold's time, whoever's processor does it.

        Waiting for the sandbox, handing it messages and serving its memory requests count: a few
        requests may cost the host much. The model's time and what the model asks for do not.
        """
        began = time.monotonic()
        try:
            yield
        finally:
            took = time.monotonic() - began
            self._left -= took
            self._episode_left -= took

    def _send(self, message: FromHost) -> None:
        with self._charged():
            self._session.send(message, max(0.0, min(self._left, self._episode_left)))

    def _receive(self) -> Any:
        """The next message, under the deadlines of step and episode and the flood limit."""
        self._requests += 1
        if self._requests > MESSAGES_PER_STEP:
            raise ScaffoldFailure("protocol", f"Over {MESSAGES_PER_STEP} messages in one step.")
        if self._left <= 0:
            raise ScaffoldFailure("timeout", "The scaffold took too long over one step.")
        if self._episode_left <= 0:
            raise ScaffoldFailure("timeout", "The scaffold took too long over the whole episode.")
        with self._charged():
            message = self._session.receive(min(self._left, self._episode_left))
        if isinstance(message, FaultMessage):
            raise ScaffoldFailure(
                "fault",
                f"The scaffold failed at {message.where}: {message.message}",
                mend="Mend that line.",
            )
        return message


def _words(text: str) -> str:
    """What the sandbox says, fit for a person's screen: not long, and no control characters."""
    kept = text[:WORDS_KEPT]
    return "".join(letter if letter.isprintable() or letter == "\n" else "?" for letter in kept)


def _form(action: str) -> str:
    """An action without what a repair of form may change: case, spaces and hyphens."""
    return action.strip().lower().replace(" ", "_").replace("-", "_")
