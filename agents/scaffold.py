"""The scaffold contract: the names a scaffold's `hooks.py` may use.

A scaffold is a folder with prompts and, if it wants code, a `hooks.py`. Hooks are plain functions
found by name; each is optional and gets the `Context`:

| hook | when | may |
|---|---|---|
| ``on_start(context)`` | once, before the first step | read and write memory |
| ``on_observation(context)`` | each step, before LOG | read and write memory, set notes |
| ``after_log(context)`` | each step, after LOG | read and write memory, set notes |
| ``before_act(context, action)`` | each step, after PLAN | read memory; return the action |

``context.notes`` is what the scaffold shows the model beside the observation: a dictionary of
titled blocks that the prompts print. ``context.state`` keeps whatever the hooks need from one step
to the next. New memory commands are registered with `command`::

    @command("UPSERT", ("file", "key", "text"), "keep one line per key", writes=True)
    def upsert(context, file, key, text):
        ...
        return "saved"

Hooks must be deterministic: the same calls give the same texts, or results cannot be compared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from agents.grammar import CommandSpec

__all__ = ["Context", "Memory", "MemoryFault", "command"]

HOOKS = ("on_start", "on_observation", "after_log", "before_act")


class MemoryFault(Exception):
    """A memory operation was refused; its text says why (no such file, memory is full, ...)."""


class MemoryPort(Protocol):
    """Sends one memory operation to the host and returns its result."""

    def __call__(self, operation: str, *arguments: str) -> str:
        """Run the operation; raises `MemoryFault` where it is refused."""


class Memory:
    """The agent's memory files, as hooks and commands see them. The files live on the host."""

    def __init__(self, port: MemoryPort) -> None:
        self._port = port

    def files(self) -> list[str]:
        """Names of all files, in order of creation."""
        return self._port("FILES").splitlines()

    def read(self, file: str) -> str:
        """A file's whole text; raises `MemoryFault` if there is no such file."""
        return self._port("TEXT", file)

    def lines(self, file: str) -> list[str]:
        """A file's lines."""
        return self.read(file).splitlines()

    def write(self, file: str, text: str) -> None:
        """Replace a file by text, making it if need be."""
        self._port("PUT", file, text)

    def append(self, file: str, text: str) -> None:
        """Add lines at the end of a file, making it if need be."""
        self._port("ADD", file, text)


@dataclass(slots=True)
class Context:
    """What a hook may know of the episode, and what it may leave for the prompts.

    Attributes:
        environment: Environment id, e.g. ``crafter-v1``.
        actions: The action vocabulary.
        steps: The episode's step limit.
        options: The ``[options]`` table of `scaffold.toml`.
        memory: The memory files.
        step: Steps played so far.
        observation: What the agent sees now.
        previous_observation: What it saw one step ago; ``""`` at the first step.
        previous_action: The action that was played in between; ``""`` at the first step.
        notes: Titled blocks shown to the model, kept until changed.
        state: Free for the hooks.
    """

    environment: str
    actions: tuple[str, ...]
    steps: int
    options: dict[str, Any]
    memory: Memory
    step: int = 0
    observation: str = ""
    previous_observation: str = ""
    previous_action: str = ""
    notes: dict[str, str] = field(default_factory=dict)
    state: dict[str, Any] = field(default_factory=dict)


CommandHandler = Callable[..., str]
_registered: dict[str, tuple[CommandSpec, CommandHandler]] = {}


def command(
    name: str, arguments: tuple[str, ...], help: str, *, writes: bool = False
) -> Callable[[CommandHandler], CommandHandler]:
    """Register a memory command that the model may choose.

    Args:
        name: Upper-case name.
        arguments: Names of its arguments; the last one may contain ``|``.
        help: One line for the model; the prompts list it.
        writes: It changes memory, so the host allows it in LOG only.

    Returns:
        A decorator for ``handler(context, *arguments) -> str``, whose return value the model reads.
    """

    def register(handler: CommandHandler) -> CommandHandler:
        _registered[name] = (CommandSpec(name, tuple(arguments), help, writes), handler)
        return handler

    return register


def registered_commands() -> dict[str, tuple[CommandSpec, CommandHandler]]:
    """Every command registered so far, in order of registration."""
    return dict(_registered)
