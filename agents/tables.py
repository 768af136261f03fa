"""TOML read into a model, with faults that name the line and the mend."""

from __future__ import annotations

import difflib
import re
import tomllib
from dataclasses import dataclass
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

_NAME = r"""(?:[A-Za-z0-9_\-]+|"[^"\n]*"|'[^'\n]*')"""
_KEY = re.compile(rf"\s*({_NAME}(?:\s*\.\s*{_NAME})*)\s*=")
_HEADER = re.compile(rf"\s*\[\s*({_NAME}(?:\s*\.\s*{_NAME})*)\s*\]")
_PART = re.compile(_NAME)


class Table(BaseModel):
    """A table of a TOML file: frozen, and strict, so that a misspelt key or value is found."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, hide_input_in_errors=True)


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
    except RecursionError:
        raise TableError([TableFault(1, "nested too deeply", "Flatten it.")]) from None
    try:
        return model.model_validate(record)
    except ValidationError as error:
        faults = [_fault(text, dict(item), model) for item in error.errors()]
        raise TableError(sorted(faults, key=lambda fault: fault.line)) from None


def _fault(text: str, item: dict[str, Any], model: type[BaseModel]) -> TableFault:
    path = [str(part) for part in item["loc"]]
    dotted = ".".join(path)
    line = _line(text, path)
    if item["type"] == "extra_forbidden":
        close = difflib.get_close_matches(path[-1], _keys(model, path[:-1]), n=1)
        mend = f"Did you mean '{close[0]}'?" if close else "Remove it."
        return TableFault(line, f"unknown key '{dotted}'", mend)
    if item["type"] == "missing":
        return TableFault(line, f"'{dotted}' is missing", f"Add {path[-1]}.")
    if item["type"] == "model_type":
        return TableFault(line, f"'{dotted}' is no table", f"Write it as [{dotted}].")
    message = str(item["msg"]).removeprefix("Value error, ")
    return TableFault(line, f"'{dotted}': {message}", "Correct the value.")


def _keys(model: type[BaseModel], path: list[str]) -> list[str]:
    """The keys that the table at a path may have."""
    here: Any = model
    for part in path:
        if isinstance(here, type) and issubclass(here, BaseModel):
            field = here.model_fields.get(part)
            here = field.annotation if field else None
        else:  # a dictionary of tables
            here = (get_args(here) or (None,))[-1]
    is_table = isinstance(here, type) and issubclass(here, BaseModel)
    return list(here.model_fields) if is_table else []


def _line(text: str, path: list[str]) -> int:
    """The line on which the deepest part of a key path stands, as near as it can be told."""
    found, depth = 1, 0
    table: list[str] = []
    quoted = False
    for number, line in enumerate(text.splitlines(), start=1):
        inside, quoted = quoted, quoted != _opens_text(line)
        if inside:
            continue
        header, key = _HEADER.match(line), _KEY.match(line)
        if header:
            table = _parts(header[1])
            here = table
        elif key:
            here = [*table, *_parts(key[1])]
        else:
            continue
        if here == path:
            return number
        if depth < len(here) and here == path[: len(here)]:
            found, depth = number, len(here)
    return found


def _opens_text(line: str) -> bool:
    """Whether a text of several lines begins or ends on a line."""
    return (line.count('"""') + line.count("'''")) % 2 == 1


def _parts(dotted: str) -> list[str]:
    return [part.strip("\"'") for part in _PART.findall(dotted)]
