"""A fault in a TOML file names its line and its mend."""

from __future__ import annotations

import pytest
from pydantic import Field

from agents.tables import Table, TableError, TableFault, read_table


class Lamp(Table):
    watts: int = Field(default=5, ge=1)
    colour: str = "white"
    warm: bool = True
    height: float = 1.0


class House(Table):
    name: str
    lamp: Lamp = Field(default_factory=Lamp)
    rooms: dict[str, Lamp] = Field(default_factory=dict)


class Lamps(Table):
    lamp: Lamp


def faults(text: str) -> list[TableFault]:
    with pytest.raises(TableError) as caught:
        read_table(text, House)
    return caught.value.faults


def test_a_good_table_is_read() -> None:
    house = read_table('name = "x"\n[lamp]\nheight = 2\n[rooms.hall]\nwatts = 7\n', House)
    assert house == House(name="x", lamp=Lamp(height=2.0), rooms={"hall": Lamp(watts=7)})


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ('name = "x"\n[lamp\nwatts = 3\n', 2, "not TOML: Expected ']'"),
        ('name = "x"\nlamp = \n', 2, "not TOML: Invalid value"),
        ('name = "x"\nname = "y"\n', 2, "not TOML: Cannot overwrite a value"),
        ('name = "x"\n\ncolour = "never closed\n', 3, "not TOML"),
        ('name = """never\nclosed\n', 3, "not TOML"),
        ("x = " + "[" * 5000 + "]" * 5000, 1, "nested too deeply"),
    ],
)
def test_what_is_not_toml_names_the_line(text: str, line: int, message: str) -> None:
    (fault,) = faults(text)
    assert fault.line == line
    assert fault.message.startswith(message)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        # unknown keys, and the nearest that the same table knows
        (
            'name = "x"\n[lamp]\n# a comment\nwats = 3\n',
            (4, "unknown key 'lamp.wats'", "Did you mean 'watts'?"),
        ),
        ('name = "x"\nlampe = 3\n', (2, "unknown key 'lampe'", "Did you mean 'lamp'?")),
        ('name = "x"\n[lamps]\nwatts = 3\n', (2, "unknown key 'lamps'", "Did you mean 'lamp'?")),
        ('name = "x"\n[lamp]\nnam = 3\n', (3, "unknown key 'lamp.nam'", "Remove it.")),
        (
            'name = "x"\n[rooms.hall]\nwatts = 3\n\n[rooms.attic]\ncolor = "red"\n',
            (6, "unknown key 'rooms.attic.color'", "Did you mean 'colour'?"),
        ),
        ('name = "x"\nlamp.wats = 3\n', (2, "unknown key 'lamp.wats'", "Did you mean 'watts'?")),
        ('name = "x"\n"zzz" = 3\n', (2, "unknown key 'zzz'", "Remove it.")),
        (
            'name = """\nzzz = 1\n"""\n[lamp]\nzzz = 3\n',
            (5, "unknown key 'lamp.zzz'", "Remove it."),
        ),
        # wrong types: nothing is quietly turned into something else
        (
            'name = "x"\n[lamp]\nwatts = "3"\n',
            (3, "'lamp.watts': Input should be a valid integer", "Correct the value."),
        ),
        (
            'name = "x"\n[lamp]\nwatts = true\n',
            (3, "'lamp.watts': Input should be a valid integer", "Correct the value."),
        ),
        (
            'name = "x"\n[lamp]\nwarm = 1\n',
            (3, "'lamp.warm': Input should be a valid boolean", "Correct the value."),
        ),
        ("name = 3\n", (1, "'name': Input should be a valid string", "Correct the value.")),
        ('name = "x"\nlamp = 3\n', (2, "'lamp' is no table", "Write it as [lamp].")),
        # out of range
        (
            'name = "x"\n[lamp]\ncolour = "red"\nwatts = 0\n',
            (4, "'lamp.watts': Input should be greater than or equal to 1", "Correct the value."),
        ),
        # missing: the line of the table that lacks it
        ("[lamp]\nwatts = 3\n", (1, "'name' is missing", "Add name.")),
    ],
)
def test_a_fault_names_line_and_mend(text: str, fault: tuple[int, str, str]) -> None:
    (found,) = faults(text)
    assert (found.line, found.message, found.mend) == fault


def test_every_fault_is_told() -> None:
    found = faults('nam = "x"\n[lamp]\nwats = 1\nheight = "tall"\n')
    assert [fault.line for fault in found] == [1, 1, 3, 4]
    with pytest.raises(TableError, match=r"^line 2: unknown key 'lamp\.wats'; line 3"):
        read_table('[lamp]\nwats = 1\nheight = "tall"\n', Lamps)


def test_a_fault_never_repeats_the_value() -> None:
    (fault,) = faults('name = "x"\n[lamp]\nwatts = "s3cret"\n')
    assert "s3cret" not in fault.message + fault.mend
