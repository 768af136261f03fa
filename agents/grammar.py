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
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

LOG = "LOG"
PLAN = "PLAN"
PHASES = (LOG, PLAN)

MAX_COMMANDS = 64
"""Commands read from one completion; more are a fault, so that a turn has a bounded cost."""

_TAG = re.compile(r"<(\|?)([ \t]*)([A-Za-z][A-Za-z_]{0,31})([ \t]*)(\|?)>")
_STRAY = re.compile(
    r"""<[|｜]/?\w[^\s<>|｜]{0,40}[|｜]?>?  # <|SEARCH notes, <|SEARHC>, <|MOVE2|>, <｜DONE｜>
    | <[|｜][ \t]+[A-Z_]{2,32}           # <| SEARCH notes
    | <[A-Za-z]\w{0,40}[|｜]>            # <SEARHC|>
    | [|｜][A-Z_]{2,32}[|｜]>             # </|DONE|>
    | <([A-Z_]{2,32})>                  # <DONE>, if there is such a command""",
    re.VERBOSE,
)
"""What is meant as a tag and is none."""

_FENCED = re.compile(r"\s*```(?:[A-Za-z]*[ \t]*\n)?([\s\S]*?)(?:```\s*)?")
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
        repairs: One word for each slip that was repaired: ``pipe``, ``case``, ``space``, ``fence``.
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
    return _Parser(text, table).parse()


class _Parser:
    """One pass over one completion."""

    def __init__(self, text: str, table: Mapping[str, CommandSpec]) -> None:
        self._text = text
        self._table = table
        self._tags = [tag for tag in _TAG.finditer(text) if _counts(tag, table)]
        self._next = 0
        self._read_to = 0
        self._repairs: list[str] = []

    def parse(self) -> Parsed:
        items = list(islice(self._items(), MAX_COMMANDS + 1))
        if len(items) > MAX_COMMANDS:
            rest = f"More than {MAX_COMMANDS} commands in one turn: the rest was not run."
            items[-1] = Fault("", rest)
        if "```" in self._text and any(_fenced(self._text, tag) for tag in self._tags):
            self._repairs.append("fence")
        return Parsed(tuple(items), tuple(self._repairs))

    def _items(self) -> Iterator[Command | Fault]:
        while self._next < len(self._tags):
            yield from self._strays()
            yield self._item()
        yield from self._strays()

    def _item(self) -> Command | Fault:
        """Read what begins with the next tag, and move on behind it."""
        tag = self._tags[self._next]
        name = self._take()
        spec = self._table.get(name)
        if name == _END:
            return Fault(_END, "<|END|> closes nothing here: a command opens with <|NAME|>.")
        if spec is None:
            return Fault(name, _unknown(name, self._table))
        body = self._text[tag.end() : self._start()]
        if not spec.arguments:
            if self._end_follows() and not body.strip():
                self._take()
            return Command(name, ())
        if self._end_follows():
            self._take()
            return self._command(spec, body)
        self._read_to = self._start()
        return Fault(name, f"{name} is not closed. The form is {spec.form}")

    def _strays(self) -> Iterator[Fault]:
        """A fault for each broken tag between what was read and the next tag."""
        for stray in _STRAY.finditer(self._text, self._read_to, self._start()):
            if stray[1] and stray[1] != _END and stray[1] not in self._table:
                continue
            what = f"'{stray[0]}' is no command: the form is <|NAME|>argument<|END|>."
            yield Fault("", what)

    def _take(self) -> str:
        """Consume the next tag and return its name, counting what had to be repaired."""
        tag = self._tags[self._next]
        self._next += 1
        self._read_to = tag.end()
        name = tag[3].upper()
        if not (tag[1] and tag[5]):
            self._repairs.append("pipe")
        if tag[2] or tag[4]:
            self._repairs.append("space")
        if tag[3] != name:
            self._repairs.append("case")
        return name

    def _start(self) -> int:
        """Where the next tag starts, or the text ends."""
        if self._next < len(self._tags):
            return self._tags[self._next].start()
        return len(self._text)

    def _end_follows(self) -> bool:
        return self._next < len(self._tags) and self._tags[self._next][3].upper() == _END

    def _command(self, spec: CommandSpec, body: str) -> Command | Fault:
        fenced = _FENCED.fullmatch(body)
        if fenced:
            self._repairs.append("fence")
            body = fenced[1]
        parts = body.split("|", len(spec.arguments) - 1)
        if len(parts) < len(spec.arguments):
            return Fault(
                spec.name,
                f"{spec.name} needs {len(spec.arguments)} arguments ({', '.join(spec.arguments)})"
                f" and got {len(parts)}. The form is {spec.form}",
            )
        arguments = tuple(part.strip() for part in parts)
        if not arguments[0]:
            what = f"{spec.name} needs a {spec.arguments[0]}. The form is {spec.form}"
            return Fault(spec.name, what)
        return Command(spec.name, arguments)


def _counts(tag: re.Match[str], table: Mapping[str, CommandSpec]) -> bool:
    """Whether a tag is meant as one: both pipes and no space, or one pipe around a known name."""
    if tag[1] and tag[5] and not (tag[2] or tag[4]):
        return True
    name = tag[3].upper()
    return bool(tag[1] or tag[5]) and (name == _END or name in table)


def _fenced(text: str, tag: re.Match[str]) -> bool:
    return text.count("```", 0, tag.start()) % 2 == 1


def _unknown(name: str, table: Mapping[str, CommandSpec]) -> str:
    forms = "  ".join(spec.form for spec in table.values())
    return f"There is no command {name}. The commands are: {forms}"
