"""An editor that proposes planted candidates, one a round, as a Meta-LLM's editor would."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from orchestrator.editors.base import Bench, Brief, Draft
from orchestrator.editors.rules.catalogue import Edit
from orchestrator.redteam.planted import Planted
from orchestrator.scaffolds.revision import Proposal

NAME = "redteam"
"""Not among the editors whose code people have read: what it proposes counts as a model's."""


class PlantedEditor:
    """Proposes the planted candidates in turn, each on the same champion.

    Args:
        planted: The candidates.
        edits: The shipped edits by name.
        bank: The module with recorded games.

    Attributes:
        proposed: What was proposed, by the round's number.
        refused: Why some were never submitted, by name.
    """

    name = NAME
    continues = False

    def __init__(self, planted: Sequence[Planted], edits: Mapping[str, Edit], bank: bytes) -> None:
        self.proposed: dict[int, Planted] = {}
        self.refused: dict[str, str] = {}
        self._left = list(planted)
        self._edits = edits
        self._bank = bank
        self._champion = ""

    @property
    def left(self) -> list[Planted]:
        """What has not been proposed: they are for another champion than there is now."""
        return list(self._left)

    def propose(self, brief: Brief, bench: Bench) -> Draft | None:
        """The next one; ``None`` at their end, and when the champion is no longer the first."""
        self._champion = self._champion or brief.champion
        while self._left and brief.champion == self._champion:
            planted = self._left.pop(0)
            changes = planted.changes(brief.files, self._edits, self._bank)
            if not changes:
                # A night's store takes no commit that changes nothing, so editors ask before.
                self.refused[planted.name] = bench.try_it(changes).refusal
                continue
            self.proposed[brief.number] = planted
            return Draft(changes, _proposal(planted))
        return None

    def settle(self, night: str, number: int) -> None:
        """Nothing was kept."""


def _proposal(planted: Planted) -> Proposal:
    return Proposal(
        subject=planted.text.subject,
        summary=f"The planted candidate {planted.name}.",
        rationale="It is here to find out what the gate does with it.",
        expected_effect="The gate accepts no cheat.",
        kind=planted.text.kind,
        editor=NAME,
    )
