"""Behaviour metrics against a trace counted by hand."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest

from orchestrator.episodes.metrics import NAMES, MetricsCounter


def command(
    name: str, phase: str, *, ok: bool = True, matches: int | None = None, novel: bool | None = None
) -> dict[str, Any]:
    return {"name": name, "phase": phase, "ok": ok, "matches": matches, "novel": novel}


def step(
    seen: str,
    action: str,
    *turns: list[dict[str, Any]],
    overridden: bool = False,
    events: tuple[str, ...] = (),
) -> dict[str, Any]:
    return {
        "seen": seen,
        "action": action,
        "overridden": overridden,
        "events": list(events),
        "turns": [{"commands": commands} for commands in turns],
    }


def measure(*steps: dict[str, Any], last: str, **facts: Any) -> dict[str, float | None]:
    counter = MetricsCounter({"noop"})
    for one in steps:
        counter.add(one, one["seen"])
    return counter.finish(
        last_seen=last, **{"progression": 0.5, "growth": 0, "memory_tokens": 0, **facts}
    )


def test_a_tiny_trace_counted_by_hand() -> None:
    """Eight steps; what was seen before each, and after the last: A A B A B C C D | D."""
    search, append = "SEARCH", "APPEND"
    by_code = [command("READ", "LOG"), command("UPSERT", "LOG", novel=True)]
    metrics = measure(
        # A -> A by left: stuck
        step("A", "left", []),
        # A -> B
        step(
            "A",
            "right",
            [command(search, "LOG", matches=0), command(append, "LOG", novel=True)],
            [command(search, "PLAN", matches=3)],
        ),
        # B -> A: A again after two, and not what was just seen: oscillating
        step("B", "left", [command(append, "LOG", novel=False)], []),
        # A -> B: B again: oscillating; played by code
        step("A", "right", by_code, overridden=True),
        # B -> C, by an invalid action for which noop was played
        step("B", "noop", [command(search, "LOG", ok=False)], events=("invalid_action",)),
        # C -> C by noop: nothing tried, so not stuck
        step("C", "noop", [command("COUNT", "LOG", matches=0)]),
        # C -> D
        step("C", "right", [command(append, "LOG", ok=False), command(append, "LOG", novel=False)]),
        # D -> D: stuck
        step("D", "right", [command("LATEST", "LOG"), command("TAIL", "PLAN")]),
        last="D",
        progression=7 / 22,
        growth=120,
        memory_tokens=400,
    )
    assert metrics == {
        "progression": pytest.approx(100 * 7 / 22),
        "invalid_action_rate": 1 / 8,
        "stuck_rate": 2 / 6,  # all but the invalid one and the noop could change something
        "oscillation_rate": 2 / 8,
        "ineffective_action_rate": 5 / 8,  # 2 stuck, 2 oscillating, 1 invalid
        "redundant_write_rate": 2 / 4,
        "memory_growth": 15.0,
        "empty_search_rate": 1 / 2,  # COUNT is no search; a refused one found nothing out
        "write_search_ratio": 4 / 1,  # in LOG: two by APPEND that added nothing, two that did
        "write_read_ratio": 4 / 3,  # SEARCH, READ, COUNT in LOG; LATEST is none of the four
        "override_rate": 1 / 8,
        "memory_tokens_per_step": 50.0,
        "model_calls_per_step": 10 / 8,
    }


def test_an_invalid_step_that_also_oscillates_counts_once_as_ineffective() -> None:
    metrics = measure(step("A", "right"), step("B", "noop", events=("invalid_action",)), last="A")
    assert metrics["oscillation_rate"] == 1 / 2
    assert metrics["ineffective_action_rate"] == 1 / 2


def test_staying_is_no_oscillation() -> None:
    metrics = measure(step("A", "right"), step("A", "right"), step("A", "right"), last="A")
    assert (metrics["stuck_rate"], metrics["oscillation_rate"]) == (1.0, 0.0)


def test_a_ratio_with_nothing_under_it_is_null() -> None:
    nothing = measure(last="A")
    assert set(nothing) == set(NAMES)
    assert {name for name, value in nothing.items() if value is not None} == {"progression"}


@pytest.mark.parametrize(
    ("steps", "null"),
    [
        ([step("A", "noop")], {"stuck_rate"}),
        ([step("A", "right", [command("APPEND", "LOG", novel=True)])], {"empty_search_rate"}),
        ([step("A", "right", [command("SEARCH", "LOG", matches=1)])], {"redundant_write_rate"}),
        (
            [step("A", "right", [command("SEARCH", "PLAN", matches=1)])],
            {"write_search_ratio", "write_read_ratio"},
        ),
    ],
)
def test_only_what_is_undefined_is_null(steps: list[dict[str, Any]], null: set[str]) -> None:
    metrics = measure(*steps, last="B")
    assert all(metrics[name] is None for name in null)
    assert metrics["override_rate"] == 0.0
    assert metrics["invalid_action_rate"] == 0.0


def test_no_searches_is_not_no_empty_searches() -> None:
    with_one = measure(step("A", "right", [command("SEARCH", "LOG", matches=2)]), last="B")
    without = measure(step("A", "right", []), last="B")
    assert with_one["empty_search_rate"] == 0.0
    assert without["empty_search_rate"] is None


def test_what_was_seen_counts_and_not_the_number_of_its_text() -> None:
    """Two rooms in turn, each seen under a new number every time, as after long."""
    steps = [{**step(room, "right"), "observation": number} for number, room in enumerate("ABAB")]
    metrics = measure(*steps, last="B")
    assert metrics["stuck_rate"] == 1 / 4  # A B A B | B: the last one
    assert metrics["oscillation_rate"] == 2 / 4  # to A again, and to B again


def test_a_long_episode_needs_no_more_memory_than_a_short_one() -> None:
    counter = MetricsCounter({"noop"})
    for number in range(3):
        counter.add(step("", "right", []), f"{number} " * 1000)
    tracemalloc.start()
    try:
        for number in range(2000):
            counter.add(step("", "right", []), f"{number} " * 1000)
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert used < 100_000  # what was seen has more than nine million characters
