"""The command grammar: one parser, one pass, in the order the model wrote.

A command is ``<|NAME|>argument|argument<|END|>``; ``<|DONE|>`` and ``<|READY|>`` stand alone. Small
slips (a missing pipe, letter case, a code fence around a command) are repaired and counted.
Anything else becomes a `Fault` whose message names what is wrong and shows the right form, so that
nothing a model wrote is silently dropped.

The last argument keeps every ``|`` it contains: only as many separators are split off as the
command has arguments.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

LOG = "LOG"
PLAN = "PLAN"
PHASES = (LOG, PLAN)

MAX_COMMANDS = 64
"""Commands read from one completion; more are a fault, so that a turn has a bounded cost."""

_TAG = re.compile(r"<(\|?)[ \t]*([A-Za-z][A-Za-z_]{0,31})[ \t]*(\|?)>")
_FENCE = re.compile(r"```[A-Za-z]*[ \t]*\n?")
_END = "END"


@dataclass(frozen=True, slots=True)
class CommandSpec:
    """What a command looks like and where it may be used.

    Args:
        name: Upper-case name, as it stands between the pipes.
        arguments: Names of the arguments, in order; the last one may contain ``|``.
        help: One line for the model.
        writes: It changes memory, so it is allowed in LOG only.
        ends: It ends the phase (DONE, ACTION, READY).
        phases: The phases in which it may be used.
    """

    name: str
    arguments: tuple[str, ...]
    help: str
    writes: bool = False
    ends: bool = False
    phases: tuple[str, ...] = PHASES

    @property
    def form(self) -> str:
        """The right form, as shown to the model: ``<|SEARCH|>file|text<|END|>``."""
        if not self.arguments:
            return f"<|{self.name}|>"
        return f"<|{self.name}|>{'|'.join(self.arguments)}<|END|>"


BUILT_IN: tuple[CommandSpec, ...] = (
    CommandSpec("SEARCH", ("file", "text"), "lines of file that contain text, newest last"),
    CommandSpec("READ", ("file",), "the whole file"),
    CommandSpec("TAIL", ("file", "n"), "the last n lines of file"),
    CommandSpec("COUNT", ("file", "text"), "how many lines of file contain text"),
    CommandSpec(
        "APPEND", ("file", "text"), "add text as new lines at the end of file", True, phases=(LOG,)
    ),
    CommandSpec("WRITE", ("file", "text"), "replace the whole file", True, phases=(LOG,)),
    CommandSpec("CREATE", ("file",), "make a new empty file", True, phases=(LOG,)),
    CommandSpec("DONE", (), "end LOG", ends=True, phases=(LOG,)),
    CommandSpec("ACTION", ("action",), "end PLAN with the game action", ends=True, phases=(PLAN,)),
    CommandSpec("READY", (), "hand over to the action model", ends=True, phases=(PLAN,)),
)
BUILT_IN_BY_NAME: Mapping[str, CommandSpec] = {spec.name: spec for spec in BUILT_IN}

NAME_PATTERN = re.compile(r"[A-Z][A-Z_]{1,31}")


@dataclass(frozen=True, slots=True)
class Command:
    """One command the model wrote, its arguments stripped of surrounding white space."""

    name: str
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that looked like a command and was none; `message` is for the model."""

    name: str
    message: str


@dataclass(frozen=True, slots=True)
class Parsed:
    """What one completion says, in the order it was written.

    Attributes:
        items: Commands and faults.
        repairs: One word for each slip that was repaired: ``pipe``, ``case``, ``fence``.
    """

    items: tuple[Command | Fault, ...]
    repairs: tuple[str, ...]

    @property
    def commands(self) -> tuple[Command, ...]:
        """The commands alone."""
        return tuple(item for item in self.items if isinstance(item, Command))

    @property
    def faults(self) -> tuple[Fault, ...]:
        """The faults alone."""
        return tuple(item for item in self.items if isinstance(item, Fault))


def command_table(registered: Iterable[CommandSpec] = ()) -> dict[str, CommandSpec]:
    """The built-in commands and a scaffold's own, by name.

    Raises:
        ValueError: A registered command has a malformed name, takes a built-in's name, or ends a
            phase, which only built-in commands may.
    """
    table = dict(BUILT_IN_BY_NAME)
    for spec in registered:
        if not NAME_PATTERN.fullmatch(spec.name) or spec.name == _END:
            raise ValueError(f"'{spec.name}' is no command name: use upper-case letters and '_'.")
        if spec.name in table:
            raise ValueError(f"The command {spec.name} is already there: choose another name.")
        if spec.ends:
            raise ValueError(f"{spec.name} may not end a phase: only DONE, ACTION and READY do.")
        if not spec.arguments:
            raise ValueError(f"{spec.name} needs at least one argument.")
        table[spec.name] = spec
    return table


def parse(text: str, table: Mapping[str, CommandSpec] = BUILT_IN_BY_NAME) -> Parsed:
    """Read every command of a completion, in order.

    Args:
        text: The model's completion.
        table: The commands that exist (`command_table`).

    Returns:
        Commands, faults and repairs. Prose between commands is the model thinking, not a fault.
    """
    items: list[Command | Fault] = []
    repairs: list[str] = []
    tags = [tag for tag in _TAG.finditer(text) if _counts(tag, table)]
    if "```" in text and any(_fenced(text, tag) for tag in tags):
        repairs.append("fence")
    index = 0
    while index < len(tags):
        if len(items) >= MAX_COMMANDS:
            items.append(
                Fault("", f"More than {MAX_COMMANDS} commands in one turn: the rest was not run.")
            )
            break
        tag = tags[index]
        name = _name(tag, repairs)
        index += 1
        if name == _END:
            items.append(Fault(_END, "<|END|> closes nothing here: a command opens with <|NAME|>."))
            continue
        spec = table.get(name)
        if spec is None:
            items.append(Fault(name, _unknown(name, table)))
        elif not spec.arguments:
            items.append(Command(name, ()))
            if _closes_at_once(text, tag, tags[index : index + 1]):
                _name(tags[index], repairs)
                index += 1
        elif index < len(tags) and tags[index][2].upper() == _END:
            _name(tags[index], repairs)
            items.append(_command(spec, text[tag.end() : tags[index].start()]))
            index += 1
        else:
            items.append(Fault(name, f"{name} is not closed. The form is {spec.form}"))
    return Parsed(tuple(items), tuple(repairs))


def _counts(tag: re.Match[str], table: Mapping[str, CommandSpec]) -> bool:
    """Whether a tag is meant as one: both pipes, or one pipe around a known name."""
    if tag[1] and tag[3]:
        return True
    name = tag[2].upper()
    return bool(tag[1] or tag[3]) and (name == _END or name in table)


def _name(tag: re.Match[str], repairs: list[str]) -> str:
    name = tag[2].upper()
    if not (tag[1] and tag[3]):
        repairs.append("pipe")
    if tag[2] != name:
        repairs.append("case")
    return name


def _closes_at_once(text: str, tag: re.Match[str], following: list[re.Match[str]]) -> bool:
    """Whether a needless <|END|> stands right behind a command without arguments."""
    if not following or following[0][2].upper() != _END:
        return False
    return not text[tag.end() : following[0].start()].strip()


def _fenced(text: str, tag: re.Match[str]) -> bool:
    return text.count("```", 0, tag.start()) % 2 == 1


def _command(spec: CommandSpec, body: str) -> Command | Fault:
    body = _FENCE.sub("", body) if body.lstrip().startswith("```") else body
    parts = body.split("|", len(spec.arguments) - 1)
    if len(parts) < len(spec.arguments):
        return Fault(
            spec.name,
            f"{spec.name} needs {len(spec.arguments)} arguments ({', '.join(spec.arguments)})"
            f" and got {len(parts)}. The form is {spec.form}",
        )
    arguments = tuple(part.strip() for part in parts)
    if not arguments[0]:
        return Fault(spec.name, f"{spec.name} needs a {spec.arguments[0]}. The form is {spec.form}")
    return Command(spec.name, arguments)


def _unknown(name: str, table: Mapping[str, CommandSpec]) -> str:
    forms = "  ".join(spec.form for spec in table.values())
    return f"There is no command {name}. The commands are: {forms}"
