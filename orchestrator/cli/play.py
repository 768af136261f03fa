"""``play``: one episode."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from envs.registry import resolve, select
from orchestrator.cli.options import AllowUnsandboxedOption, SandboxOption
from orchestrator.cli.output import (
    JsonOption,
    WorkspaceOption,
    number,
    print_json,
    progress_bars,
    screen,
)
from orchestrator.cli.playing import (
    ApiKeyOption,
    BaseUrlOption,
    EnvironmentArgument,
    ModelOption,
    ScaffoldOption,
    StepsOption,
    as_json,
    author_of,
    configured,
    prepared_scaffold,
)
from orchestrator.config import Config
from orchestrator.episodes.job import run_job
from orchestrator.episodes.planner import EpisodePlanner
from orchestrator.episodes.spec import EpisodeResult
from orchestrator.episodes.store import EpisodeStore
from orchestrator.errors import SlowwaveError
from orchestrator.workspace import Workspace, workspace_or_here


def play(
    environment: EnvironmentArgument,
    seed: Annotated[int, typer.Option(help="The game's seed.", min=0)] = 0,
    steps: StepsOption = None,
    model: ModelOption = None,
    base_url: BaseUrlOption = None,
    api_key_env: ApiKeyOption = None,
    scaffold: ScaffoldOption = None,
    sandbox: SandboxOption = None,
    allow_unsandboxed: AllowUnsandboxedOption = False,
    again: Annotated[
        bool,
        typer.Option(
            "--again",
            help="Play even if the result is stored, which stays as it is; digests must agree.",
        ),
    ] = False,
    workspace: WorkspaceOption = None,
    json: JsonOption = False,
) -> None:
    """Play one episode and say how it went.

    Example: slowwave play crafter --seed 7 --steps 300 --scaffold scaffolds/crafter
    """
    place = workspace_or_here(workspace)
    config = configured(place, model, base_url, api_key_env, sandbox)
    selection = select(resolve(environment))
    planner = EpisodePlanner.make(
        config, place.artifacts, selection.ids, steps=steps, allow_unsandboxed=allow_unsandboxed
    )
    folder, tree = prepared_scaffold(place, selection, scaffold)
    (job,) = planner.jobs(folder, tree, [seed], author=author_of(place, tree))
    before = EpisodeStore(place.artifacts).get(job.spec.key)
    with progress_bars() as watcher:
        result = run_job(
            job, lambda done: watcher.advance("playing", done, planner.steps), again=again
        )
    if before is not None and again:
        result = _compared(before, result, place, config)
    if json:
        print_json({**as_json(result, place), "sandbox": planner.config.sandbox})
    else:
        _print_episode(result, place)
        screen.print(f"sandbox {planner.config.sandbox}", highlight=False)


def _compared(
    before: EpisodeResult, now: EpisodeResult, place: Workspace, config: Config
) -> EpisodeResult:
    """The stored result, if the game played again was the same; only another one is kept."""
    trajectory = place.artifacts / now.trajectory
    if before.digest != now.digest:
        kept = trajectory.with_name(f"{before.key}.again-{now.digest[:12]}.jsonl.zst")
        trajectory = trajectory.rename(kept)
        raise SlowwaveError(
            f"Seed {before.seed} gave another game than before ({now.digest[:12]} against"
            f" {before.digest[:12]}); what was stored is as it was, and the new game is in"
            f" {trajectory}.",
            mend=_why_another(config),
        )
    trajectory.unlink()
    return before


def _why_another(config: Config) -> str:
    """What may be behind two games of one seed: a model that samples, or else the seeds."""
    if any(model.provider != "heuristic" for model in config.models.values()):
        return (
            "A model may answer otherwise each time; `slowwave envs check` tries the game alone,"
            " and --model heuristic plays it without one."
        )
    return "Run `slowwave doctor`: the seeds of this installation do not hold."


def _print_episode(result: EpisodeResult, place: Workspace) -> None:
    screen.print(
        f"{result.environment} seed {result.seed}: {100 * result.progression:.1f}% after"
        f" {result.steps} steps, {result.outcome}",
        highlight=False,
        markup=False,
    )
    if "fault" in result.details:
        screen.print(str(result.details["fault"]), style="red", highlight=False, markup=False)
    table = Table("metric", "value")
    for name, value in result.metrics.items():
        table.add_row(escape(name), number(value))
    screen.print(table)
    screen.print(f"digest {result.digest}", highlight=False, soft_wrap=True)
    path = place.artifacts / result.trajectory
    screen.print(f"trajectory {path}", highlight=False, markup=False, soft_wrap=True)


def add_commands(app: typer.Typer) -> None:
    """Add this module's command."""
    app.command()(play)
