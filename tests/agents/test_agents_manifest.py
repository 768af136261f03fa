"""`scaffold.toml`: what it may say, and what the host makes of its wishes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.manifest import Budgets, read_manifest
from agents.tables import TableError

HEAD = '[scaffold]\nname = "crafter"\nenvironment = "crafter"\n'
SHIPPED = sorted((Path(__file__).resolve().parents[2] / "scaffolds").glob("*/scaffold.toml"))


def test_the_defaults_are_those_of_the_protocol() -> None:
    budgets = read_manifest(HEAD).budgets
    assert (budgets.log_turns, budgets.plan_turns) == (5, 5)
    assert (budgets.search_limit, budgets.read_limit) == (100, 8000)


def test_options_are_plain_values() -> None:
    manifest = read_manifest(HEAD + '[options]\na = "x"\nb = 2\nc = 1.5\nd = true\n')
    assert manifest.options == {"a": "x", "b": 2, "c": 1.5, "d": True}
    assert [type(value) for value in manifest.options.values()] == [str, int, float, bool]


@pytest.mark.parametrize(
    ("text", "line", "message", "mend"),
    [
        ("", 1, "'scaffold' is missing", "Add scaffold."),
        ('[scaffold]\nname = "x"\n', 1, "'scaffold.environment' is missing", "Add environment."),
        (
            HEAD.replace('name = "crafter"', 'name = "My Scaffold"'),
            2,
            "'scaffold.name': String should match",
            "Correct the value.",
        ),
        (
            HEAD + 'backend = "fils"\n',
            4,
            "'scaffold.backend': Input should be 'files'",
            "Correct the value.",
        ),
        (
            HEAD + "[budgets]\nlog_turn = 3\n",
            5,
            "unknown key 'budgets.log_turn'",
            "Did you mean 'log_turns'?",
        ),
        (HEAD + "[budget]\n", 4, "unknown key 'budget'", "Did you mean 'budgets'?"),
        (HEAD + "[budgets]\n\nplan_turns = 0\n", 6, "'budgets.plan_turns'", "Correct the value."),
        (HEAD + '[budgets]\nread_limit = "9"\n', 5, "'budgets.read_limit'", "Correct the value."),
        (
            HEAD + "[options]\na = 1\nb = [1, 2]\n",
            6,
            "'options.b': an option is a text, a number, true or false",
            "Correct the value.",
        ),
        (HEAD + "[options]\nday = 2026-11-30\n", 5, "'options.day'", "Correct the value."),
        (HEAD + "[budgets\n", 4, "not TOML", "Correct the syntax of that line."),
    ],
)
def test_a_fault_names_line_and_mend(text: str, line: int, message: str, mend: str) -> None:
    with pytest.raises(TableError) as caught:
        read_manifest(text)
    (fault,) = caught.value.faults
    assert (fault.line, fault.mend) == (line, mend)
    assert fault.message.startswith(message)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.parent.name)
def test_the_shipped_scaffolds_are_valid(path: Path) -> None:
    assert read_manifest(path.read_text(encoding="utf-8")).scaffold.name == path.parent.name


budgets = st.builds(
    Budgets,
    log_turns=st.integers(1, 20),
    plan_turns=st.integers(1, 20),
    search_limit=st.integers(1, 500),
    read_limit=st.integers(100, 50_000),
    memory_characters=st.integers(1000, 10**7),
)


@given(budgets, budgets)
def test_no_budget_rises_above_its_ceiling(wish: Budgets, ceiling: Budgets) -> None:
    capped = wish.capped(ceiling).model_dump()
    for name, value in capped.items():
        assert value == min(getattr(wish, name), getattr(ceiling, name))
