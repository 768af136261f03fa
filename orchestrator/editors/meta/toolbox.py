"""Tools: what a model may call, with checked arguments and results of bounded length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from orchestrator.models.base import Block, ToolSpec

RESULT_LIMIT = 20_000
"""Characters of one result; what is longer is cut, and says so."""


class ToolRefusal(Exception):
    """A call could not be carried out; the text tells the model why."""


class Arguments(BaseModel):
    """Arguments of a tool: nothing but its fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class NoArguments(Arguments):
    """A tool that takes none."""


A = TypeVar("A", bound=Arguments)


@dataclass(frozen=True, slots=True)
class Tool(Generic[A]):
    """One tool.

    Args:
        name: Its name.
        description: What it does, for the model.
        arguments: What it takes.
        run: Carries it out; raises `ToolRefusal`.
    """

    name: str
    description: str
    arguments: type[A]
    run: Callable[[A], str]

    @property
    def spec(self) -> ToolSpec:
        """The tool as a model is told of it."""
        schema = self.arguments.model_json_schema()
        schema.pop("title", None)
        schema.pop("description", None)
        for field in schema.get("properties", {}).values():
            field.pop("title", None)
        return ToolSpec(self.name, self.description, schema)


class Toolbox:
    """The tools of one conversation.

    Args:
        tools: All of them, in the order in which they are listed.
    """

    def __init__(self, tools: Sequence[Tool[Any]]) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self.specs = tuple(tool.spec for tool in tools)

    def carry_out(self, call: Block) -> Block:
        """Run one ``tool_use`` block; returns its ``tool_result`` block, whatever happens."""
        try:
            text, failed = self._run(str(call.get("name")), call.get("input")), False
        except ToolRefusal as refusal:
            text, failed = str(refusal), True
        result: Block = {"type": "tool_result", "tool_use_id": call["id"], "content": _cut(text)}
        return result | {"is_error": True} if failed else result

    def _run(self, name: str, given: object) -> str:
        tool = self._tools.get(name)
        if tool is None:
            known = ", ".join(self._tools)
            raise ToolRefusal(f"There is no tool {name[:60]!r}. There are: {known}.")
        try:
            arguments = tool.arguments.model_validate(given)
        except ValidationError as error:
            raise ToolRefusal(_what_is_wrong(error)) from None
        return str(tool.run(arguments)) or "(nothing)"


def _what_is_wrong(error: ValidationError) -> str:
    faults = [
        f"{'.'.join(map(str, one['loc'])) or 'the arguments'}: {one['msg']}"
        for one in error.errors(include_url=False, include_input=False)[:5]
    ]
    return f"The call cannot be read: {'; '.join(faults)}."


def _cut(text: str) -> str:
    missing = len(text) - RESULT_LIMIT
    if missing <= 0:
        return text
    return f"{text[:RESULT_LIMIT]}\n({missing} more characters: ask for less at once)"
