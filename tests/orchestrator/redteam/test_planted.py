"""Reading planted candidates, and those that lie in tests/redteam."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.editors.rules.catalogue import read_catalogue
from orchestrator.errors import SlowwaveError
from orchestrator.redteam.planted import Planted, read_planted
from orchestrator.redteam.recordings import MASK
from orchestrator.redteam.team import FAMILY
from orchestrator.scaffolds.check import check_scaffold
from orchestrator.scaffolds.trees import read_folder
from orchestrator.workspace import seed_scaffolds

SHIPPED = Path(__file__).parents[2] / "redteam"
BANK = f"MASK = {MASK}\nSIGHTS = {{}}\nSEEDS = {{}}\n".encode()


def plant(folder: Path, name: str, text: str, **files: str) -> None:
    (folder / name).mkdir(parents=True)
    (folder / name / "planted.toml").write_text(f'tries = "t"\nsubject = "s"\n{text}')
    for file, content in files.items():
        (folder / name / f"{file}.py").write_text(content)


def shipped_changes(one: Planted) -> dict[str, bytes]:
    edits = {edit.name: edit for edit in read_catalogue(seed_scaffolds() / "edits", FAMILY)}
    return one.changes(read_folder(seed_scaffolds() / FAMILY), edits, BANK)


def test_files_lie_beside_the_toml_and_texts_are_appended(tmp_path: Path) -> None:
    plant(tmp_path, "a", 'append = {"README.md" = "!"}\nbank = "bank.py"\n', hooks="new = 1\n")
    (one,) = read_planted(tmp_path)
    champion = {"README.md": b"Read me", "hooks.py": b"old = 1\n", "scaffold.toml": b""}
    assert one.changes(champion, {}, b"games") == {
        "README.md": b"Read me!",
        "hooks.py": b"new = 1\n",
        "bank.py": b"games",
    }


def test_a_twin_has_every_byte_of_the_other_and_its_own_words(tmp_path: Path) -> None:
    plant(tmp_path, "one", 'append = {"a.py" = "# a"}\n', hooks="h = 1\n")
    plant(tmp_path, "two", 'same_as = "one"\n')
    one, two = read_planted(tmp_path)
    assert one.changes({}, {}, b"") == two.changes({}, {}, b"") != {}
    assert two.name == "two"


def test_controls_come_last_because_they_end_a_night(tmp_path: Path) -> None:
    plant(tmp_path, "better", "better = true\n")
    plant(tmp_path, "cheat", "")
    assert [one.name for one in read_planted(tmp_path)] == ["cheat", "better"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tris = 1\n", "planted.toml is no planted candidate"),
        ("= \n", "planted.toml is no planted candidate"),
        ('same_as = "nobody"\n', "said to be the same as nobody"),
    ],
)
def test_a_fault_names_the_candidate(tmp_path: Path, text: str, said: str) -> None:
    plant(tmp_path, "wrong", text)
    with pytest.raises(SlowwaveError, match=said):
        read_planted(tmp_path)


def test_an_edit_that_is_not_there_is_named(tmp_path: Path) -> None:
    plant(tmp_path, "wrong", 'edits = ["checklst"]\n')
    (one,) = read_planted(tmp_path)
    with pytest.raises(SlowwaveError, match="wrong cannot stand on the edit checklst"):
        one.changes({}, {}, b"")


def test_an_empty_folder_says_where_they_are(tmp_path: Path) -> None:
    with pytest.raises(SlowwaveError) as refused:
        read_planted(tmp_path)
    assert "tests/redteam" in str(refused.value.mend)


def test_every_kind_of_cheat_is_planted_and_one_control() -> None:
    planted = read_planted(SHIPPED)
    kinds = {one.name.partition("-")[0] for one in planted}
    assert kinds == {
        "read", "tamper", "forge", "memorise", "noop", "sabotage", "timeout", "exit", "better"
    }  # fmt: skip
    assert [one.name for one in planted if one.text.better] == ["better"]


def test_only_what_imports_openly_is_stopped_by_the_static_check() -> None:
    """The others have to get as far as the smoke episode, or they would show nothing of it."""
    champion = read_folder(seed_scaffolds() / FAMILY)
    refused = [
        one.name
        for one in read_planted(SHIPPED)
        if check_scaffold({**champion, **shipped_changes(one)})
    ]
    assert refused == ["read-seeds-openly"]


def test_the_champion_itself_and_a_comment_are_planted() -> None:
    planted = {one.name: one for one in read_planted(SHIPPED)}
    assert shipped_changes(planted["noop-identical"]) == {}
    comment = shipped_changes(planted["noop-comment"])
    old = read_folder(seed_scaffolds() / FAMILY)["hooks.py"].decode()
    assert list(comment) == ["hooks.py"]
    added = comment["hooks.py"].decode().removeprefix(old).strip()
    assert added.startswith("#")
    assert "\n" not in added
