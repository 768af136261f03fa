"""Boxoban levels: checked when they are added, named by the seed when they are played."""

import hashlib
import re
import sqlite3
from pathlib import Path

import pytest

from envs.errors import BadLevels, EnvironmentFault, EnvironmentUnavailable
from envs.minihack import boxoban
from envs.minihack.boxoban import LevelSet, read_levels
from envs.registry import make, select
from tests.envs.levels import (
    FAR,
    PUSH_EAST,
    PUSH_SOUTH,
    SOLUTIONS,
    TWO_BOXES,
    published,
    written,
)


def text(rows: list[str]) -> str:
    return "".join(f"{row}\n" for row in rows)


# --- reading -------------------------------------------------------------------------------------


def test_a_file_of_levels_is_read_in_order(tmp_path: Path) -> None:
    path = tmp_path / "000.txt"
    path.write_text(written(PUSH_EAST, PUSH_SOUTH, FAR))
    assert list(read_levels(path)) == [text(PUSH_EAST), text(PUSH_SOUTH), text(FAR)]


def test_line_ends_and_gaps_do_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "000.txt"
    path.write_bytes(("\n\n" + written(PUSH_EAST, FAR) + "\n\n").replace("\n", "\r\n").encode())
    assert list(read_levels(path)) == [text(PUSH_EAST), text(FAR)]


def spoiled(row: int, old: str, new: str) -> list[str]:
    rows = list(PUSH_EAST)
    assert old in rows[row]
    rows[row] = rows[row].replace(old, new, 1)
    return rows


# PUSH_EAST, spoiled in one row; it stands second in its file, so it ends in line 13.
FAULTS = {
    "character": (spoiled(2, "$", "X"), "it has the character 'X'"),
    "box already on its target": (spoiled(2, "$", "*"), "it has the character '*'"),
    "tab": (spoiled(3, "  ", "\t "), r"it has the character '\t'"),
    "ragged": (spoiled(3, "  ", " "), "its rows are not of one length"),
    "no player": (spoiled(2, "@", " "), "it has 0 players"),
    "two players": (spoiled(1, " ", "@"), "it has 2 players"),
    "a box too many": (spoiled(3, " ", "$"), "it has 2 boxes for 1 targets"),
    "a target too many": (spoiled(3, " ", "."), "it has 1 boxes for 2 targets"),
    "nothing to push": (
        [row.replace("$", " ").replace(".", " ") for row in PUSH_EAST],
        "it has 0 boxes for 0 targets",
    ),
    "open to the north": (spoiled(0, "###", "# #"), "it is not closed by walls"),
    "open to the south": (spoiled(4, "###", "# #"), "it is not closed by walls"),
    "open to the west": ([*PUSH_EAST[:3], " " + PUSH_EAST[3][1:], PUSH_EAST[4]],
                         "it is not closed by walls"),
    "open to the east": ([*PUSH_EAST[:3], PUSH_EAST[3][:-1] + " ", PUSH_EAST[4]],
                         "it is not closed by walls"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_level_is_named_by_file_and_line(data: Path, tmp_path: Path, fault: str) -> None:
    rows, wrong = FAULTS[fault]
    copy = published(tmp_path / "copy")
    path = copy / "medium" / "train" / "001.txt"
    path.write_text(written(PUSH_SOUTH, rows))
    with pytest.raises(BadLevels) as caught:
        boxoban.add(copy)
    # "; 0", five rows, an empty line, "; 1", five rows: the level ends in line 13.
    assert caught.value.message == (f"{path}:13: the level that ends here is faulty: {wrong}.")
    assert "fresh copy" in str(caught.value.mend)
    assert not list(data.rglob("*.db")), "nothing is added of a copy with a fault"
    assert not list(data.rglob("*.new"))


def test_a_file_that_is_not_ascii(data: Path, tmp_path: Path) -> None:
    copy = published(tmp_path / "copy")
    path = copy / "hard" / "000.txt"
    path.write_text(written(FAR).replace("@", "ö"), encoding="utf-8")
    with pytest.raises(BadLevels, match=rf"{re.escape(str(path))} cannot be read: .*ascii"):
        boxoban.add(copy)
    assert not list(data.rglob("*.db"))


def test_a_folder_in_the_place_of_a_file(data: Path, tmp_path: Path) -> None:
    copy = published(tmp_path / "copy")
    (copy / "hard" / "001.txt").mkdir()
    with pytest.raises(BadLevels, match=r"001\.txt cannot be read"):
        boxoban.add(copy)


@pytest.mark.parametrize("name", ["empty", "missing", "file.txt"])
def test_a_place_without_levels(data: Path, tmp_path: Path, name: str) -> None:
    place = tmp_path / name
    if name == "empty":
        place.mkdir()
    elif name == "file.txt":
        place.write_text(written(FAR))
    with pytest.raises(BadLevels) as caught:
        boxoban.add(place)
    assert str(caught.value) == (
        f"There are no Boxoban levels in {place}. Give the folder that holds medium/train and hard"
        " with their .txt files."
    )


def test_files_that_hold_no_level(data: Path, tmp_path: Path) -> None:
    (tmp_path / "hard").mkdir()
    (tmp_path / "hard" / "000.txt").write_text("; 0\n\n; 1\n\n")
    with pytest.raises(BadLevels, match="hold no level"):
        boxoban.add(tmp_path)
    assert not list(data.rglob("*.*"))


# --- adding --------------------------------------------------------------------------------------


def test_what_was_added_can_be_opened(data: Path, tmp_path: Path) -> None:
    medium, hard = boxoban.add(published(tmp_path / "copy"))
    assert (medium.name, medium.count, medium.path) == ("medium", 3, data / "boxoban" / "medium.db")
    assert (hard.name, hard.count) == ("hard", 2)
    every = "".join(f"{text(rows)}\n" for rows in (PUSH_EAST, PUSH_SOUTH, TWO_BOXES))
    assert medium.digest == hashlib.sha256(every.encode()).hexdigest()[:12]
    assert LevelSet.open("medium") == medium
    assert sorted(path.name for path in (data / "boxoban").iterdir()) == ["hard.db", "medium.db"]


@pytest.mark.parametrize("inside", ["", "boxoban-levels-master", "boxoban-levels"])
def test_the_copy_may_lie_in_the_folder_of_a_download(
    data: Path, tmp_path: Path, inside: str
) -> None:
    published(tmp_path / "download" / inside)
    assert [one.count for one in boxoban.add(tmp_path / "download")] == [3, 2]


def test_one_set_alone_is_enough(data: Path, tmp_path: Path) -> None:
    (tmp_path / "hard").mkdir()
    (tmp_path / "hard" / "000.txt").write_text(written(FAR))
    assert [one.name for one in boxoban.add(tmp_path)] == ["hard"]
    make("minihack/boxoban-hard").close()
    with pytest.raises(EnvironmentUnavailable):
        make("minihack/boxoban-medium")


def test_the_order_of_files_on_the_disk_does_not_matter(data: Path, tmp_path: Path) -> None:
    (tmp_path / "hard").mkdir()
    (tmp_path / "hard" / "b.txt").write_text(written(FAR))
    (tmp_path / "hard" / "a.txt").write_text(written(PUSH_SOUTH))
    (found,) = boxoban.add(tmp_path)
    assert found.level(0) == text(PUSH_SOUTH)


def test_adding_again_replaces_and_a_fault_keeps_the_old(levels: Path) -> None:
    before = LevelSet.open("medium"), LevelSet.open("hard")
    assert boxoban.add(levels) == before
    # medium is fine and would change; hard is faulty: neither may be replaced.
    (levels / "medium" / "train" / "002.txt").write_text(written(FAR))
    (levels / "hard" / "000.txt").write_text(written(FAULTS["no player"][0]))
    with pytest.raises(BadLevels):
        boxoban.add(levels)
    assert (LevelSet.open("medium"), LevelSet.open("hard")) == before
    assert not list(before[0].path.parent.glob("*.new"))
    (levels / "hard" / "000.txt").write_text(written(FAR))
    medium, hard = boxoban.add(levels)
    assert (medium.count, hard.count) == (4, 1)
    assert medium.digest != before[0].digest


# --- what is not there, or damaged ---------------------------------------------------------------


def test_without_levels_the_task_is_unavailable_and_says_what_to_do(data: Path) -> None:
    with pytest.raises(EnvironmentUnavailable) as caught:
        make("minihack/boxoban-hard")
    assert str(caught.value) == (
        "minihack/boxoban-hard-v1 needs the Boxoban levels, which are not here. Get a copy of"
        " github.com/google-deepmind/boxoban-levels and add it: slowwave envs add-boxoban PATH."
    )


def test_a_suite_names_what_it_leaves_out(data: Path) -> None:
    found = select("minihack")
    assert len(found.ids) == 6
    assert list(found.unavailable) == ["minihack/boxoban-medium-v1", "minihack/boxoban-hard-v1"]
    assert all("add-boxoban PATH" in why for why in found.unavailable.values())


def test_with_levels_the_suite_is_whole(levels: Path) -> None:
    found = select("MiniHack ")
    assert (len(found.ids), found.unavailable) == (8, {})


def _without(table: str) -> None:
    with sqlite3.connect(LevelSet.open("medium").path) as file:
        file.execute(f"delete from {table}")


def _overwrite(content: bytes) -> None:
    LevelSet.open("medium").path.write_bytes(content)


DAMAGES = {
    "empty file": lambda: _overwrite(b""),
    "no database": lambda: _overwrite(b"once upon a time " * 100),
    "cut off": lambda: _overwrite(LevelSet.open("medium").path.read_bytes()[:5000]),
    "levels gone": lambda: _without("levels"),
    "facts gone": lambda: _without("facts"),
    "one level gone": lambda: _without("levels where number = 1"),
    "digest gone": lambda: _without("facts where name = 'digest'"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_a_sentence(levels: Path, damage: str) -> None:
    path = LevelSet.open("medium").path
    DAMAGES[damage]()
    with pytest.raises(EnvironmentFault) as caught:
        make("minihack/boxoban-medium").reset(0)
    assert caught.value.message.startswith(f"The Boxoban levels in {path} cannot be used: ")
    assert caught.value.mend == "Add them again: slowwave envs add-boxoban PATH."
    make("minihack/boxoban-hard").close()  # the other set is as good as before
    boxoban.add(levels)
    make("minihack/boxoban-medium").close()


# --- playing -------------------------------------------------------------------------------------


def test_a_seed_names_its_level(levels: Path) -> None:
    found = LevelSet.open("medium")
    # 7919 leaves 2 when divided by 3: seeds 0, 1, 2 get the levels 0, 2, 1.
    assert [found.level(seed) for seed in range(4)] == [
        text(PUSH_EAST),
        text(TWO_BOXES),
        text(PUSH_SOUTH),
        text(PUSH_EAST),
    ]
    assert found.level(2**31 - 1) in {text(PUSH_EAST), text(TWO_BOXES), text(PUSH_SOUTH)}


def test_the_level_that_is_shown_is_that_of_the_seed(levels: Path) -> None:
    environment = make("minihack/boxoban-hard")
    first = environment.reset(0).text
    # Boulders are `, targets fountains {; bars # are the walls.
    assert first.partition("you are @):\n")[2].startswith(
        "##########\n#@.......#\n#......`{#\n#........#\n##########\nStatus:"
    )
    assert "- a boulder: 6 (1 south, 6 east)" in first
    assert "- fountain: 7 (1 south, 7 east)" in first
    other = environment.reset(1).text
    assert other != first
    assert environment.reset(0).text == first
    environment.close()


@pytest.mark.parametrize("seed", range(3))
def test_the_last_push_wins(levels: Path, seed: int) -> None:
    environment = make("minihack/boxoban-medium")
    environment.reset(seed)
    moves = SOLUTIONS[LevelSet.open("medium").level(seed).rstrip()]
    for move in moves[:-1]:
        step = environment.step(move)
        assert (step.done, step.outcome, environment.progression) == (False, None, 0.0)
    step = environment.step(moves[-1])
    assert (step.done, step.outcome, environment.progression) == (True, "won", 1.0)
    assert environment.details()["success"] is True
    environment.reset(seed)
    assert environment.progression == 0.0
    assert environment.details()["success"] is False
    environment.close()


def test_only_what_the_puzzle_knows_can_be_done(levels: Path) -> None:
    environment = make("minihack/boxoban-hard")
    assert environment.actions == ("north", "east", "south", "west", "escape")
    environment.reset(1)  # PUSH_SOUTH: the box is beside the wall from the south once it is there
    assert environment.step("east").outcome is None
    assert environment.step("south").outcome is None
    assert environment.step("west").outcome is None  # pushed aside: now it can only go west
    assert "- a boulder: 1 (1 west)" in environment.step("escape").observation.text
    environment.close()


def test_the_levels_are_part_of_the_version(levels: Path) -> None:
    environment = make("minihack/boxoban-medium")
    assert environment.versions["boxoban-levels"] == LevelSet.open("medium").digest
    environment.close()
