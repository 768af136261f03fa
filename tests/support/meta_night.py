"""Goes on with a night whose editor is a model, in a process of its own that may be killed.

``python -m tests.support.meta_night WORKSPACE NIGHT``
"""

from __future__ import annotations

import sys
from pathlib import Path

from orchestrator.editors.choice import make_editor
from orchestrator.night_record import NightRecord, read_record
from orchestrator.workspace import Workspace, find_workspace
from tests.support.nights import Quiet, Runner, run


def night(place: Workspace, record: NightRecord, runner: Runner | None = None) -> NightRecord:
    """Run a night with the editor that its configuration names."""
    listener = Quiet()
    editor = make_editor(place, record, listener.say)
    return run(place, record, runner or Runner(), editor=editor, listener=listener)


if __name__ == "__main__":
    folder, name = sys.argv[1:]
    workspace = find_workspace(Path(folder))
    night(workspace, read_record(workspace.night_folder(name)))
