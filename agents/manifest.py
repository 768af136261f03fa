"""`scaffold.toml`: what a scaffold says about itself, validated on the host.

A fault names the file, the line and the mend. Budgets are wishes: the host caps them at the
workspace's ceilings whatever is written here.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

FILE = "scaffold.toml"


class Strict(BaseModel):
    """Frozen, and refuses unknown keys, so that a misspelt one is found."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Identity(Strict):
    """What the scaffold is for."""

    name: str = Field(pattern=r"^[a-z][a-z0-9\-]{0,40}$")
    environment: str = Field(min_length=1, description="environment family, e.g. crafter")
    backend: Literal["files"] = "files"
    description: str = ""


class Budgets(Strict):
    """What one step and one episode may use.

    Attributes:
        log_turns: Model turns a LOG phase may take.
        plan_turns: Model turns a PLAN phase may take.
        search_limit: Matches a SEARCH returns at most.
        read_limit: Characters a READ returns at most.
        memory_characters: Characters of all memory files together.
    """

    log_turns: int = Field(default=5, ge=1)
    plan_turns: int = Field(default=5, ge=1)
    search_limit: int = Field(default=100, ge=1)
    read_limit: int = Field(default=8000, ge=100)
    memory_characters: int = Field(default=1_000_000, ge=1000)

    def capped(self, ceilings: Budgets) -> Budgets:
        """These budgets, none above the ceiling of the same name."""
        mine, theirs = self.model_dump(), ceilings.model_dump()
        return Budgets(**{name: min(mine[name], theirs[name]) for name in mine})


class Manifest(Strict):
    """A scaffold's manifest."""

    scaffold: Identity
    budgets: Budgets = Field(default_factory=Budgets)
    options: dict[str, str | int | float | bool] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ManifestFault:
    """One fault of a manifest: line (from 1), what is wrong, and the mend."""

    line: int
    message: str
    mend: str


class ManifestError(Exception):
    """`scaffold.toml` cannot be used; `faults` says why."""

    def __init__(self, faults: list[ManifestFault]) -> None:
        super().__init__("; ".join(f"{FILE}:{fault.line}: {fault.message}" for fault in faults))
        self.faults = faults


def read_manifest(text: str) -> Manifest:
    """Validate the text of a `scaffold.toml`.

    Raises:
        ManifestError: With every fault, each with its line and mend.
    """
    try:
        record = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"line (\d+)", str(error))
        number = int(line[1]) if line else text.count("\n") + 1
        message = str(error).split(" (at")[0]
        mend = "Write it as TOML, e.g. name = 'x'."
        fault = ManifestFault(number, f"not TOML: {message}", mend)
        raise ManifestError([fault]) from None
    try:
        return Manifest.model_validate(record)
    except ValidationError as error:
        raise ManifestError([_fault(text, dict(item)) for item in error.errors()]) from None


def _fault(text: str, item: dict[str, Any]) -> ManifestFault:
    path = [str(part) for part in item["loc"]]
    dotted = ".".join(path)
    if item["type"] == "extra_forbidden":
        return ManifestFault(_line(text, path), f"unknown key '{dotted}'", "Remove or respell it.")
    if item["type"] == "missing":
        return ManifestFault(_line(text, path), f"'{dotted}' is missing", f"Add {path[-1]}.")
    given = f" (got {item['input']!r})" if not isinstance(item["input"], dict) else ""
    return ManifestFault(
        _line(text, path), f"'{dotted}': {item['msg']}{given}", "Correct the value."
    )


def _line(text: str, path: list[str]) -> int:
    """The line on which the deepest part of a key path stands, as near as it can be told."""
    found = 1
    table = ""
    for number, line in enumerate(text.splitlines(), start=1):
        header = re.match(r"\s*\[([^\[\]]+)\]", line)
        if header:
            table = header[1].strip()
            if table == path[0]:
                found = number
            continue
        key = re.match(r"\s*([A-Za-z0-9_\-]+)\s*=", line)
        if key and ([table, key[1]] == path[:2] or (not table and [key[1]] == path[:1])):
            return number
    return found
