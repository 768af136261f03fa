"""A revision to take apart."""

from __future__ import annotations

from pathlib import Path

from orchestrator.scaffolds.revision import Proposal, Revision, Verdict
from orchestrator.workspace import Workspace
from tests.support.workspaces import add_blind_lineage, small_workspace


def accepted(
    place: Workspace,
    changes: dict[str, bytes | None],
    number: int = 1,
    trajectories: tuple[str, ...] = (),
) -> Revision:
    """A revision as if the gate had accepted it, on these episodes."""
    store = place.scaffolds
    champion = store.champion("blind")
    candidate = store.propose(
        "blind",
        night="blind-20260101-000000",
        number=number,
        tree=store.write_tree(champion.tree, changes),
        parent=champion,
        proposal=Proposal(
            subject="Show the game",
            summary="Shows it.",
            rationale="It stood still.",
            expected_effect="It plays.",
            kind="perception",
            editor="rules",
        ),
    )
    return store.accept(store.record(candidate, Verdict(word="accept", trajectories=trajectories)))


def laboratory(folder: Path, trajectories: tuple[str, ...] = ()) -> Workspace:
    """A workspace with a lineage whose v1 shows the game, and carries three idle changes."""
    place = small_workspace(folder / "lab")
    seeing = add_blind_lineage(place, folder)
    hooks = place.scaffolds.read_files(place.scaffolds.champion("blind"))["hooks.py"]
    accepted(
        place,
        {
            "prompts/plan.j2": seeing,
            "README.md": b"It sees.\n",
            "extra.py": b"SEEN = True\n",
            "hooks.py": hooks + b"\n\nimport extra\n",
        },
        trajectories=trajectories,
    )
    return place
