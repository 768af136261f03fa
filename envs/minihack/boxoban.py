"""The Boxoban levels, which do not come with MiniHack: added once from a local copy, then kept.

Two tasks play levels of the set that DeepMind published as ``boxoban-levels``
(https://github.com/google-deepmind/boxoban-levels): text files of levels, each after a line with a
semicolon and its number. `add` checks every level, converts the set into one SQLite file in the
user's data folder, and only then puts it in the place of an older one.

MiniHack itself draws a level with Python's shared random generator from files in the order in which
the disk lists them. Here a seed names its level.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import platformdirs

from envs.errors import BadLevels, EnvironmentUnavailable
from envs.minihack.native import minihack, task_class
from envs.nethack.game import Game, exact
from envs.nethack.screen import Screen

DATA_VARIABLE = "SLOWWAVE_DATA"
"""Environment variable with another folder for added data than the user's own."""

FOLDERS = {"medium": ("medium/train", "medium"), "hard": ("hard",)}
"""Where a published copy holds each set, best first; ``medium`` is played on its training part."""

WALL, FLOOR, BOX, TARGET, PLAYER = "# $.@"
_SCHEMA = """
create table levels (number integer primary key, map text not null);
create table facts (name text primary key, value text not null);
"""
_FORMAT = "1"


def data_folder() -> Path:
    """The folder in which added data is kept."""
    given = os.environ.get(DATA_VARIABLE)
    return Path(given) if given else platformdirs.user_data_path("slowwave", appauthor=False)


@dataclass(frozen=True, slots=True)
class LevelSet:
    """A converted set of levels.

    Args:
        name: ``medium`` or ``hard``.
        path: Its SQLite file.
        count: How many levels there are.
        digest: SHA-256 over all of them in order, 12 hexadecimal digits.
    """

    name: str
    path: Path
    count: int
    digest: str

    @classmethod
    def open(cls, name: str) -> LevelSet:
        """The set of that name.

        Raises:
            EnvironmentUnavailable: It has not been added, or its file cannot be used.
        """
        path = _path(name)
        if not path.is_file():
            raise EnvironmentUnavailable(
                f"minihack/boxoban-{name}-v1 needs the Boxoban levels, which are not here.",
                mend="Get a copy of github.com/google-deepmind/boxoban-levels and add it:"
                " slowwave envs add-boxoban PATH.",
            )
        try:
            with _opened(path) as file:
                facts = dict(file.execute("select name, value from facts"))
                (count,) = file.execute("select count(*) from levels").fetchone()
        except sqlite3.Error as error:
            raise _damaged(path, str(error)) from None
        whole = facts.get("format") == _FORMAT and "digest" in facts
        if not whole or not count or str(count) != facts.get("count"):
            raise _damaged(path, "it is not whole")
        return cls(name, path, count, facts["digest"])

    def level(self, seed: int) -> str:
        """The level of a seed: its rows, each with a newline.

        Neighbouring seeds get levels far apart; every seed from 0 to ``count`` - 1 gets its own
        where the multiplier and the count have no common factor.

        Raises:
            EnvironmentUnavailable: The file has been damaged since it was opened.
        """
        number = seed * 7_919 % self.count
        try:
            with _opened(self.path) as file:
                found = file.execute("select map from levels where number = ?", [number]).fetchone()
        except sqlite3.Error as error:
            raise _damaged(self.path, str(error)) from None
        if found is None:
            raise _damaged(self.path, f"level {number} is not in it")
        return str(found[0])


def add(folder: Path) -> tuple[LevelSet, ...]:
    """Check, convert and keep the level sets in a folder.

    Args:
        folder: A copy of the published repository, or a folder with ``medium`` or ``hard``.

    Returns:
        The sets that were found.

    Raises:
        BadLevels: There is none, or one has a faulty level: names file and line. Sets that had
            been added before stay as they are.
    """
    found = {name: place for name in FOLDERS if (place := _find(folder, name))}
    if not found:
        raise BadLevels(
            f"There are no Boxoban levels in {folder}.",
            mend="Give the folder that holds medium/train and hard with their .txt files.",
        )
    made: dict[str, Path] = {}
    try:
        for name, place in found.items():
            made[name] = _convert(name, place)
        for name, new in made.items():
            os.replace(new, _path(name))
    finally:  # nothing half done stays if another set is faulty
        for new in made.values():
            new.unlink(missing_ok=True)
    return tuple(LevelSet.open(name) for name in made)


def read_levels(path: Path) -> Iterator[str]:
    """The levels of one file, checked.

    Args:
        path: A text file as published.

    Yields:
        Each level's rows, each with a newline.

    Raises:
        BadLevels: Names the file, the line and what is wrong.
    """
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadLevels(f"{path} cannot be read: {error}.", mend=_MEND) from None
    rows: list[str] = []
    for number, line in enumerate([*lines, ";"], start=1):
        if line.startswith(";"):
            if rows:
                yield _checked(rows, path, number - 1)
            rows = []
        elif line.strip():
            rows.append(line)


def load(levels: LevelSet, keys: tuple[int, ...]) -> Game:
    """Load the game of a level set.

    Args:
        levels: The set.
        keys: The keys that will be pressed.
    """
    hack: Any = task_class("boxohack", "BoxoHack")

    class Puzzle(hack):  # type: ignore[misc]
        """Plays the level it was handed, where `BoxoHack` draws one at random."""

        def __init__(self, **options: Any) -> None:
            self.level = levels.level(0)
            # Looked at by its `reset` before it has been found out.
            self._goal_pos_set: set[Any] | None = None
            # Its settings, without its search for level files in MiniHack's own folder.
            self._time_penalty, self._reward_shaping_coefficient = 0, 0
            self._flags: tuple[str, ...] = ()
            options["des_file"] = self.get_lvl_gen().get_des()
            minihack.MiniHackNavigation.__init__(self, **options)

        def get_lvl_gen(self) -> Any:
            self._levels = [self.level]
            return super().get_lvl_gen()

    return _PuzzleGame(exact(Puzzle, actions=keys), keys, levels)


class _PuzzleGame(Game):
    """A game whose level follows from the seed."""

    def __init__(self, native: Any, keys: Sequence[int], levels: LevelSet) -> None:
        super().__init__(native, keys)
        self._levels = levels

    def begin(self, seed: int) -> Screen:
        """Start the game of a seed."""
        self._native.level = self._levels.level(seed)
        return super().begin(seed)


_MEND = "Get a fresh copy of github.com/google-deepmind/boxoban-levels."


def _path(name: str) -> Path:
    return data_folder() / "boxoban" / f"{name}.db"


def _find(folder: Path, name: str) -> Path | None:
    for base in (folder, folder / "boxoban-levels-master", folder / "boxoban-levels"):
        for inside in FOLDERS[name]:
            if any((base / inside).glob("*.txt")):
                return base / inside
    return None


def _convert(name: str, folder: Path) -> Path:
    """Write a set's file beside its final place; returns where it lies."""
    new = _path(name).with_suffix(".new")
    new.parent.mkdir(parents=True, exist_ok=True)
    new.unlink(missing_ok=True)
    digest, count = hashlib.sha256(), 0
    try:
        with _opened(new) as file:
            file.executescript(_SCHEMA)
            for path in sorted(folder.glob("*.txt")):
                levels = list(read_levels(path))
                file.executemany("insert into levels values (?, ?)", enumerate(levels, count))
                digest.update("".join(f"{level}\n" for level in levels).encode())
                count += len(levels)
            facts = {"format": _FORMAT, "count": str(count), "digest": digest.hexdigest()[:12]}
            file.executemany("insert into facts values (?, ?)", facts.items())
    except BaseException as error:
        new.unlink(missing_ok=True)
        if isinstance(error, sqlite3.Error):
            raise BadLevels(
                f"The levels cannot be kept in {new.parent}: {error}. What was added before stays.",
                mend=f"Make room there, or name another folder in {DATA_VARIABLE}.",
            ) from None
        raise
    if not count:
        new.unlink(missing_ok=True)
        raise BadLevels(f"The files in {folder} hold no level.", mend=_MEND)
    return new


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(sqlite3.connect(path)) as file, file:
        yield file


def _checked(rows: list[str], path: Path, line: int) -> str:
    """A level's text, if it is one that can be played."""
    text = "".join(rows)
    edge = rows[0] + rows[-1] + "".join(row[0] + row[-1] for row in rows)
    unknown = sorted(set(text) - set(WALL + FLOOR + BOX + TARGET + PLAYER))
    if unknown:
        wrong = f"it has the character {unknown[0]!r}"
    elif len({len(row) for row in rows}) != 1:
        wrong = "its rows are not of one length"
    elif text.count(PLAYER) != 1:
        wrong = f"it has {text.count(PLAYER)} players"
    elif not text.count(BOX) or text.count(BOX) != text.count(TARGET):
        wrong = f"it has {text.count(BOX)} boxes for {text.count(TARGET)} targets"
    elif set(edge) != {WALL}:
        wrong = "it is not closed by walls"
    else:
        return "".join(f"{row}\n" for row in rows)
    raise BadLevels(f"{path}:{line}: the level that ends here is faulty: {wrong}.", mend=_MEND)


def _damaged(path: Path, how: str) -> EnvironmentUnavailable:
    return EnvironmentUnavailable(
        f"The Boxoban levels in {path} cannot be used: {how}.",
        mend="Add them again: slowwave envs add-boxoban PATH.",
    )
