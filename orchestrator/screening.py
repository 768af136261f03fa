"""What is checked before anything expensive: the static checks and the smoke episode."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from orchestrator.episodes.planner import manifest_faults
from orchestrator.episodes.spec import EpisodeResult, MissingEpisode
from orchestrator.episodes.trajectory import Trajectory
from orchestrator.scaffolds.check import check_folder

PlaySmoke = Callable[[], EpisodeResult | MissingEpisode]


def refusal_of(
    folder: Path, play_smoke: PlaySmoke, artifacts: Path, override_ceiling: float
) -> str:
    """Why a candidate is refused; empty if it may go to the gate.

    Args:
        folder: The candidate's files.
        play_smoke: Plays a short episode with it.
        artifacts: The artifacts folder, for the smoke episode's trajectory.
        override_ceiling: Share of steps in which code may override the model.
    """
    faults = check_folder(folder, validate_manifest=manifest_faults)
    if faults:
        return str(faults[0])
    result = play_smoke()
    if isinstance(result, MissingEpisode):
        return f"The smoke episode could not be played: {result.message}"
    if result.outcome.startswith("scaffold_"):
        return f"The smoke episode failed: {result.details.get('fault', result.outcome)}"
    override = result.metrics["override_rate"] or 0.0
    if override > override_ceiling:
        return (
            f"Code overrode the model in {override:.0%} of the steps, and {override_ceiling:.0%}"
            " is allowed: a scaffold that plays by itself is not a memory scaffold."
        )
    if not _model_used_memory(artifacts / result.trajectory):
        return "In the smoke episode the model chose no memory command: they must stay its own."
    return ""


def _model_used_memory(path: Path) -> bool:
    steps = Trajectory(path).steps()
    return any(
        command["ok"] for step in steps for turn in step["turns"] for command in turn["commands"]
    )
