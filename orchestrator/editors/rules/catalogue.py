"""The catalogue of known edits: one folder each, read from beside the seed scaffolds."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from orchestrator.errors import SlowwaveError
from orchestrator.scaffolds.revision import ChangeKind

PARTS_END = "    # parts end here\n"
PARTS_START = "PARTS: list = [\n"


class EditNotApplicable(Exception):
    """The edit does not fit these files."""


class Symptom(BaseModel):
    """What in the metrics calls for an edit: the mean of `metric` lies above `above`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    metric: str
    above: float


class Replacement(BaseModel):
    """Text that must stand exactly once in a file, and what to put there."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    file: str
    find: str
    put: str = Field(alias="with")


class EditText(BaseModel):
    """The content of an ``edit.toml``; without `environments` it is for its folder's family."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    subject: str
    environments: tuple[str, ...] = ()
    kind: ChangeKind
    summary: str
    rationale: str
    expected_effect: str
    symptom: Symptom
    weight: float = Field(gt=0, le=1)
    requires: tuple[str, ...] = ()
    pointless_after: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    replace: tuple[Replacement, ...] = ()
    files: dict[str, str] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Edit:
    """One known edit: its name, its text, and the modules it brings."""

    name: str
    text: EditText
    modules: Mapping[str, bytes]

    def apply(self, files: Mapping[str, bytes]) -> dict[str, bytes]:
        """The files this edit changes or adds.

        Raises:
            EditNotApplicable: A text to replace is not there exactly once, or another file stands
            where one is to be added.
        """
        changed: dict[str, bytes] = {}
        for path, content in self._new_files().items():
            if files.get(path, content) != content:
                raise EditNotApplicable(f"another {path} is already there")
            if path not in files:
                changed[path] = content
        for one in self.text.replace:
            current = changed.get(one.file, files.get(one.file, b"")).decode("utf-8")
            changed[one.file] = _replace_once(current, one).encode("utf-8")
        if self.text.parts:
            hooks = files.get("hooks.py", b"").decode("utf-8")
            changed["hooks.py"] = _add_parts(hooks, self.text.parts).encode("utf-8")
        changed = {path: content for path, content in changed.items() if files.get(path) != content}
        if not changed:
            raise EditNotApplicable("everything it would bring is there already")
        return changed

    def _new_files(self) -> dict[str, bytes]:
        texts = {path: text.encode("utf-8") for path, text in self.text.files.items()}
        return {**texts, **self.modules}


def read_catalogue(folder: Path, environment: str) -> list[Edit]:
    """Every edit for a family of environments, by name.

    Args:
        folder: Folder with one folder of edits per family, or for several.
        environment: The family, such as ``crafter``.

    Raises:
        SlowwaveError: An ``edit.toml`` is faulty; names the file.
    """
    edits = [(path, _read_edit(path.parent)) for path in sorted(folder.glob("*/*/edit.toml"))]
    return [
        edit
        for path, edit in edits
        if environment in (edit.text.environments or (path.parents[1].name,))
    ]


def _read_edit(folder: Path) -> Edit:
    path = folder / "edit.toml"
    try:
        record: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
        text = EditText.model_validate(record)
    except (tomllib.TOMLDecodeError, ValidationError) as error:
        raise SlowwaveError(f"{path} is no edit: {error}", mend="Correct that file.") from None
    modules = {f"{part}.py": _module(folder, part).read_bytes() for part in text.parts}
    return Edit(folder.name, text, modules)


def _module(folder: Path, part: str) -> Path:
    """A part's module: the edit's own, or one that several edits share."""
    own = folder / f"{part}.py"
    return own if own.exists() else folder.parent / "parts" / f"{part}.py"


def _replace_once(current: str, one: Replacement) -> str:
    if current.count(one.find) != 1:
        raise EditNotApplicable(f"{one.file} does not hold exactly once: {one.find!r}")
    return current.replace(one.find, one.put.removeprefix("\n") if one.find[0] != "\n" else one.put)


def _add_parts(hooks: str, parts: tuple[str, ...]) -> str:
    if hooks.count(PARTS_END) != 1 or hooks.count(PARTS_START) != 1:
        raise EditNotApplicable("hooks.py has no list of parts")
    new = [part for part in parts if f"    {part},\n" not in hooks]
    listed = "".join(f"    {part},\n" for part in new)
    hooks = hooks.replace(PARTS_END, listed + PARTS_END)
    head, _, tail = hooks.partition(PARTS_START)
    lines = head.rstrip("\n").splitlines()
    at = next((index for index, line in enumerate(lines) if line.startswith("import ")), len(lines))
    imports = sorted({*(line for line in lines[at:] if line), *(f"import {part}" for part in new)})
    head = "\n".join([*lines[:at], *([""] if at == len(lines) else []), *imports]) + "\n\n"
    return head + PARTS_START + tail
