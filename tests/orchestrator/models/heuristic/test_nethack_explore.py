"""Where a player goes who knows of no way on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import envs.registry
from envs.base import Environment
from orchestrator.models.heuristic.game import Decision
from orchestrator.models.heuristic.nethack.decide import decide
from orchestrator.models.heuristic.nethack.explore import explore
from orchestrator.models.heuristic.nethack.facts import Facts, read_facts
from orchestrator.models.heuristic.nethack.terrain import STEPS
from orchestrator.models.heuristic.nethack.view import Place, parse_view
from tests.support.dungeons import LEFT, TOP, decided, stand

ELSEWHERE = frozenset((x, 19) for x in range(60, 70))
"""Places far away: whoever notes so many remembers where it has been."""
STRAIGHT = frozenset(("north", "east", "south", "west", "escape"))
WALK = frozenset((*STEPS, "escape"))


def row(columns: range) -> frozenset[Place]:
    """Visited squares of a drawing's first row, and `ELSEWHERE`."""
    return ELSEWHERE | {(LEFT + x, TOP) for x in columns}


def explored(
    drawing: str,
    facts: Facts | None = None,
    last: str = "",
    can: frozenset[str] = frozenset(),
    **rest: object,
) -> Decision:
    return explore(stand(drawing, facts, last, can, **rest))


def way(decision: Decision) -> str:
    """The direction, whether walked or run."""
    return decision.action.removeprefix("far_")


# --- the nearest end ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("drawing", "direction"),
    [
        ("####@##", "east"),
        ("##@####", "west"),
        ("#^@####", "east"),  # two steps over a trap are worse than four without
        ("#e@####", "east"),
    ],
)
def test_the_nearest_unexplored_end_comes_first(drawing: str, direction: str) -> None:
    seen = Facts(visited=row(range(1, len(drawing) - 1)))
    assert way(explored(drawing, seen)) == direction


@pytest.mark.parametrize("known", ["visited", "dead_ends"])
def test_where_the_player_has_been_or_nothing_leads_on_it_does_not_go_again(known: str) -> None:
    drawing, inner = "##@####", row(range(1, 6))
    for ends, direction in (((10,), "east"), ((16,), "west")):
        places = frozenset((x, TOP) for x in ends)
        facts = {
            "visited": Facts(visited=inner | places),
            "dead_ends": Facts(visited=inner, dead_ends=places),
        }[known]
        assert way(explored(drawing, facts)) == direction


@pytest.mark.parametrize(
    ("drawing", "last", "direction"),
    [
        ("#@#####", "east", "east"),  # one back or five ahead: on
        ("#####@#", "far_west", "west"),
        ("#@############", "east", "west"),  # one back or twelve ahead: back
        ("#@#####", "search", "west"),  # whoever stood still turns round for nothing
    ],
)
def test_the_player_turns_round_only_where_that_pays(
    drawing: str, last: str, direction: str
) -> None:
    seen = Facts(visited=row(range(1, len(drawing) - 1)))
    assert way(explored(drawing, seen, last)) == direction


def test_a_doorway_comes_before_the_dark_part_of_a_room() -> None:
    room = """
        --_---
        |....|
        |....|
        |.@..|
        |....|
        |...
    """
    assert way(explored(room, Facts(visited=ELSEWHERE))) == "north"
    through = Facts(visited=ELSEWHERE | {(LEFT + 2, TOP)})
    assert way(explored(room, through)) in ("south", "southeast")


def test_a_closed_door_is_tried() -> None:
    assert explored("----\n|@.+\n----", Facts(visited=ELSEWHERE)).action == "east"


WARREN = (
    "#    #   ###",
    " #  #    # #",
    "  ##     # #",
    "  @#######  ",
    "  #     #   ",
    "   #     #  ",
    "    #     # ",
)
ENDS = {(0, 0), (5, 0), (11, 2), (4, 6), (10, 6)}
"""Squares of its corridors with one neighbor."""


def wander(rows: tuple[str, ...], can: frozenset[str]) -> Iterator[tuple[Place, Decision]]:
    """Every step of a player that remembers all it has done, to the first search."""
    at = next((x, y) for y, line in enumerate(rows) for x, sign in enumerate(line) if sign == "@")
    floor = {(x, y) for y, line in enumerate(rows) for x, sign in enumerate(line) if sign != " "}
    been, last = {at}, ""
    for turn in range(200):
        drawing = [
            "".join("@" if (x, y) == at else "#" if (x, y) in floor else " " for x in range(12))
            for y in range(len(rows))
        ]
        visited = ELSEWHERE | {(LEFT + x, TOP + y) for x, y in been - {at}}
        scene = stand("\n".join(drawing), Facts(visited=visited), last, can, turn=turn)
        decision = explore(scene)
        yield at, decision
        if decision.goal != "explore":
            return
        last, (dx, dy) = decision.action, STEPS[decision.action]
        at = at[0] + dx, at[1] + dy
        assert at in floor
        been.add(at)


def test_a_player_who_remembers_sees_every_end_of_the_corridors_and_not_twice() -> None:
    steps = list(wander(WARREN, WALK | {"search"}))
    places = [at for at, _ in steps]
    assert set(places) >= ENDS
    assert steps[-1][1].goal == "search"
    assert all(places.count(end) == 1 for end in ENDS - {places[-1]})
    squares = sum(len(line.replace(" ", "")) for line in WARREN)
    assert len(places) <= 2 * squares  # there and back, no more


def test_without_diagonal_actions_no_step_into_the_unknown_is_diagonal() -> None:
    maze = ("#####", "#   #", "# ###", "# @  ", "#####")
    steps = list(wander(maze, STRAIGHT))
    assert {decision.action for _, decision in steps[:-1]} <= STRAIGHT
    assert len(steps) > 10


# --- searching ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("west", "east", "direction"),
    [
        (0, 0, "east"),  # both alike: the nearer
        (0, 12, "west"),
        (12, 24, "west"),
        (24, 12, "east"),
        (11, 11, "east"),
    ],
)
def test_the_least_searched_dead_end_is_searched(west: int, east: int, direction: str) -> None:
    searched = {(10, TOP): west, (15, TOP): east}
    facts = Facts(visited=row(range(6)), searched=searched)
    decision = explored("###@##", facts)
    assert (decision.goal, way(decision)) == ("search", direction)


def test_whoever_stands_at_that_end_searches_on_until_it_is_another() -> None:
    def at_the_end(times: int) -> str:
        facts = Facts(visited=row(range(6)), searched={(10, TOP): times})
        return way(explored("@#####", facts))

    assert {at_the_end(times) for times in range(12)} == {"search"}
    assert at_the_end(12) == "east"


def test_in_a_closed_room_walls_with_room_behind_them_are_searched() -> None:
    room = "-------\n|.....|\n|..@..|\n|.....|\n-------"
    seen = ELSEWHERE | {(x, y) for x in range(11, 16) for y in range(6, 9)}
    away = explored(room, Facts(visited=seen), corner=(30, 5))
    assert away.goal == "search"
    assert away.action in STEPS
    beside = room.replace("..@..", ".....").replace("|.....|\n-------", "|..@..|\n-------")
    assert explored(beside, Facts(visited=seen), corner=(30, 5)).action == "search"


@pytest.mark.parametrize(
    ("room", "edge"),
    [
        ("----\n|@.|\n|..|\n----", (0, 0)),
        ("----\n|..|\n|.@|\n----", (75, 17)),
        ("----\n|..|\n|@.|\n|..|\n----", (0, 8)),
        ("----\n|..|\n|.@|\n|..|\n----", (75, 8)),
        ("-----\n|.@.|\n|...|\n-----", (30, 0)),
        ("-----\n|...|\n|.@.|\n-----", (30, 17)),
    ],
)
def test_nothing_is_searched_for_behind_the_edge_of_the_map(room: str, edge: Place) -> None:
    seen = Facts(visited=ELSEWHERE)
    assert explored(room, seen, corner=(30, 8)).action == "search"
    at_the_edge = explored(room, seen, corner=edge)
    assert at_the_edge.goal == "search"
    assert at_the_edge.action in STEPS


def test_where_there_is_no_search_the_player_walks_on() -> None:
    for turn in range(40):
        facts = Facts(visited=row(range(4)))
        assert explored("@###", facts, can=WALK, turn=turn).action in ("east", "far_east")


def test_a_player_walled_in_searches_or_waits() -> None:
    cell = "---\n|@|\n---"
    assert explored(cell).action == "search"
    assert explored(cell, can=WALK).action == "escape"


# --- who is stuck, and who remembers nothing ----------------------------------------------------


def test_a_boulder_is_pushed_in_some_spells_and_never_where_it_is_known_to_be_stuck() -> None:
    def goals(facts: Facts) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for turn in range(0, 720, 12):
            decision = explored("##@0##", facts, turn=turn)
            found.setdefault(decision.goal, set()).add(way(decision))
        return found

    free = goals(Facts(visited=row(range(2))))
    assert free.keys() == {"push on", "search"}
    assert free["push on"] == {"east"}
    stuck = goals(Facts(visited=row(range(2)), blocked=frozenset({(13, TOP)})))
    assert stuck.keys() == {"search"}


def test_whoever_goes_round_in_circles_breaks_out_now_and_then() -> None:
    def decisions(warning: bool) -> list[Decision]:
        facts = Facts(visited=row(range(1, 6)), warning=warning)
        return [explored("###@###", facts, turn=turn) for turn in range(90)]

    out = [one.action for one in decisions(warning=True) if one.goal == "break out"]
    assert 10 < len(out) < 60
    assert set(out) == {"east", "west"}
    assert not any(one.goal == "break out" for one in decisions(warning=False))


@pytest.mark.parametrize(
    ("can", "ways"),
    [
        (WALK, {"north", "east", "southwest"}),
        (STRAIGHT, {"north", "east"}),  # as in Boxoban
    ],
)
def test_out_of_a_circle_every_step_that_can_be_taken_is_taken(
    can: frozenset[str], ways: set[str]
) -> None:
    fork = " # \n-@#\n#| "
    facts = Facts(visited=row(range(3)), warning=True)
    found = [explored(fork, facts, "search", can, turn=turn) for turn in range(200)]
    assert {one.action for one in found if one.goal == "break out"} == ways


def test_nobody_breaks_out_across_the_corner_of_a_doorway() -> None:
    facts = Facts(visited=row(range(3)), warning=True)
    found = [explored("|..\n@..\n|..", facts, can=WALK, turn=turn) for turn in range(200)]
    assert {one.action for one in found if one.goal == "break out"} == {"east"}


def test_who_remembers_nothing_keeps_to_one_end_for_a_spell_and_not_for_ever() -> None:
    spells = [
        {way(explored("####@####", turn=turn)) for turn in range(start, start + 24)}
        for start in range(0, 960, 24)
    ]
    assert all(len(spell) == 1 for spell in spells)
    assert set.union(*spells) == {"east", "west"}


def test_the_same_scene_is_always_decided_alike() -> None:
    first = [decided("####@####", turn=turn) for turn in range(50)]
    assert [decided("####@####", turn=turn) for turn in reversed(range(50))] == first[::-1]


# --- the real game ------------------------------------------------------------------------------


@pytest.fixture(params=["corridor-r3", "quest-easy", "corridorbattle-dark"])
def task(request: pytest.FixtureRequest) -> Iterator[Environment]:
    environment = envs.registry.make(f"minihack/{request.param}-v1")
    yield environment
    environment.close()


def test_every_decision_is_in_the_vocabulary_of_a_minihack_task(task: Environment) -> None:
    actions = frozenset(task.actions)
    seen = [task.reset(3).text]
    last, places = "", set()
    for turn in range(40):
        view = parse_view(seen[-1])
        places.add(view.here)
        # Half of the time as one who remembers all that it has seen, half as one who does not.
        facts = read_facts("", seen if turn % 20 < 10 else seen[-1:])
        last = decide(view, facts, last, actions).action
        assert last in actions
        step = task.step(last)
        if step.done:
            break
        seen.append(step.observation.text)
    assert len(places) > 5
