"""What is checked before anything expensive: the static checks and the smoke episode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from orchestrator.episodes.planner import manifest_faults
from orchestrator.episodes.spec import EpisodeResult, MissingEpisode
from orchestrator.episodes.trajectory import Trajectory
from orchestrator.outage import check_outage
from orchestrator.scaffolds.check import check_folder

PlaySmoke = Callable[[], EpisodeResult | MissingEpisode]


def refusal_of(
    folder: Path,
    play_smoke: PlaySmoke,
    artifacts: Path,
    override_ceiling: float,
    *,
    play_champion: PlaySmoke,
) -> str:
    """Why a candidate is refused; empty if it may go to the gate.

    Args:
        folder: The candidate's files.
        play_smoke: Plays a short episode with it.
        artifacts: The artifacts folder, for the smoke episode's trajectory.
        override_ceiling: Share of steps in which code may override the model.
        play_champion: Plays the same episode with what the candidate was made from.

    Raises:
        Outage: Neither smoke episode could be played, so it is the machinery.
    """
    faults = check_folder(folder, validate_manifest=manifest_faults)
    if faults:
        return str(faults[0])
    result = play_smoke()
    if isinstance(result, MissingEpisode):
        # A candidate that loses its own episodes would otherwise stop every night that meets it.
        check_outage([result, play_champion()], share=1.0)
        return f"The smoke episode was lost, and the champion's was not: {result.message}"
    if result.outcome.startswith("scaffold_"):
        return f"The smoke episode failed: {result.details.get('fault', result.outcome)}"
    return usurpation(artifacts, [result], override_ceiling)


def usurpation(artifacts: Path, played: Sequence[EpisodeResult], override_ceiling: float) -> str:
    """Whether code plays or remembers in the model's place, which no score can make up for.

    Asked of the smoke episode, and again of all that the gate saw: code could behave in a short
    episode and take over in a long one.

    Args:
        artifacts: The artifacts folder.
        played: Episodes of one candidate.
        override_ceiling: Share of steps in which code may override the model.

    Returns:
        The reason to refuse the candidate; empty if there is none.
    """
    steps = sum(one.steps for one in played)
    overridden = sum((one.metrics["override_rate"] or 0.0) * one.steps for one in played)
    if steps and overridden / steps > override_ceiling:
        return (
            f"Code overrode the model in {overridden / steps:.0%} of the steps, and"
            f" {override_ceiling:.0%} is allowed: a scaffold that plays by itself is not a memory"
            " scaffold."
        )
    if played and not any(_model_used_memory(artifacts / one.trajectory) for one in played):
        return "The model chose no memory command in any episode: they must stay its own."
    return ""


def _model_used_memory(path: Path) -> bool:
    steps = Trajectory(path).steps()
    return any(
        command["ok"] for step in steps for turn in step["turns"] for command in turn["commands"]
    )
