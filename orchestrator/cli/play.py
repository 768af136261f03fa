"""``play`` and ``eval``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError
from rich.markup import escape
from rich.table import Table

from agents.manifest import FILE as MANIFEST
from agents.manifest import read_manifest
from envs.registry import resolve
from flows.reporting import report_to
from flows.server import prefect_server
from orchestrator.cli.options import AllowUnsandboxedOption, SandboxOption, choose_sandbox
from orchestrator.cli.output import (
    JsonOption,
    WorkspaceOption,
    number,
    print_json,
    progress_bars,
    screen,
)
from orchestrator.config import Config
from orchestrator.episodes.job import EpisodeJob, run_job
from orchestrator.episodes.planner import EpisodePlanner, check_scaffold_folder
from orchestrator.episodes.spec import EpisodeResult, MissingEpisode
from orchestrator.episodes.store import EpisodeStore
from orchestrator.errors import SlowwaveError, UsageError
from orchestrator.evaluation import summarize
from orchestrator.models.config import ModelConfig
from orchestrator.scaffolds.errors import NoStore, StoreError
from orchestrator.scaffolds.export import export_files
from orchestrator.scaffolds.trees import hash_tree, read_folder
from orchestrator.workspace import Workspace, seed_scaffolds, workspace_or_here

Outcome = EpisodeResult | MissingEpisode
EnvironmentArgument = Annotated[str, typer.Argument(help="The game, e.g. crafter.")]
StepsOption = Annotated[
    int | None, typer.Option(help="Step limit; default: the environment's own.", min=1)
]
ScaffoldOption = Annotated[
    str | None,
    typer.Option(
        help="A scaffold's folder or a revision such as crafter/v1; default: the champion."
    ),
]
ModelOption = Annotated[
    str | None,
    typer.Option(help="'heuristic', or 'openai:NAME' with --base-url; default: the workspace's."),
]
BaseUrlOption = Annotated[str | None, typer.Option(help="Address of an OpenAI-compatible server.")]
ApiKeyOption = Annotated[
    str | None,
    typer.Option(
        help="Environment variable with the key; default: none with --base-url, else"
        " OPENAI_API_KEY."
    ),
]


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
        bool, typer.Option("--again", help="Play even if the result is stored; digests must agree.")
    ] = False,
    workspace: WorkspaceOption = None,
    json: JsonOption = False,
) -> None:
    """Play one episode and say how it went.

    Example: slowwave play crafter --seed 7 --steps 300 --scaffold scaffolds/crafter
    """
    place = workspace_or_here(workspace)
    config = _config(place, model, base_url, api_key_env, sandbox)
    planner = EpisodePlanner.make(
        config, place.artifacts, environment, steps=steps, allow_unsandboxed=allow_unsandboxed
    )
    folder, tree = _scaffold(place, environment, scaffold)
    (job,) = planner.jobs(folder, tree, [seed], author=_author(place, tree))
    store = EpisodeStore(place.artifacts)
    before = store.get(job.spec.key)
    if again and before is not None:
        store.forget(job.spec.key)
    with progress_bars() as watcher:
        result = run_job(job, lambda done: watcher.advance("playing", done, planner.steps))
    if again and before is not None and before.digest != result.digest:
        raise SlowwaveError(
            f"Seed {seed} gave another game than before ({result.digest[:12]} against"
            f" {before.digest[:12]}).",
            mend="Run `slowwave doctor`: the seeds of this installation do not hold.",
        )
    if json:
        print_json({**_as_json(result, place), "sandbox": planner.config.sandbox})
    else:
        _print_episode(result, place)
        screen.print(f"sandbox {planner.config.sandbox}", highlight=False)


def evaluate(
    environment: EnvironmentArgument,
    seeds: Annotated[str, typer.Option(help="Seeds such as 1-10 or 1,5,8-9.")] = "1-10",
    steps: StepsOption = None,
    model: ModelOption = None,
    base_url: BaseUrlOption = None,
    api_key_env: ApiKeyOption = None,
    scaffold: ScaffoldOption = None,
    sandbox: SandboxOption = None,
    allow_unsandboxed: AllowUnsandboxedOption = False,
    workers: Annotated[int | None, typer.Option(help="Episodes at once.", min=1)] = None,
    workspace: WorkspaceOption = None,
    json: JsonOption = False,
) -> None:
    """Play one episode per seed, in parallel, and average.

    Example: slowwave eval crafter --seeds 1-10 --json
    """
    place = workspace_or_here(workspace)
    config = _config(place, model, base_url, api_key_env, sandbox)
    wanted = parse_seeds(seeds)
    planner = EpisodePlanner.make(
        config, place.artifacts, environment, steps=steps, allow_unsandboxed=allow_unsandboxed
    )
    folder, tree = _scaffold(place, environment, scaffold)
    jobs = planner.jobs(folder, tree, wanted, author=_author(place, tree))
    outcomes = play_jobs(place, jobs, f"eval {environment}", workers)
    summary = summarize(outcomes)
    if json:
        episodes = [_as_json(one, place) for one in outcomes if isinstance(one, EpisodeResult)]
        missing = [one.model_dump() for one in outcomes if isinstance(one, MissingEpisode)]
        print_json(
            {
                "environment": planner.environment,
                "tree": tree,
                "sandbox": planner.config.sandbox,
                "episodes": episodes,
                "mean": summary.mean,
                "stderr": summary.stderr,
                "missing": missing,
                "metrics": summary.metrics,
            }
        )
        return
    table = Table("seed", "progression", "steps", "outcome")
    for one in outcomes:
        if isinstance(one, EpisodeResult):
            table.add_row(
                str(one.seed), f"{100 * one.progression:.1f}%", str(one.steps), escape(one.outcome)
            )
        else:
            table.add_row(str(one.seed), "missing", "–", escape(one.message))
    screen.print(table)
    error = f" ± {100 * summary.stderr:.1f}" if summary.stderr is not None else ""
    mean = "–" if summary.mean is None else f"{100 * summary.mean:.1f}%{error}"
    screen.print(
        f"mean progression {mean} (standard error), {summary.missing} missing", highlight=False
    )


def play_jobs(
    place: Workspace, jobs: list[EpisodeJob], label: str, workers: int | None = None
) -> list[Outcome]:
    """Play jobs in parallel processes, with progress bars."""
    with prefect_server(place.artifacts), progress_bars() as watcher, report_to(watcher):
        from flows.episodes import processes
        from flows.evaluate import evaluate as evaluate_flow

        flow = evaluate_flow.with_options(task_runner=processes(workers or place.workers))
        return flow(jobs, label)


def parse_seeds(text: str) -> list[int]:
    """Seeds from a text such as ``1-10`` or ``1,5,8-9``, each once.

    Raises:
        UsageError: The text is no list of seeds.
    """
    found: dict[int, None] = {}
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d+)(?:-(\d+))?\s*", part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if last < first or last - first >= 100_000 or last >= 1 << 31:
            raise UsageError(f"'{text}' is no list of seeds.", mend="Write 1-10 or 1,5,8-9.")
        found.update(dict.fromkeys(range(first, last + 1)))
    return list(found)


def _config(
    place: Workspace,
    model: str | None,
    base_url: str | None,
    api_key_env: str | None,
    sandbox: str | None,
) -> Config:
    """The workspace's configuration with what the command line overrides.

    Raises:
        UsageError: An option cannot be used, or not without another.
    """
    changed: dict[str, Any] = {}
    provider, _, name = (model or "").partition(":")
    if model is not None and (
        provider not in ("heuristic", "openai") or (provider == "openai") != bool(name)
    ):
        raise UsageError(
            f"'{model}' is no model.", mend="Write heuristic, or openai:NAME with --base-url."
        )
    if provider != "openai":
        for option, value in (("--base-url", base_url), ("--api-key-env", api_key_env)):
            if value is not None:
                raise UsageError(
                    f"{option} says nothing without a model that has a server.",
                    mend="Add --model openai:NAME, the model's name there.",
                )
    if provider == "openai":
        changed["models"] = {"action": _remote_model(name, base_url, api_key_env)}
    elif model is not None:
        changed["models"] = {"action": ModelConfig(provider="heuristic")}
    return choose_sandbox(place.config.model_copy(update=changed), sandbox)


def _remote_model(name: str, base_url: str | None, api_key_env: str | None) -> ModelConfig:
    # OpenAI's key goes to OpenAI alone, unless it is named for another server.
    variable = api_key_env or (None if base_url else "OPENAI_API_KEY")
    try:
        return ModelConfig(provider="openai", model=name, base_url=base_url, api_key_env=variable)
    except ValidationError as error:
        (fault, *_) = error.errors(include_input=False)
        option = "--" + str(fault["loc"][0] if fault["loc"] else "model").replace("_", "-")
        what, _, mend = fault["msg"].removeprefix("Value error, ").partition("; ")
        if option == "--api-key-env":
            mend = "put the key into an environment variable, and give that variable's name"
    raise UsageError(f"{option} {what}.", mend=f"{mend[:1].upper()}{mend[1:]}." if mend else None)


def _scaffold(place: Workspace, environment: str, given: str | None) -> tuple[Path, str]:
    """The folder to play and its tree hash, copied so that edits meanwhile do not matter.

    Raises:
        UsageError: There is no such scaffold, or it is for another environment.
        BrokenScaffold: It has faults.
    """
    exports = place.artifacts / "revisions"
    folder = Path(given) if given else None
    if folder is None or not folder.is_dir():
        try:
            revision = place.scaffolds.revision(given or environment.partition("-v")[0])
            exported = place.scaffolds.export(revision.tree, exports)
        except StoreError:
            if given is not None:
                raise UsageError(
                    f"There is no scaffold folder and no revision '{given}'.",
                    mend="Give a folder with a scaffold.toml, or a name that `slowwave log` shows.",
                ) from None
            folder = seed_scaffolds() / environment.partition("-v")[0]
        else:
            _check(exported, environment, revision.name)
            return exported, revision.tree
    _check(folder, environment, str(folder))
    files = read_folder(folder)
    return export_files(files, exports), hash_tree(files)


def _author(place: Workspace, tree: str) -> str:
    """Who wrote the code, if nobody has read it; a folder outside a workspace is a person's."""
    try:
        return place.scaffolds.author(tree)
    except NoStore:
        return ""


def _check(folder: Path, environment: str, name: str) -> None:
    """Refuse a scaffold that is broken or says that it is for another environment."""
    check_scaffold_folder(folder, name)
    manifest = read_manifest((folder / MANIFEST).read_text(encoding="utf-8"))
    says, wanted = manifest.scaffold.environment, resolve(environment)
    if says.strip().lower() not in ("any", wanted, wanted.rpartition("-v")[0]):
        raise UsageError(
            f"The scaffold {name} is for the environment '{says}', not for {wanted}.",
            mend=f"Play {says} with it, or give a scaffold for {wanted}: --scaffold.",
        )


def _as_json(result: EpisodeResult, place: Workspace) -> dict[str, Any]:
    record = result.model_dump(mode="json")
    record["trajectory"] = str(place.artifacts / result.trajectory)
    first = (
        "environment",
        "seed",
        "steps",
        "progression",
        "digest",
        "metrics",
        "trajectory",
        "outcome",
    )
    return {**{name: record[name] for name in first}, **record}


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
    """Add this module's commands."""
    app.command()(play)
    app.command("eval")(evaluate)
