"""Small workspaces for tests: real games, short episodes, few seeds."""

from __future__ import annotations

import shutil
from pathlib import Path

from orchestrator.files import write_atomically
from orchestrator.workspace import Workspace, create_workspace, seed_scaffolds

SMALL = """\
root_seed = {root_seed}
workers = 2
sandbox = "process"

[models.action]
provider = "heuristic"

[night]
candidates = {candidates}
proposals = {proposals}
smoke_steps = 12

[night.steps]
crafter = {steps}
minihack = {steps}
nethack = {steps}

[banks]
propose = 2
screen = 4
confirm = 5
report = 2

[gate]
night_alpha = 0.9
screen_alpha = 0.5
confirm_alpha = 0.2
"""


def small_workspace(
    root: Path, *, root_seed: int = 3, steps: int = 60, candidates: int = 2, proposals: int = 1
) -> Workspace:
    """A workspace whose nights take seconds; its gate is lenient, so that both verdicts occur."""
    text = SMALL.format(
        root_seed=root_seed, steps=steps, candidates=candidates, proposals=proposals
    )
    write_atomically(root / "slowwave.toml", text)
    return create_workspace(root, root_seed=root_seed)


BLIND = "PLAN, step {{ step }} of {{ steps }}.\n<|TAIL|>actions_log|2<|END|>\nEnd with <|ACTION|>\n"
"""A PLAN prompt that shows nothing of the game, so that the agent stands still."""


def add_blind_lineage(workspace: Workspace, scratch: Path, family: str = "crafter") -> bytes:
    """Add the lineage `blind`, whose agent sees nothing; returns the prompt that mends it."""
    folder = scratch / "blind"
    shutil.copytree(seed_scaffolds() / family, folder)
    seeing = (folder / "prompts" / "plan.j2").read_bytes()
    (folder / "prompts" / "plan.j2").write_text(BLIND)
    workspace.scaffolds.import_lineage("blind", folder)
    return seeing
