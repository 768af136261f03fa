"""The channel's messages: newline-delimited JSON, the only way through the sandbox wall.

The sandbox says `Up` before it loads a scaffold. The host opens with `Start`; the sandbox answers
`Ready`. For each step the host sends `Observe` and then serves requests (`TurnRequest`,
`MemoryRequest`) until the sandbox sends `Act`. While a turn is served the host may ask the sandbox
to carry out one of the scaffold's own commands (`CommandCall`, answered by `CommandReply`). `Stop`
ends the episode.

Whatever comes out of the sandbox is untrusted: `decode_from_sandbox` accepts exactly the messages
below, with exactly their fields, and raises `ProtocolError` on everything else.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypedDict

PROTOCOL_VERSION = 1
"""Raised with every change that can alter what an agent sees; part of every episode's key."""

MAX_LINE = 4 * 1024 * 1024
"""Bytes of one message from the sandbox; a longer line is a protocol error."""

MAX_MESSAGES = 200
"""Messages of one model conversation."""


class ProtocolError(Exception):
    """The other side sent something that is no message of this protocol."""


class Message(TypedDict):
    """One message of a model conversation."""

    role: str
    content: str


# --- host to sandbox ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Start:
    """Opens an episode: everything static that the scaffold may know."""

    environment: str
    instructions: str
    actions: list[str]
    steps: int
    log_turns: int
    plan_turns: int
    handover: bool
    files: list[str]
    commands: list[dict[str, Any]]
    options: dict[str, Any]
    protocol: int = PROTOCOL_VERSION


@dataclass(frozen=True, slots=True)
class Observe:
    """A step begins: what the agent sees now.

    Attributes:
        step: Steps played so far.
        observation: The environment's text.
        action: The action that was played to get here, ``None`` at the first step.
        note: What the host has to say about that action (it was invalid, say); may be empty.
    """

    step: int
    observation: str
    action: str | None
    note: str


@dataclass(frozen=True, slots=True)
class TurnReply:
    """The model's completion and what its commands returned.

    Attributes:
        completion: The text, verbatim.
        results: Pairs of command as written and its result.
        ended: ``DONE``, ``ACTION``, ``READY``, ``BUDGET`` or ``""`` if the phase goes on.
        action: The committed action when ``ended`` is ``ACTION``.
    """

    completion: str
    results: list[list[str]]
    ended: str
    action: str


@dataclass(frozen=True, slots=True)
class MemoryReply:
    """The result of a `MemoryRequest`; an error's text when ``ok`` is false."""

    ok: bool
    text: str


@dataclass(frozen=True, slots=True)
class CommandCall:
    """Carry out one of the scaffold's own commands, chosen by the model."""

    name: str
    arguments: list[str]


@dataclass(frozen=True, slots=True)
class Stop:
    """The episode is over."""

    outcome: str


# --- sandbox to host ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Up:
    """The agent code runs under its limits; nothing of the scaffold is loaded yet."""


@dataclass(frozen=True, slots=True)
class Ready:
    """The scaffold is loaded; these are its own commands."""

    commands: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """Ask for one model turn in a phase.

    Attributes:
        phase: ``LOG`` or ``PLAN``.
        kept: How many messages of the previous turn's conversation this one begins with.
        messages: The messages that follow them.
    """

    phase: str
    kept: int
    messages: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class MemoryRequest:
    """A hook or a command of the scaffold reads or writes memory."""

    operation: str
    arguments: list[str]


@dataclass(frozen=True, slots=True)
class CommandReply:
    """The result of a `CommandCall`, for the model to read."""

    ok: bool
    text: str


@dataclass(frozen=True, slots=True)
class Act:
    """The step's action."""

    action: str


@dataclass(frozen=True, slots=True)
class ScaffoldFault:
    """The scaffold broke: where (file and line, as far as known) and how."""

    where: str
    message: str
    details: str = ""


FromHost = Start | Observe | TurnReply | MemoryReply | CommandCall | Stop
FromSandbox = Up | Ready | TurnRequest | MemoryRequest | CommandReply | Act | ScaffoldFault

_FROM_HOST: dict[str, type[Any]] = {
    "start": Start,
    "observe": Observe,
    "turn": TurnReply,
    "memory": MemoryReply,
    "command": CommandCall,
    "stop": Stop,
}
_FROM_SANDBOX: dict[str, type[Any]] = {
    "up": Up,
    "ready": Ready,
    "turn": TurnRequest,
    "memory": MemoryRequest,
    "command": CommandReply,
    "act": Act,
    "fault": ScaffoldFault,
}
_NAMES = {
    **{kind: name for name, kind in _FROM_HOST.items()},
    **{kind: name for name, kind in _FROM_SANDBOX.items()},
}
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def encode(message: FromHost | FromSandbox) -> bytes:
    """One message as one line of UTF-8 JSON, newline included."""
    kind = type(message)
    record: dict[str, Any] = {"type": _NAMES[kind]}
    for name in kind.__slots__:
        record[name] = getattr(message, name)
    return _encode(record).encode("utf-8", "replace") + b"\n"


def decode_from_host(line: bytes) -> FromHost:
    """Read a message inside the sandbox, where the host is trusted."""
    record = json.loads(line)
    message: FromHost = _FROM_HOST[record.pop("type")](**record)
    return message


def decode_from_sandbox(line: bytes) -> FromSandbox:
    """Read a message on the host, trusting nothing.

    Raises:
        ProtocolError: The line is no UTF-8, no JSON object, of no known type, or has other fields
            or field types than its type allows.
    """
    try:
        record = json.loads(line.decode("utf-8"))
        if b"\\u" in line:  # an escaped half of a surrogate pair would be no text at all
            _encode(record).encode("utf-8")
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"not one line of UTF-8 JSON ({type(error).__name__})") from None
    if not isinstance(record, dict):
        raise ProtocolError("not a JSON object")
    name = record.pop("type", None)
    if not isinstance(name, str) or name not in _CHECKS:
        raise ProtocolError(f"unknown message type {name[:40] if isinstance(name, str) else ''!r}")
    checks = _CHECKS[name]
    if not set(record) <= set(checks):
        raise ProtocolError(f"unexpected fields in '{name}'")
    for key, check in checks.items():
        if key not in record or not check(record[key]):
            raise ProtocolError(f"missing or malformed '{key}' in '{name}'")
    message: FromSandbox = _FROM_SANDBOX[name](**record)
    return message


def _text(value: object) -> bool:
    return isinstance(value, str)


def _flag(value: object) -> bool:
    return isinstance(value, bool)


def _texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _conversation(value: object) -> bool:
    return (
        isinstance(value, list)
        and 0 < len(value) <= MAX_MESSAGES
        and all(
            isinstance(item, dict)
            and len(item) == 2
            and item.get("role") in ("system", "user", "assistant")
            and isinstance(item.get("content"), str)
            for item in value
        )
    )


def _commands(value: object) -> bool:
    return (
        isinstance(value, list)
        and len(value) <= 32
        and all(
            isinstance(item, dict)
            and set(item) == {"name", "arguments", "help", "writes"}
            and isinstance(item["name"], str)
            and _texts(item["arguments"])
            and isinstance(item["help"], str)
            and isinstance(item["writes"], bool)
            for item in value
        )
    )


_CHECKS: dict[str, Mapping[str, Callable[[object], bool]]] = {
    "up": {},
    "ready": {"commands": _commands},
    "turn": {
        "phase": lambda value: value in ("LOG", "PLAN"),
        "kept": lambda value: type(value) is int and 0 <= value <= MAX_MESSAGES,
        "messages": _conversation,
    },
    "memory": {"operation": _text, "arguments": _texts},
    "command": {"ok": _flag, "text": _text},
    "act": {"action": _text},
    "fault": {"where": _text, "message": _text, "details": _text},
}
