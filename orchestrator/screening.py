"""What is checked before anything expensive: the static checks and the smoke episode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from agents.grammar import BUILT_IN, LOG, PLAN
from orchestrator.editors.base import Trial
from orchestrator.episodes.planner import manifest_faults
from orchestrator.episodes.spec import EpisodeResult, MissingEpisode
from orchestrator.episodes.trajectory import Trajectory
from orchestrator.outage import check_outage
from orchestrator.scaffolds.check import check_folder

PlaySmoke = Callable[[], EpisodeResult | MissingEpisode]

PHASES = (LOG, PLAN)
MEMORY_COMMANDS = tuple(one.name for one in BUILT_IN if not one.ends)


def try_out(
    folder: Path,
    play_smoke: PlaySmoke,
    artifacts: Path,
    override_ceiling: float,
    *,
    play_champion: PlaySmoke,
) -> Trial:
    """Whether a candidate is refused, by the static checks and a short episode.

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
        return Trial(str(faults[0]), None)
    result = play_smoke()
    if isinstance(result, MissingEpisode):
        # A candidate that loses its own episodes would otherwise stop every night that meets it.
        check_outage([result, play_champion()], share=1.0)
        return Trial(
            f"The smoke episode was lost, and the champion's was not: {result.message}", None
        )
    if result.outcome.startswith("scaffold_"):
        fault = result.details.get("fault", result.outcome)
        return Trial(f"The smoke episode failed: {fault}", result)
    refusal = usurpation(artifacts, [result], override_ceiling)
    return Trial(refusal or _unlisted(artifacts / result.trajectory), result)


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


def _unlisted(path: Path) -> str:
    """Whether the prompts keep memory commands from the model by not telling it of them."""
    log = Trajectory(path)
    shown: dict[str, str] = {}
    for step in log.steps():
        for turn in log.turns(step):
            told = "\n".join(message["content"] for message in turn.messages)
            shown.setdefault(turn.phase, told)
        if len(shown) == len(PHASES):
            break
    for phase, told in shown.items():
        missing = [name for name in MEMORY_COMMANDS if f"<|{name}|>" not in told]
        if missing:
            return (
                f"The prompts of {phase} do not list {', '.join(missing)}: print every command's"
                " form and help, as the seed scaffolds do."
            )
    return ""
