"""TOML read into a model, with faults that name the line and the mend."""

from __future__ import annotations

import difflib
import re
import tomllib
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError


class Table(BaseModel):
    """A table of a TOML file: frozen, and refuses unknown keys, so that a misspelt one is found."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


@dataclass(frozen=True, slots=True)
class TableFault:
    """One fault: line (from 1), what is wrong, and the mend."""

    line: int
    message: str
    mend: str


class TableError(Exception):
    """The text cannot be used; `faults` says why."""

    def __init__(self, faults: list[TableFault]) -> None:
        super().__init__("; ".join(f"line {fault.line}: {fault.message}" for fault in faults))
        self.faults = faults


Model = TypeVar("Model", bound=BaseModel)


def read_table(text: str, model: type[Model]) -> Model:
    """Validate a TOML text against a model.

    Raises:
        TableError: With every fault, each with its line and mend.
    """
    try:
        record = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"line (\d+)", str(error))
        number = int(line[1]) if line else text.count("\n") + 1
        message = f"not TOML: {str(error).split(' (at')[0]}"
        raise TableError(
            [TableFault(number, message, "Correct the syntax of that line.")]
        ) from None
    try:
        return model.model_validate(record)
    except ValidationError as error:
        faults = [_fault(text, dict(item), model) for item in error.errors()]
        raise TableError(faults) from None


def _fault(text: str, item: dict[str, Any], model: type[BaseModel]) -> TableFault:
    path = [str(part) for part in item["loc"]]
    dotted = ".".join(path)
    line = _line(text, path)
    if item["type"] == "extra_forbidden":
        close = difflib.get_close_matches(path[-1], _names(model), n=1)
        mend = f"Did you mean '{close[0]}'?" if close else "Remove it."
        return TableFault(line, f"unknown key '{dotted}'", mend)
    if item["type"] == "missing":
        return TableFault(line, f"'{dotted}' is missing", f"Add {path[-1]}.")
    message = str(item["msg"]).removeprefix("Value error, ")
    return TableFault(line, f"'{dotted}': {message}", "Correct the value.")


def _names(model: type[BaseModel]) -> set[str]:
    """Every key that a model or a table inside it has."""
    names: set[str] = set()
    for name, field in model.model_fields.items():
        names.add(name)
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            names |= _names(field.annotation)
    return names


def _line(text: str, path: list[str]) -> int:
    """The line on which the deepest part of a key path stands, as near as it can be told."""
    found, table = 1, []
    for number, line in enumerate(text.splitlines(), start=1):
        header = re.match(r"\s*\[([^\[\]]+)\]", line)
        if header:
            table = [part.strip().strip("\"'") for part in header[1].split(".")]
            if table == path[: len(table)]:
                found = number
            continue
        key = re.match(r"\s*([A-Za-z0-9_\-]+)\s*=", line)
        if key and [*table, key[1]] == path[: len(table) + 1]:
            return number
    return found
