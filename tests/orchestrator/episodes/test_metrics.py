"""Behaviour metrics against a trace counted by hand."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.episodes.metrics import NAMES, MetricsCounter


def command(
    name: str, phase: str, *, ok: bool = True, matches: int | None = None, novel: bool | None = None
) -> dict[str, Any]:
    return {"name": name, "phase": phase, "ok": ok, "matches": matches, "novel": novel}


def step(
    observation: int,
    action: str,
    *turns: list[dict[str, Any]],
    overridden: bool = False,
    events: tuple[str, ...] = (),
) -> dict[str, Any]:
    return {
        "observation": observation,
        "action": action,
        "overridden": overridden,
        "events": list(events),
        "turns": [{"commands": commands} for commands in turns],
    }


def measure(*steps: dict[str, Any], last: int, **facts: Any) -> dict[str, float | None]:
    counter = MetricsCounter({"noop"})
    for one in steps:
        counter.add(one)
    return counter.finish(
        last_observation=last, **{"progression": 0.5, "growth": 0, "memory_tokens": 0, **facts}
    )


def test_a_tiny_trace_counted_by_hand() -> None:
    """Eight steps; what was seen before each, and after the last: A A B A B C C D | D."""
    search, append = "SEARCH", "APPEND"
    by_code = [command("READ", "LOG"), command("UPSERT", "LOG", novel=True)]
    metrics = measure(
        # A -> A by left: stuck
        step(0, "left", []),
        # A -> B
        step(
            0,
            "right",
            [command(search, "LOG", matches=0), command(append, "LOG", novel=True)],
            [command(search, "PLAN", matches=3)],
        ),
        # B -> A: A again after two, and not what was just seen: oscillating
        step(1, "left", [command(append, "LOG", novel=False)], []),
        # A -> B: B again: oscillating; played by code
        step(0, "right", by_code, overridden=True),
        # B -> C, by an invalid action for which noop was played
        step(1, "noop", [command(search, "LOG", ok=False)], events=("invalid_action",)),
        # C -> C by noop: nothing tried, so not stuck
        step(2, "noop", [command("COUNT", "LOG", matches=0)]),
        # C -> D
        step(2, "right", [command(append, "LOG", ok=False), command(append, "LOG", novel=False)]),
        # D -> D: stuck
        step(3, "right", [command("LATEST", "LOG"), command("TAIL", "PLAN")]),
        last=3,
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
    metrics = measure(step(0, "right"), step(1, "noop", events=("invalid_action",)), last=0)
    assert metrics["oscillation_rate"] == 1 / 2
    assert metrics["ineffective_action_rate"] == 1 / 2


def test_staying_is_no_oscillation() -> None:
    metrics = measure(step(0, "right"), step(0, "right"), step(0, "right"), last=0)
    assert (metrics["stuck_rate"], metrics["oscillation_rate"]) == (1.0, 0.0)


def test_a_ratio_with_nothing_under_it_is_null() -> None:
    nothing = measure(last=0)
    assert set(nothing) == set(NAMES)
    assert {name for name, value in nothing.items() if value is not None} == {"progression"}


@pytest.mark.parametrize(
    ("steps", "null"),
    [
        ([step(0, "noop")], {"stuck_rate"}),
        ([step(0, "right", [command("APPEND", "LOG", novel=True)])], {"empty_search_rate"}),
        ([step(0, "right", [command("SEARCH", "LOG", matches=1)])], {"redundant_write_rate"}),
        (
            [step(0, "right", [command("SEARCH", "PLAN", matches=1)])],
            {"write_search_ratio", "write_read_ratio"},
        ),
    ],
)
def test_only_what_is_undefined_is_null(steps: list[dict[str, Any]], null: set[str]) -> None:
    metrics = measure(*steps, last=1)
    assert all(metrics[name] is None for name in null)
    assert metrics["override_rate"] == 0.0
    assert metrics["invalid_action_rate"] == 0.0


def test_no_searches_is_not_no_empty_searches() -> None:
    with_one = measure(step(0, "right", [command("SEARCH", "LOG", matches=2)]), last=1)
    without = measure(step(0, "right", []), last=1)
    assert with_one["empty_search_rate"] == 0.0
    assert without["empty_search_rate"] is None
