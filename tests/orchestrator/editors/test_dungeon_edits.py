"""The known edits for MiniHack and NetHack: what each shows and writes, and that it plays."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from agents.scaffold import Context, Memory
from orchestrator.editors.rules.catalogue import Edit, read_catalogue
from orchestrator.episodes.metrics import NAMES
from orchestrator.episodes.planner import manifest_faults
from orchestrator.scaffolds.check import check_scaffold
from orchestrator.scaffolds.trees import read_folder
from tests.support.crafter_parts import EDITS
from tests.support.dungeon_parts import SCAFFOLDS, DungeonStage, edited

FAMILIES = ("minihack", "nethack")
CATALOGUES = {family: read_catalogue(EDITS, family) for family in FAMILIES}
EVERY = [(family, edit.name) for family in FAMILIES for edit in CATALOGUES[family]]
TASK = {"minihack": "minihack/mazewalk-9x9-v1", "nethack": "nethack-v1"}


def _edit(family: str, name: str) -> Edit:
    return next(edit for edit in CATALOGUES[family] if edit.name == name)


def _with_needs(family: str, name: str) -> list[str]:
    needs = _edit(family, name).text.requires
    return [*(each for need in needs for each in _with_needs(family, need)), name]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DungeonStage]:
    made = DungeonStage(tmp_path_factory.mktemp("dungeons"))
    yield made
    made.close()


# --- the catalogue ------------------------------------------------------------------------------


def test_games_do_not_share_edits_that_would_not_fit() -> None:
    crafter = read_catalogue(EDITS, "crafter")
    minihack = {
        "circles",
        "dead_ends",
        "keyed_map",
        "longer_tail",
        "only_new",
        "pruning",
        "visited",
    }
    assert {edit.name for edit in CATALOGUES["minihack"]} == minihack
    assert {edit.name for edit in CATALOGUES["nethack"]} == minihack | {
        "deeds",
        "searched",
        "stairs",
    }
    # four names stand in both folders; these edits are told apart by what they bring
    own = {"checklist", "compaction", "explored", "look_first", "position", "progress_file"}
    own |= {"search_done", "search_limit", "status_file"}
    both = {"circles", "keyed_map", "longer_tail", "only_new"}
    assert {edit.name for edit in crafter} == own | both
    for edit in crafter:
        assert not set(edit.text.environments) & set(FAMILIES)
        assert "where.py" not in edit.modules
    for family in FAMILIES:
        for edit in CATALOGUES[family]:
            assert family in edit.text.environments
            assert "crafter" not in edit.text.environments
            assert "position.py" not in edit.modules


@pytest.mark.parametrize(("family", "name"), EVERY)
def test_every_edit_is_sound_and_can_be_played(
    stage: DungeonStage, tmp_path: Path, family: str, name: str
) -> None:
    edit = _edit(family, name)
    assert edit.text.symptom.metric in NAMES
    edit.text.rationale.format_map(dict.fromkeys(NAMES, 0.5))
    folder = edited(family, tmp_path / name, *_with_needs(family, name))
    files = read_folder(folder)
    assert files != read_folder(SCAFFOLDS / family)
    assert check_scaffold(files, validate_manifest=manifest_faults) == []
    played, _ = stage.play(TASK[family], folder, steps=40)
    assert played.outcome in ("step_limit", "died", "won"), played.details
    assert played.metrics["override_rate"] == 0


# --- what each does -----------------------------------------------------------------------------


@dataclass
class Desk:
    """A hook's context, with memory files in a dictionary."""

    files: dict[str, str] = field(default_factory=dict)
    context: Context = field(init=False)

    def __post_init__(self) -> None:
        self.context = Context("nethack-v1", ("north", "search"), 100, {}, Memory(self._port))

    @property
    def notes(self) -> dict[str, str]:
        return self.context.notes

    def see(self, part: ModuleType, text: str, action: str = "north") -> None:
        """Show an observation to a part, with its hooks in their order."""
        self.context.previous_observation = self.context.observation
        self.context.previous_action, self.context.observation = action, text
        for name in ("on_observation", "after_log"):
            hook: Any = getattr(part, name, None)
            if hook is not None:
                hook(self.context)
        self.context.step += 1

    def _port(self, operation: str, *arguments: str) -> str:
        if operation == "FILES":
            return "\n".join(self.files)
        file, *text = arguments
        if operation == "PUT":
            self.files[file] = text[0]
        return self.files[file]


@pytest.fixture
def part(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Loads a part of an edit as the sandbox does: beside its siblings."""

    def load(edit: str, name: str) -> ModuleType:
        folder = EDITS / "dungeon"
        for place in (folder / "parts", folder / edit):
            monkeypatch.syspath_prepend(str(place))
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    yield load
    sys.modules.pop("where", None)


def at(
    x: int, y: int, level: int = 1, dungeon: str = "the Dungeons of Doom", view: str = ""
) -> str:
    """As much of an observation as the edits read."""
    return (
        f"Message: nothing\nYou (human rogue) are at ({x}, {y}) on level {level} of {dungeon}.\n"
        f"In view:\n{view or '- nothing'}\nMap: nothing"
    )


def test_visited_places_are_kept_level_by_level_and_only_this_one_is_shown(part: Any) -> None:
    desk, visited = Desk(), part("visited", "visited")
    for x in (5, 6, 5):
        desk.see(visited, at(x, 3))
    assert desk.notes == {"Visited on level 1": "(6, 3) (5, 3)"}  # the latest visit last
    desk.see(visited, at(9, 9, level=2))
    assert desk.notes == {"Visited on level 2": "(9, 9)"}
    desk.see(visited, at(1, 1, level=2, dungeon="the Gnomish Mines"))
    assert desk.notes == {"Visited on level 2 of the Gnomish Mines": "(1, 1)"}
    desk.see(visited, "Message: a menu hides everything")
    desk.see(visited, at(7, 3))
    assert desk.notes == {"Visited on level 1": "(6, 3) (5, 3) (7, 3)"}


def test_a_note_about_a_dead_end_is_shown_on_its_own_level(part: Any) -> None:
    desk, dead_ends = Desk({"actions_log": ""}), part("dead_ends", "dead_ends")
    desk.files["actions_log"] = "step 4: west; dead end at (3, 4) on level 1"
    desk.see(dead_ends, at(3, 4))
    assert desk.notes == {"Dead ends on level 1": "(3, 4)"}
    desk.files["actions_log"] = "\n".join(["step 9: dead end at (8, 8) on level 2", *"abc"])
    desk.see(dead_ends, at(8, 8, level=2))
    assert desk.notes == {}  # written more than three lines ago, and not seen then
    desk.see(dead_ends, at(5, 5))
    assert desk.notes == {"Dead ends on level 1": "(3, 4)"}


def test_searches_are_counted_by_place(part: Any) -> None:
    desk, searched = Desk(), part("searched", "searched")
    for action, x in (("north", 4), ("search", 4), ("search", 4), ("east", 5), ("search", 5)):
        desk.see(searched, at(x, 2), action)
    assert desk.notes == {"Searched on level 1": "(4, 2) 2 times (5, 2) 1 times"}
    desk.see(searched, at(5, 2, level=2), "down")
    assert desk.notes == {}


def test_ways_down_are_remembered_where_they_are(part: Any) -> None:
    desk, stairs = Desk(), part("stairs", "stairs")
    view = (
        "- staircase down: 3 (3 north, 1 west)\n- hole: 2 (2 south); 4 (4 east)\n- staircase up: 1"
    )
    desk.see(stairs, at(10, 10, view=view))
    told = "; ".join(
        f"way down at {place} on level 1" for place in ("(9, 7)", "(10, 12)", "(14, 10)")
    )
    assert desk.notes == {"Stairs": told}
    desk.see(stairs, at(10, 10, level=2))
    assert desk.notes == {}
    desk.see(stairs, at(30, 3))
    assert desk.notes == {"Stairs": told}


@pytest.mark.parametrize(
    ("places", "action", "warned"),
    [
        ([1, 2, 3] * 4, "north", True),
        ([1, 2, 3, 4] * 3, "north", False),
        ([1] * 11, "north", False),  # eleven steps are no sign yet
        ([1] * 12, "search", False),  # who searches stays on purpose
    ],
)
def test_a_warning_for_whoever_keeps_to_three_places(
    part: Any, places: list[int], action: str, warned: bool
) -> None:
    desk, circles = Desk(), part("circles", "circles")
    for x in places:
        desk.see(circles, at(x, 1), action)
    assert ("Warning" in desk.notes) == warned
    for x in (50, 51, 52):
        desk.see(circles, at(x, 1))
    assert "Warning" not in desk.notes


def test_a_diary_is_cut_to_forty_lines_once_it_has_more_than_sixty(part: Any) -> None:
    desk, pruning = Desk(), part("pruning", "pruning")
    desk.files["actions_log"] = "\n".join(map(str, range(60)))
    desk.see(pruning, at(1, 1))
    assert len(desk.files["actions_log"].splitlines()) == 60
    desk.files["actions_log"] += "\n60"
    desk.see(pruning, at(1, 1))
    assert desk.files["actions_log"].splitlines() == list(map(str, range(21, 61)))


def test_a_key_has_one_line_and_this_levels_keys_are_shown(part: Any) -> None:
    desk, upsert = Desk({"map_notes": ""}), part("keyed_map", "upsert").upsert
    for key, text in (
        ("dead end at (3, 4) on level 1", "step 2"),
        ("way down at (9, 9) on level 2", "step 5"),
        ("Dead end at (3, 4) on level 1", "step 8"),
    ):
        assert upsert(desk.context, "map_notes", key, text) == "saved"
    assert desk.files["map_notes"].splitlines() == [
        "Dead end at (3, 4) on level 1 | step 8",
        "way down at (9, 9) on level 2 | step 5",
    ]
    places = part("keyed_map", "places")
    desk.see(places, at(3, 4))
    assert desk.notes == {"Known places": "Dead end at (3, 4) on level 1"}
    desk.see(places, at(3, 4, level=3))
    assert desk.notes == {}
