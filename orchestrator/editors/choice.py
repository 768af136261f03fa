"""From a night's record to its editor."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from orchestrator.editors.base import ScaffoldEditor
from orchestrator.editors.meta.editor import MetaEditor, Patience
from orchestrator.editors.meta.transcript import transcript_path
from orchestrator.editors.rules.editor import RulesEditor
from orchestrator.episodes.planner import spending_limits
from orchestrator.models.broker import Broker
from orchestrator.models.journal import ResponseJournal
from orchestrator.models.ledger import SpendLedger
from orchestrator.night_record import NightRecord
from orchestrator.workspace import Workspace, seed_scaffolds


def make_editor(
    workspace: Workspace, record: NightRecord, say: Callable[[str], None]
) -> ScaffoldEditor:
    """The editor that the night was started with.

    Args:
        workspace: The workspace.
        record: The night's record.
        say: Told in a few words what the editor does.

    Raises:
        MissingKey: Its model needs a key that is not there.
    """
    config = record.config
    if config.night.editor == "rules":
        return RulesEditor(seed_scaffolds() / "edits")
    model = config.models["meta"]
    model.api_key()  # said now, and not after the champion has played
    began = time.time() - record.seconds

    def make_broker(name: str) -> Broker:
        return Broker(
            {"meta": model},
            night=record.id,
            episode=name,
            ledger=SpendLedger(workspace.ledger, spending_limits(config)),
            journal=ResponseJournal(journal_path(workspace, name), name),
            started_at=began,
        )

    return MetaEditor(
        f"{model.provider}:{model.model}",
        make_broker,
        workspace.artifacts,
        lambda night, number: transcript_path(workspace.night_folder(night), number),
        patience=Patience(config.night.editor_turns, config.night.editor_characters),
        say=say,
    )


def journal_path(workspace: Workspace, name: str) -> Path:
    """Where a conversation's answers are kept while it is held, by its name."""
    return workspace.artifacts / "journal" / f"{name.replace('/', '-')}.jsonl"
