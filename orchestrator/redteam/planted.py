"""Planted candidates: a folder each, with what it tries and the files it changes."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from orchestrator.editors.rules.catalogue import Edit, EditNotApplicable
from orchestrator.errors import SlowwaveError, UsageError
from orchestrator.scaffolds.revision import ChangeKind

FILE = "planted.toml"


class PlantedText(BaseModel):
    """The content of a ``planted.toml``.

    Attributes:
        tries: What it tries, for the table; no editor and no commit says it.
        subject: What it says of itself: the commit's subject.
        kind: What it says that it changes.
        better: It is the control: an honest improvement, which the gate has to accept.
        edits: Shipped edits it stands on, by name, in order.
        append: Text added at the end of files of the champion.
        bank: Name of a module that is filled with recorded games, see `recordings`.
        same_as: Another planted candidate whose every byte it has.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    tries: str
    subject: str
    kind: ChangeKind = "memory"
    better: bool = False
    edits: tuple[str, ...] = ()
    append: Mapping[str, str] = {}
    bank: str = ""
    same_as: str = ""


@dataclass(frozen=True, slots=True)
class Planted:
    """One planted candidate: its name, what its toml says, and the files that lie beside it."""

    name: str
    text: PlantedText
    files: Mapping[str, bytes] = field(default_factory=dict)

    def changes(
        self, champion: Mapping[str, bytes], edits: Mapping[str, Edit], bank: bytes
    ) -> dict[str, bytes]:
        """The files that it changes or adds; empty if it is the champion, byte for byte.

        Args:
            champion: The champion's files.
            edits: The shipped edits by name.
            bank: What its `PlantedText.bank` is filled with.

        Raises:
            SlowwaveError: An edit it stands on is not there, or does not fit.
        """
        made = dict(champion)
        for name in self.text.edits:
            try:
                made |= edits[name].apply(made)
            except (KeyError, EditNotApplicable) as error:
                raise SlowwaveError(
                    f"The planted candidate {self.name} cannot stand on the edit {name}: {error}.",
                    mend=f"Correct edits in its {FILE}.",
                ) from None
        made |= self.files
        if self.text.bank:
            made[self.text.bank] = bank
        for path, more in self.text.append.items():
            made[path] = made.get(path, b"") + more.encode()
        return {path: content for path, content in made.items() if champion.get(path) != content}


def read_planted(folder: Path) -> list[Planted]:
    """Every planted candidate of a folder, by name, the controls last.

    Args:
        folder: Holds one folder for each.

    Raises:
        UsageError: There are none.
        SlowwaveError: A ``planted.toml`` is faulty.
    """
    found = [_read(path) for path in sorted(folder.glob(f"*/{FILE}"))]
    if not found:
        raise UsageError(
            f"There are no planted candidates in {folder}.",
            mend="They lie in tests/redteam of a checkout: name that folder with --planted.",
        )
    # What follows an acceptance needs a night of its own.
    return sorted((_resolved(one, found) for one in found), key=lambda one: one.text.better)


def _read(path: Path) -> Planted:
    try:
        text = PlantedText.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, ValidationError) as error:
        raise SlowwaveError(
            f"{path} is no planted candidate: {error}", mend="Correct that file."
        ) from None
    folder = path.parent
    return Planted(
        folder.name,
        text,
        {
            one.relative_to(folder).as_posix(): one.read_bytes()
            for one in sorted(folder.rglob("*"))
            if one.is_file() and one != path and "__pycache__" not in one.parts
        },
    )


def _resolved(one: Planted, others: Sequence[Planted]) -> Planted:
    """With the files and changes of the one that it copies, and its own words."""
    if not one.text.same_as:
        return one
    copied = next((other for other in others if other.name == one.text.same_as), None)
    if copied is None or copied.text.same_as:
        raise SlowwaveError(
            f"{one.name} is said to be the same as {one.text.same_as}, which is not there.",
            mend=f"Correct same_as in its {FILE}.",
        )
    taken = {name: getattr(copied.text, name) for name in ("edits", "append", "bank")}
    return Planted(one.name, one.text.model_copy(update=taken), copied.files)
