"""Hashing a folder agrees with git; what a folder may not hold is refused by name."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.scaffolds.errors import BadName, NoStore, RefusedFile
from orchestrator.scaffolds.names import MAX_FILE_BYTES, MAX_FILES
from orchestrator.scaffolds.trees import hash_blob, hash_tree, read_folder, tree_of_folder
from tests.support.scaffold_samples import SEED, write_folder

SEGMENTS = st.sampled_from(["a", "a.b", "a-b", "a0", "b", "notes.md", "z_", "lib"])
PATHS = st.lists(SEGMENTS, min_size=1, max_size=3).map("/".join)


def _no_file_is_a_folder(files: dict[str, bytes]) -> bool:
    return not any(b.startswith(f"{a}/") for a in files for b in files)


def test_known_hashes() -> None:
    # From `git hash-object` and `git mktree`, and printed in many a git tutorial.
    assert hash_blob(b"") == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
    assert hash_blob(b"hello\n") == "ce013625030ba8dba906f756967f9e9ca394464a"
    assert hash_tree({}) == "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


@settings(max_examples=25, deadline=None)
@given(
    files=st.dictionaries(PATHS, st.binary(max_size=40), min_size=1, max_size=6).filter(
        _no_file_is_a_folder
    )
)
def test_hash_is_what_git_writes(files: dict[str, bytes], tmp_path_factory) -> None:
    folder = write_folder(tmp_path_factory.mktemp("folder"), files)

    def git(*args: str) -> str:
        return subprocess.run(
            ["git", "-c", "core.autocrlf=false", *args],
            cwd=folder,
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()

    git("init", "--quiet")
    git("add", "--force", ".")
    assert hash_tree(files) == git("write-tree")


def test_caches_and_git_are_no_part_of_a_scaffold(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "a", SEED)
    plain = tree_of_folder(folder)
    write_folder(
        folder,
        {"__pycache__/hooks.cpython-311.pyc": b"x", "stray.pyc": b"y", ".git/config": b"z"},
    )
    assert tree_of_folder(folder) == plain == hash_tree(SEED)


def test_carriage_returns_are_kept(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "a", {"scaffold.toml": b"a = 1\r\n"})
    assert read_folder(folder) == {"scaffold.toml": b"a = 1\r\n"}


def test_a_missing_folder_gets_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(NoStore, match=r"no scaffold folder at .*nowhere\. Give the folder"):
        read_folder(tmp_path / "nowhere")


def _link(folder: Path) -> None:
    (folder / "memory" / "secret.md").symlink_to("/etc/hostname")


def _linked_folder(folder: Path) -> None:
    (folder / "lib").symlink_to("/etc")


def _pipe(folder: Path) -> None:
    os.mkfifo(folder / "pipe.md")


def _executable(folder: Path) -> None:
    (folder / "hooks.py").chmod(0o755)


def _long(folder: Path) -> None:
    (folder / "long.md").write_bytes(b"x" * (MAX_FILE_BYTES + 1))


def _many(folder: Path) -> None:
    for number in range(MAX_FILES):
        (folder / f"f{number}.md").touch()


def _large(folder: Path) -> None:
    for number in range(9):
        (folder / f"f{number}.md").write_bytes(b"x" * MAX_FILE_BYTES)


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (_link, r"memory/secret\.md in .* is a symbolic link"),
        (_linked_folder, r"lib in .* is a symbolic link"),
        (_pipe, r"pipe\.md in .* is not an ordinary file"),
        (_executable, r"hooks\.py in .* is executable"),
        (_long, r"long\.md in .* is 262,145 bytes long"),
        (_many, r"has more than 200 files"),
        (_large, r"is 2,3\d\d,\d\d\d bytes in all"),
    ],
)
def test_what_cannot_be_kept_is_refused_by_name(tmp_path: Path, spoil, sentence: str) -> None:
    folder = write_folder(tmp_path / "a", SEED)
    spoil(folder)
    with pytest.raises(RefusedFile, match=sentence):
        read_folder(folder)


@pytest.mark.parametrize(
    "path",
    [".hidden", "a b.md", "memory/.env", "-rf.md", "x/y/z/u/v.md", "dot.", "ü.md", "back\\slash"],
)
def test_odd_names_are_refused(tmp_path: Path, path: str) -> None:
    folder = write_folder(tmp_path / "a", {**SEED, path: b""})
    with pytest.raises(BadName, match="not a file path that a scaffold can hold"):
        read_folder(folder)


def test_names_that_differ_only_in_case_are_refused(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "a", {**SEED, "readme.md": b""})
    with pytest.raises(BadName, match=r"both README\.md and readme\.md"):
        read_folder(folder)
