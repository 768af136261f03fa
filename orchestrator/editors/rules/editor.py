"""Picks the next edit: the one whose symptom the metrics show, heaviest first."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from orchestrator.editors.base import Bench, Brief, Draft
from orchestrator.editors.rules.catalogue import Edit, EditNotApplicable, read_catalogue
from orchestrator.evaluation import mean_metrics
from orchestrator.scaffolds.revision import Proposal

UNCALLED = 0.25
"""How much an edit's weight counts when its symptom is absent: it is tried last."""


class RulesEditor:
    """The deterministic editor.

    Args:
        catalogues: Folder with the edits, see `read_catalogue`.
    """

    name = "rules"
    continues = False

    def __init__(self, catalogues: Path) -> None:
        self._catalogues = catalogues

    def propose(self, brief: Brief, bench: Bench) -> Draft | None:
        """The most called-for edit that fits and was not tried before; see `Brief`."""
        means = {name: value or 0.0 for name, value in mean_metrics(brief.episodes).items()}
        lineage = set(brief.lineage)
        # What came to no decision may be tried again, on another champion or another night.
        tried = lineage | {
            view.subject
            for view in brief.history
            if view.verdict != "indecisive"
            or (view.name.startswith(f"{brief.night}/") and view.parent == brief.champion)
        }
        edits = read_catalogue(self._catalogues, brief.environment)
        subjects = {edit.name: edit.text.subject for edit in edits}
        for edit in sorted(edits, key=lambda edit: (-urgency(edit, means), edit.name)):
            needs = {subjects[name] for name in edit.text.requires}
            covered = {subjects[name] for name in edit.text.pointless_after}
            if edit.text.subject in tried or not needs <= lineage or covered & lineage:
                continue
            try:
                changes = edit.apply(brief.files)
            except EditNotApplicable:
                continue
            return Draft(changes, _proposal(edit, means))
        return None

    def settle(self, night: str, number: int) -> None:
        """Nothing was kept."""


def urgency(edit: Edit, means: Mapping[str, float]) -> float:
    """How much the metrics call for an edit, in [0, 1]."""
    symptom = edit.text.symptom
    called = means.get(symptom.metric, 0.0) > symptom.above
    return edit.text.weight * (1.0 if called else UNCALLED)


def _proposal(edit: Edit, means: Mapping[str, float]) -> Proposal:
    text = edit.text
    return Proposal(
        subject=text.subject,
        summary=text.summary,
        rationale=text.rationale.format_map(means),
        expected_effect=text.expected_effect,
        kind=text.kind,
        editor=RulesEditor.name,
    )
