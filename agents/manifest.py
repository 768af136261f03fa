"""`scaffold.toml`: what a scaffold says about itself, validated on the host.

Budgets are wishes: the host caps them at the workspace's ceilings whatever is written here.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, PlainValidator

from agents.tables import Table, read_table

FILE = "scaffold.toml"


def _plain(value: object) -> str | int | float | bool:
    if not isinstance(value, str | int | float | bool):
        raise ValueError("an option is a text, a number, true or false")
    return value


Option = Annotated[str | int | float | bool, PlainValidator(_plain)]


class Identity(Table):
    """What the scaffold is for."""

    name: str = Field(pattern=r"^[a-z][a-z0-9\-]{0,40}$")
    environment: str = Field(min_length=1, description="environment family, e.g. crafter")
    backend: Literal["files"] = "files"
    description: str = ""


class Budgets(Table):
    """What one step and one episode may use.

    Attributes:
        log_turns: Model turns a LOG phase may take.
        plan_turns: Model turns a PLAN phase may take.
        search_limit: Matches a SEARCH returns at most.
        read_limit: Characters a READ returns at most.
        memory_characters: Characters of all memory files together.
        prompt_characters: Characters of one model conversation.
    """

    log_turns: int = Field(default=5, ge=1)
    plan_turns: int = Field(default=5, ge=1)
    search_limit: int = Field(default=100, ge=1)
    read_limit: int = Field(default=8000, ge=100)
    memory_characters: int = Field(default=1_000_000, ge=1000)
    prompt_characters: int = Field(default=200_000, ge=1000)

    def capped(self, ceilings: Budgets) -> Budgets:
        """These budgets, none above the ceiling of the same name."""
        mine, theirs = self.model_dump(), ceilings.model_dump()
        return Budgets(**{name: min(mine[name], theirs[name]) for name in mine})


class Manifest(Table):
    """A scaffold's manifest."""

    scaffold: Identity
    budgets: Budgets = Field(default_factory=Budgets)
    options: dict[str, Option] = Field(default_factory=dict)


def read_manifest(text: str) -> Manifest:
    """Validate the text of a `scaffold.toml`.

    Raises:
        agents.tables.TableError: With every fault, each with its line and mend.
    """
    return read_table(text, Manifest)
