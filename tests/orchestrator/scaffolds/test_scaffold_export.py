"""Exports are named by their content, read-only, and written anew when tampered with."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.scaffolds.export import export_files, is_intact
from orchestrator.scaffolds.store import ScaffoldStore
from orchestrator.scaffolds.trees import hash_tree
from tests.support.scaffold_samples import SEED, read_working_tree, write_folder


def test_an_export_is_read_only_and_named_by_its_tree(store: ScaffoldStore, tmp_path: Path) -> None:
    copy = store.export("crafter", tmp_path / "exports")
    assert copy == tmp_path / "exports" / hash_tree(SEED)
    assert read_working_tree(copy) == SEED
    modes = {stat.S_IMODE(p.stat().st_mode) for p in [copy, *copy.rglob("*")] if p.is_dir()}
    assert modes == {0o555}
    modes = {stat.S_IMODE(p.stat().st_mode) for p in copy.rglob("*") if p.is_file()}
    assert modes == {0o444}
    assert sorted(p.name for p in copy.parent.iterdir()) == [".lock", hash_tree(SEED)]


def test_an_intact_export_is_left_alone(tmp_path: Path) -> None:
    first = export_files(SEED, tmp_path)
    inode = first.stat().st_ino
    assert export_files(SEED, tmp_path).stat().st_ino == inode


def _edit(copy: Path) -> None:
    (copy / "hooks.py").chmod(0o644)
    (copy / "hooks.py").write_bytes(b"import os\n")


def _cache(copy: Path) -> None:
    (copy / "__pycache__").mkdir()
    (copy / "__pycache__" / "hooks.cpython-311.pyc").write_bytes(b"evil")


def _remove(copy: Path) -> None:
    (copy / "README.md").unlink()


def _link(copy: Path) -> None:
    (copy / "README.md").unlink()
    (copy.parent.parent / "kept.md").write_bytes(SEED["README.md"])
    (copy / "README.md").symlink_to(copy.parent.parent / "kept.md")


def _replace_by_link(copy: Path) -> None:
    elsewhere = write_folder(copy.parent.parent / "elsewhere", SEED)
    shutil.rmtree(copy)
    copy.symlink_to(elsewhere)


def _replace_by_file(copy: Path) -> None:
    shutil.rmtree(copy)
    copy.write_bytes(b"")


def _empty(copy: Path) -> None:
    shutil.rmtree(copy)
    copy.mkdir()


@pytest.mark.parametrize(
    "tamper", [_edit, _cache, _remove, _link, _replace_by_link, _replace_by_file, _empty]
)
def test_a_tampered_export_is_written_anew(tmp_path: Path, tamper: Callable[[Path], None]) -> None:
    root = tmp_path / "exports"
    copy = export_files(SEED, root)
    for folder in (copy, *filter(Path.is_dir, copy.rglob("*"))):
        folder.chmod(0o755)
    tamper(copy)
    assert not is_intact(copy, hash_tree(SEED))
    assert export_files(SEED, root) == copy
    assert is_intact(copy, hash_tree(SEED))
    assert not copy.is_symlink()
    assert sorted(p.name for p in root.iterdir()) == [".lock", hash_tree(SEED)]
    elsewhere = tmp_path / "elsewhere"
    assert not elsewhere.exists() or read_working_tree(elsewhere) == SEED


def test_what_a_killed_export_left_is_cleared(tmp_path: Path) -> None:
    part = write_folder(tmp_path / ".part-abc", {"memory/notes.md": b"half"})
    os.chmod(part / "memory", 0o555)
    copy = export_files(SEED, tmp_path)
    assert is_intact(copy, hash_tree(SEED))
    assert not part.exists()
