"""Tools that tell what was tried before, here and in other lineages.

Of a verdict an editor is told the bare word: numbers from the seeds that judge would let it tune on
them.
"""

from __future__ import annotations

from typing import Any

from pydantic import Field

from orchestrator.editors.base import Bench, Brief
from orchestrator.editors.meta.toolbox import Arguments, NoArguments, Tool, ToolRefusal


class OneRevision(Arguments):
    """Arguments of `revision`."""

    name: str = Field(description="Its name from the history, such as crafter/v2.")


class Past:
    """What was tried before.

    Args:
        brief: What the editor may see.
        bench: Knows the differences.
    """

    def __init__(self, brief: Brief, bench: Bench) -> None:
        self._brief = brief
        self._bench = bench
        self._names = {view.name: view for view in brief.history}

    def tools(self) -> list[Tool[Any]]:
        """The tools."""
        return [
            Tool(
                "history",
                "What was tried on this scaffold, newest first, and what became of it: accept,"
                " reject, indecisive, or refused with the reason.",
                NoArguments,
                self._history,
            ),
            Tool("revision", "One of them: why it was made, and its diff.", OneRevision, self._one),
            Tool(
                "other_lineages",
                "What was accepted on the scaffolds of other games.",
                NoArguments,
                self._others,
            ),
        ]

    def tried(self) -> str:
        """A summary for the beginning: one line for each, so that no idea is proposed twice."""
        return "\n".join(
            f"- {view.verdict or 'not judged'}: {view.subject}" for view in self._brief.history
        )

    def _history(self, _: NoArguments) -> str:
        return "\n\n".join(view.text() for view in self._brief.history) or "Nothing yet."

    def _one(self, asked: OneRevision) -> str:
        view = self._names.get(asked.name)
        if view is None:
            known = ", ".join(self._names) or "none"
            raise ToolRefusal(f"There is no revision {asked.name[:60]!r}. There are: {known}.")
        return f"{view.text()}\n\n{self._bench.diff(asked.name)}"

    def _others(self, _: NoArguments) -> str:
        parts = [
            f"## {lineage}\n\n" + "\n\n".join(view.text() for view in views)
            for lineage, views in self._brief.others.items()
            if views
        ]
        return "\n\n".join(parts) or "Nothing yet."
