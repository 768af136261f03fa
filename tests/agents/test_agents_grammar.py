"""Every command in the order it was written; nothing that looks like one is dropped."""

from __future__ import annotations

import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agents.grammar import (
    BUILT_IN,
    BUILT_IN_BY_NAME,
    LOG,
    MAX_COMMANDS,
    PLAN,
    Command,
    CommandSpec,
    Fault,
    command_table,
    parse,
)

UPSERT = CommandSpec("UPSERT", ("file", "key", "text"), "keep one line per key", writes=True)
TABLE = command_table([UPSERT])

SEARCH = Command("SEARCH", ("notes", "water"))
NOOP = Command("ACTION", ("noop",))
DONE = Command("DONE", ())


SEARCH_WATER = ("SEARCH", "notes", "water")


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("<|SEARCH|>notes|water<|END|>", [SEARCH_WATER]),
        ("I look.\n<|SEARCH|> notes | water <|END|>\nThen I see.", [SEARCH_WATER]),
        (
            "<|SEARCH|>notes|water<|END|><|ACTION|>noop<|END|>",
            [SEARCH_WATER, ("ACTION", "noop")],
        ),
        (
            "<|ACTION|>noop<|END|><|SEARCH|>notes|water<|END|>",
            [("ACTION", "noop"), SEARCH_WATER],
        ),
        ("<|READ|>notes<|END|>", [("READ", "notes")]),
        ("<|TAIL|>notes|5<|END|>", [("TAIL", "notes", "5")]),
        ("<|COUNT|>notes|tree<|END|>", [("COUNT", "notes", "tree")]),
        ("<|CREATE|>map<|END|>", [("CREATE", "map")]),
        ("<|DONE|>", [("DONE",)]),
        ("<|DONE|><|END|>", [("DONE",)]),
        ("<|READY|> now you", [("READY",)]),
        # the last argument keeps its pipes, line ends and angle brackets
        ("<|APPEND|>notes|a|b||c<|END|>", [("APPEND", "notes", "a|b||c")]),
        (
            "<|UPSERT|>map|water|at (3, 4)|near<|END|>",
            [("UPSERT", "map", "water", "at (3, 4)|near")],
        ),
        ("<|WRITE|>notes|one\ntwo\n<|END|>", [("WRITE", "notes", "one\ntwo")]),
        ("<|APPEND|>notes|<b>x</b> 3 < 4 > 2<|END|>", [("APPEND", "notes", "<b>x</b> 3 < 4 > 2")]),
        ("<|APPEND|>notes|<| and |> and <|END|>", [("APPEND", "notes", "<| and |> and")]),
        ("<|APPEND|>notes|an <em> <| x |<|END|>", [("APPEND", "notes", "an <em> <| x |")]),
        # other languages
        ("<|APPEND|>notizen|Öl — 水は左<|END|>", [("APPEND", "notizen", "Öl — 水は左")]),
        ("<|SEARCH|>notes|ПРИВЕТ<|END|>", [("SEARCH", "notes", "ПРИВЕТ")]),
        # an empty last argument is the empty text
        ("<|SEARCH|>notes|<|END|>", [("SEARCH", "notes", "")]),
        # no command at all
        ("", []),
        ("I think a < b and c > d, so <b>left</b> it is, or x |> f.", []),
        ("```python\nprint('hi')\n```", []),
    ],
)
def test_what_is_well_formed_is_read_in_order(text: str, commands: list[tuple[str, ...]]) -> None:
    parsed = parse(text, TABLE)
    assert parsed.faults == ()
    assert [(item.name, *item.arguments) for item in parsed.commands] == commands
    assert parsed.repairs == ()


@pytest.mark.parametrize(
    ("text", "command", "repairs"),
    [
        ("<|SEARCH|>notes|water<|END>", SEARCH, ["pipe"]),
        ("<SEARCH|>notes|water<|END|>", SEARCH, ["pipe"]),
        ("<|SEARCH>notes|water<END|>", SEARCH, ["pipe", "pipe"]),
        ("<|DONE>", DONE, ["pipe"]),
        ("<|search|>notes|water<|end|>", SEARCH, ["case", "case"]),
        ("<|Action|>noop<|END|>", NOOP, ["case"]),
        ("<|done>", DONE, ["pipe", "case"]),
        ("<| SEARCH |>notes|water<|END|>", SEARCH, ["space"]),
        ("```\n<|ACTION|>noop<|END|>\n```", NOOP, ["fence"]),
        ("I do this:\n```text\n<|SEARCH|>notes|water<|END|>\n```\n", SEARCH, ["fence"]),
        ("<|ACTION|>```\nnoop\n```<|END|>", NOOP, ["fence"]),
        ("<|ACTION|>```noop```<|END|>", NOOP, ["fence"]),
        ("<|WRITE|>```md\nnotes|a\n```<|END|>", Command("WRITE", ("notes", "a")), ["fence"]),
    ],
)
def test_small_slips_are_repaired_and_counted(
    text: str, command: Command, repairs: list[str]
) -> None:
    parsed = parse(text, TABLE)
    assert parsed.items == (command,)
    assert list(parsed.repairs) == repairs


def test_a_fence_inside_a_text_is_text() -> None:
    parsed = parse("<|APPEND|>notes|```\ncode\n```<|END|>")
    assert parsed.items == (Command("APPEND", ("notes", "```\ncode\n```")),)


@pytest.mark.parametrize(
    ("text", "names", "says"),
    [
        # unclosed, at the end and before another command
        ("<|SEARCH|>notes|water", ["SEARCH"], "not closed. The form is <|SEARCH|>file|text<|END|>"),
        ("<|ACTION|>noop", ["ACTION"], "not closed. The form is <|ACTION|>action<|END|>"),
        ("<|SEARCH|>notes|water<|EN", ["SEARCH"], "not closed"),
        ("<|SEARCH|>notes|water</END>", ["SEARCH"], "not closed"),
        # an END that closes nothing
        ("water<|END|>", ["END"], "closes nothing"),
        # unknown, with the list of those that are known
        ("<|FIND|>water", ["FIND"], "There is no command FIND. The commands are: <|SEARCH|>"),
        # too few arguments, and an empty first one
        ("<|SEARCH|>notes<|END|>", ["SEARCH"], "needs 2 arguments (file, text) and got 1"),
        ("<|UPSERT|>map|water<|END|>", ["UPSERT"], "needs 3 arguments (file, key, text) and got 2"),
        ("<|SEARCH|>|water<|END|>", ["SEARCH"], "needs a file. The form is"),
        ("<|ACTION|> <|END|>", ["ACTION"], "needs a action. The form is <|ACTION|>"),
        # broken tags
        ("<|SEARCH notes|water|>", [""], "'<|SEARCH' is no command: the form is <|NAME|>argument"),
        ("<|MOVE2|>", [""], "'<|MOVE2|>' is no command"),
        ("<|ACTIO", [""], "'<|ACTIO' is no command"),
        ("<|SEARHC>", [""], "'<|SEARHC>' is no command"),
        ("<foo|>", [""], "'<foo|>' is no command"),
        ("<DONE>", [""], "'<DONE>' is no command"),
        ("<|/ACTION|>", [""], "'<|/ACTION|>' is no command"),
        ("< |DONE|>", [""], "'|DONE|>' is no command"),
        ("<｜DONE｜>", [""], "'<｜DONE｜>' is no command"),
        (f"<|{'A' * 40}|>", [""], "is no command"),
    ],
)
def test_what_cannot_be_read_is_a_fault_that_shows_the_form(
    text: str, names: list[str], says: str
) -> None:
    parsed = parse(text, TABLE)
    assert [fault.name for fault in parsed.faults] == names
    assert parsed.commands == ()
    assert says in parsed.faults[0].message


def test_an_unclosed_command_does_not_swallow_the_next() -> None:
    parsed = parse("<|SEARCH|>notes|water\n<|ACTION|>noop<|END|>")
    assert [type(item) for item in parsed.items] == [Fault, Command]
    assert parsed.commands == (NOOP,)


def test_nested_tags_leave_nothing_unsaid() -> None:
    parsed = parse("<|APPEND|>notes|use <|SEARCH|> later<|END|> then <|END|>")
    assert [fault.name for fault in parsed.faults] == ["APPEND", "SEARCH", "END"]
    assert parsed.commands == ()


def test_faults_and_commands_keep_their_order() -> None:
    parsed = parse("<|FOO|> <|READ|>notes<|END|> <|SEARCH x <|DONE|> <|BAR|>")
    assert [item.name for item in parsed.items] == ["FOO", "READ", "", "DONE", "BAR"]


def test_a_turn_has_a_bounded_number_of_commands() -> None:
    just = parse("<|DONE|>" * MAX_COMMANDS)
    assert len(just.commands) == MAX_COMMANDS
    assert just.faults == ()
    for text in ("<|DONE|>" * (MAX_COMMANDS + 1), "<|x " * 10_000):
        more = parse(text)
        assert len(more.items) == MAX_COMMANDS + 1
        assert more.items[-1] == Fault(
            "", "More than 64 commands in one turn: the rest was not run."
        )


def test_the_built_in_commands_are_those_of_the_protocol() -> None:
    assert [(spec.form, spec.phases) for spec in BUILT_IN] == [
        ("<|SEARCH|>file|text<|END|>", (LOG, PLAN)),
        ("<|READ|>file<|END|>", (LOG, PLAN)),
        ("<|TAIL|>file|n<|END|>", (LOG, PLAN)),
        ("<|COUNT|>file|text<|END|>", (LOG, PLAN)),
        ("<|APPEND|>file|text<|END|>", (LOG,)),
        ("<|WRITE|>file|text<|END|>", (LOG,)),
        ("<|CREATE|>file<|END|>", (LOG,)),
        ("<|DONE|>", (LOG,)),
        ("<|ACTION|>action<|END|>", (PLAN,)),
        ("<|READY|>", (PLAN,)),
    ]
    assert {spec.name for spec in BUILT_IN if spec.writes} == {"APPEND", "WRITE", "CREATE"}
    assert {spec.name for spec in BUILT_IN if spec.ends} == {"DONE", "ACTION", "READY"}


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        (CommandSpec("upsert", ("file",), ""), "no command name"),
        (CommandSpec("U2", ("file",), ""), "no command name"),
        (CommandSpec("U", ("file",), ""), "no command name"),
        (CommandSpec("END", ("file",), ""), "no command name"),
        (CommandSpec("SEARCH", ("file",), ""), "already there"),
        (CommandSpec("STOP", ("why",), "", ends=True), "may not end a phase"),
        (CommandSpec("STOP", (), ""), "at least one argument"),
    ],
)
def test_a_registered_command_that_cannot_be_is_refused(spec: CommandSpec, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        command_table([spec])


def test_two_registered_commands_may_not_share_a_name() -> None:
    with pytest.raises(ValueError, match="already there"):
        command_table([UPSERT, UPSERT])
    assert "UPSERT" not in BUILT_IN_BY_NAME


# --- properties -------------------------------------------------------------------------------

names = st.text(string.ascii_letters + string.digits + "_", min_size=1, max_size=12)
plain = st.text(
    st.characters(exclude_characters="<>|`｜", exclude_categories=["Cs"]), max_size=30
).map(str.strip)
last = st.text(st.characters(exclude_characters="<>`", exclude_categories=["Cs"]), max_size=60)


@st.composite
def commands(draw: st.DrawFn) -> Command:
    spec = draw(st.sampled_from(sorted(TABLE.values(), key=lambda spec: spec.name)))
    if not spec.arguments:
        return Command(spec.name, ())
    if len(spec.arguments) == 1:
        return Command(spec.name, (draw(names),))
    middle = [draw(plain) for _ in spec.arguments[1:-1]]
    return Command(spec.name, (draw(names), *middle, draw(last).strip()))


def written(command: Command) -> str:
    if not command.arguments:
        return f"<|{command.name}|>"
    return f"<|{command.name}|>{'|'.join(command.arguments)}<|END|>"


@given(st.lists(st.tuples(plain, commands()), max_size=8), plain)
def test_well_formed_commands_round_trip(written_down: list[tuple[str, Command]], end: str) -> None:
    text = "".join(f"{prose} {written(command)}" for prose, command in written_down) + f" {end}"
    parsed = parse(text, TABLE)
    assert list(parsed.items) == [command for _, command in written_down]
    assert parsed.repairs == ()


BITS = ("<|", "|>", "<|END|>", "<|END>", "<|SEARCH|>", "<|search>", "<|DONE|>", "<|NOPE|>")
OTHER_BITS = ("<|ACTION|>", "<｜", "<DONE>", "```", "```text\n", "|", "<", ">", "<b>", "\n", " ")
pieces = st.lists(st.sampled_from((*BITS, *OTHER_BITS)) | st.text(max_size=10), max_size=30).map(
    "".join
)


@given(pieces)
@example("<|" * 1000)
@example("```<|DONE|>" * 200)
def test_parsing_never_fails_and_keeps_to_its_types(text: str) -> None:
    parsed = parse(text, TABLE)
    for item in parsed.items:
        if isinstance(item, Command):
            spec = TABLE[item.name]
            assert len(item.arguments) == len(spec.arguments)
            assert all(argument == argument.strip() for argument in item.arguments)
        else:
            assert item.message
    assert set(parsed.repairs) <= {"pipe", "case", "space", "fence"}
    assert parse(text, TABLE) == parsed


unknown = st.text(string.ascii_uppercase + "_", min_size=2, max_size=31).filter(
    lambda name: name not in TABLE and name != "END"
)
with_arguments = st.sampled_from([spec.name for spec in TABLE.values() if spec.arguments])
broken = st.one_of(
    unknown.map(lambda name: f"<|{name}|>"),
    unknown.map(lambda name: f"<|{name.lower()}|>"),
    unknown.map(lambda name: f"<|{name}"),
    unknown.map(lambda name: f"<|{name}>"),
    names.map(lambda name: f"<|7{name}|>"),
    with_arguments.map(lambda name: f"<|{name} notes|x|>"),
    with_arguments.map(lambda name: f"<|{name}|>notes|"),
    with_arguments.map(lambda name: f"<|{name.lower()}>"),
    with_arguments.map(lambda name: f"<|{name}|><|END|>"),
    st.sampled_from([*TABLE, "END"]).map(lambda name: f"<{name}>"),
    st.just("<|END|>"),
)


@given(st.lists(st.tuples(plain, broken), max_size=20))
def test_every_tag_that_looks_like_a_command_is_answered(parts: list[tuple[str, str]]) -> None:
    """Broken ones, each followed by a good one, so that none can hide in another."""
    good = Command("READ", ("notes",))
    text = "".join(f"{prose} {tag} {written(good)}" for prose, tag in parts)
    parsed = parse(text, TABLE)
    assert list(parsed.commands) == [good] * len(parts)
    assert [isinstance(item, Fault) for item in parsed.items] == [True, False] * len(parts)
