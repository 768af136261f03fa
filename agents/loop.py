"""The inner loop: LOG what the last action did, then PLAN the next one.

Runs in the sandbox. It composes conversations from the scaffold's prompts and asks the host for
turns; the host calls the model, enforces the phases and budgets, and carries out the commands.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, Protocol

from agents.grammar import LOG, PLAN, CommandSpec
from agents.messages import Message, Observe, Start, TurnReply
from agents.scaffold import Context, Memory

HANDOVER_LINE = "You are the action model. Reply with the game action as <|ACTION|>action<|END|>."


class Prompts(Protocol):
    """The scaffold's templates: ``system``, ``log`` and ``plan``."""

    def render(self, name: str, **values: object) -> str:
        """Fill in one template."""


TurnPort = Callable[[str, list[Message]], TurnReply]


class Agent:
    """One scaffold playing one episode."""

    def __init__(
        self,
        start: Start,
        prompts: Prompts,
        hooks: ModuleType | None,
        commands: list[CommandSpec],
        memory: Memory,
        turn: TurnPort,
    ) -> None:
        self._start = start
        self._prompts = prompts
        self._hooks = hooks
        self._turn = turn
        self.context = Context(
            environment=start.environment,
            actions=tuple(start.actions),
            steps=start.steps,
            options=dict(start.options),
            memory=memory,
        )
        self._shared: dict[str, Any] = {
            "instructions": start.instructions,
            "actions": list(start.actions),
            "steps": start.steps,
            "files": list(start.files),
            "commands": commands,
            "handover": start.handover,
            "options": dict(start.options),
        }
        self._hook("on_start")
        self._system = self._render("system")

    def step(self, observe: Observe) -> str:
        """Play one step: LOG, then PLAN.

        Returns:
            The action to play; empty if the model committed none.
        """
        context = self.context
        context.step = observe.step
        context.previous_observation = context.observation
        context.previous_action = observe.action or ""
        context.observation = observe.observation
        self._hook("on_observation")
        if observe.action is not None:
            self._phase(LOG, "log", observe)
        self._hook("after_log")
        action = self._phase(PLAN, "plan", observe)
        override = getattr(self._hooks, "before_act", None)
        return action if override is None else str(override(context, action))

    def _hook(self, name: str) -> None:
        hook = getattr(self._hooks, name, None)
        if hook is not None:
            hook(self.context)

    def _render(self, name: str, **values: object) -> str:
        context = self.context
        return self._prompts.render(
            name,
            **self._shared,
            step=context.step,
            observation=context.observation,
            previous_observation=context.previous_observation,
            previous_action=context.previous_action,
            notes=context.notes,
            **values,
        )

    def _phase(self, phase: str, template: str, observe: Observe) -> str:
        messages: list[Message] = [
            {"role": "system", "content": self._system},
            {"role": "user", "content": self._render(template, note=observe.note)},
        ]
        while True:
            reply = self._turn(phase, messages)
            if reply.ended in ("DONE", "ACTION", "BUDGET"):
                return reply.action
            messages.append({"role": "assistant", "content": reply.completion})
            feedback = [f"{command}\n{result}" for command, result in reply.results]
            if reply.ended == "READY":
                feedback.append(HANDOVER_LINE)
            messages.append({"role": "user", "content": "\n\n".join(feedback)})
