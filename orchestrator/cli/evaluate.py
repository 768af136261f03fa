"""``eval``: a scaffold on many seeds or a suite, or several scaffolds side by side."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from envs.registry import Selection, select
from orchestrator.cli.options import AllowUnsandboxedOption, SandboxOption
from orchestrator.cli.output import (
    JsonOption,
    WorkspaceOption,
    aside,
    number,
    print_json,
    screen,
)
from orchestrator.cli.playing import (
    ApiKeyOption,
    BaseUrlOption,
    EnvironmentArgument,
    ModelOption,
    Outcome,
    ScaffoldOption,
    StepsOption,
    as_json,
    author_of,
    configured,
    parse_seeds,
    play_jobs,
    prepared_scaffold,
)
from orchestrator.episodes.planner import EpisodePlanner
from orchestrator.episodes.spec import EpisodeResult, MissingEpisode
from orchestrator.errors import UsageError
from orchestrator.evaluation import compare, means_by_environment, scores_by_seed, summarize
from orchestrator.workspace import Workspace, seed_scaffolds, workspace_or_here

V0 = "v0"
BASELINES = ("no-memory", "window", "window-cot")


@dataclass(frozen=True, slots=True)
class Contender:
    """A scaffold and how it played.

    Attributes:
        name: What the user called it.
        tree: Its tree hash.
        outcomes: Its episodes, seed by seed.
    """

    name: str
    tree: str
    outcomes: list[Outcome]


def evaluate(
    environment: EnvironmentArgument,
    seeds: Annotated[str, typer.Option(help="Seeds such as 1-10 or 1,5,8-9.")] = "1-10",
    steps: StepsOption = None,
    model: ModelOption = None,
    base_url: BaseUrlOption = None,
    api_key_env: ApiKeyOption = None,
    scaffold: ScaffoldOption = None,
    compare: Annotated[
        str | None,
        typer.Option(
            help="Scaffolds side by side, differences against the first: folders, revisions,"
            f" {', '.join(BASELINES)}, or {V0} for the seed scaffold.",
        ),
    ] = None,
    sandbox: SandboxOption = None,
    allow_unsandboxed: AllowUnsandboxedOption = False,
    workers: Annotated[int | None, typer.Option(help="Episodes at once.", min=1)] = None,
    workspace: WorkspaceOption = None,
    json: JsonOption = False,
) -> None:
    """Play one episode per seed, in parallel, and average.

    Of a suite such as minihack every available environment is played, and the others are named.

    Example: slowwave eval crafter --seeds 1-10 --json

    Example: slowwave eval minihack --compare no-memory,window,v0
    """
    if compare is not None and scaffold is not None:
        raise UsageError(
            "--compare and --scaffold cannot go together.",
            mend="Name every scaffold in --compare, the one to compare with first.",
        )
    place = workspace_or_here(workspace)
    config = configured(place, model, base_url, api_key_env, sandbox)
    wanted = parse_seeds(seeds)
    selection = select(environment)
    for missing in selection.unavailable.values():
        aside.print(f"Not played: {missing}", highlight=False, markup=False, soft_wrap=True)
    planner = EpisodePlanner.make(
        config, place.artifacts, selection.ids, steps=steps, allow_unsandboxed=allow_unsandboxed
    )
    names = _names(compare) if compare is not None else [scaffold]
    contenders = _play(place, planner, selection, names, wanted, workers)
    if compare is None:
        _show_one(place, planner, selection, contenders[0], json=json)
    else:
        _show_all(planner, selection, contenders, json=json)


def _names(listed: str) -> list[str | None]:
    names = list(dict.fromkeys(name.strip() for name in listed.split(",") if name.strip()))
    if len(names) < 2:
        raise UsageError(
            f"'{listed}' names no two scaffolds.",
            mend="Write, for example, --compare no-memory,window,v0.",
        )
    return list(names)


def _play(
    place: Workspace,
    planner: EpisodePlanner,
    selection: Selection,
    names: list[str | None],
    seeds: list[int],
    workers: int | None,
) -> list[Contender]:
    scaffolds = [
        (name or selection.name, *prepared_scaffold(place, selection, _located(name, selection)))
        for name in names
    ]
    runs = [
        planner.jobs(folder, tree, seeds, author=author_of(place, tree))
        for _, folder, tree in scaffolds
    ]
    outcomes = play_jobs(
        place, [job for jobs in runs for job in jobs], f"eval {selection.name}", workers
    )
    size = len(runs[0])
    return [
        Contender(name, tree, outcomes[at * size : (at + 1) * size])
        for at, (name, _, tree) in enumerate(scaffolds)
    ]


def _located(name: str | None, selection: Selection) -> str | None:
    """A baseline's or the seed scaffold's folder; other names are the user's own."""
    if name == V0:
        return str(seed_scaffolds() / selection.family)
    if name in BASELINES and not Path(name).is_dir():
        return str(seed_scaffolds() / name)
    return name


# --- one scaffold -----------------------------------------------------------------------------


def _show_one(
    place: Workspace,
    planner: EpisodePlanner,
    selection: Selection,
    played: Contender,
    *,
    json: bool,
) -> None:
    silent = _silent(selection, [played])
    summary = summarize(played.outcomes, len(selection.ids) - len(silent))
    if json:
        print_json(
            {
                **_heading(planner, selection, silent),
                "tree": played.tree,
                "episodes": [
                    as_json(one, place) for one in played.outcomes if isinstance(one, EpisodeResult)
                ],
                "mean": summary.mean,
                "stderr": summary.stderr,
                "missing": _missing(played.outcomes),
                "metrics": summary.metrics,
            }
        )
        return
    screen.print(_seeds(played) if len(selection.ids) == 1 else _by_environment([played]))
    screen.print(
        f"mean progression {_mean(summary.mean, summary.stderr)} (standard error),"
        f" {summary.missing} missing",
        highlight=False,
    )
    if len(selection.ids) > 1:  # else the table says it, seed by seed
        _say_missing([played], silent)


def _seeds(played: Contender) -> Table:
    table = Table("seed", "progression", "steps", "outcome")
    for one in played.outcomes:
        if isinstance(one, EpisodeResult):
            table.add_row(
                str(one.seed), f"{100 * one.progression:.1f}%", str(one.steps), escape(one.outcome)
            )
        else:
            table.add_row(str(one.seed), "missing", "–", escape(one.message))
    return table


# --- several ----------------------------------------------------------------------------------


def _show_all(
    planner: EpisodePlanner, selection: Selection, contenders: list[Contender], *, json: bool
) -> None:
    first = contenders[0]
    silent = _silent(selection, contenders)
    environments = len(selection.ids) - len(silent)
    base = scores_by_seed(first.outcomes, environments)
    rows: list[dict[str, Any]] = []
    for one in contenders:
        summary = summarize(one.outcomes, environments)
        row: dict[str, Any] = {
            "scaffold": one.name,
            "tree": one.tree,
            "mean": summary.mean,
            "stderr": summary.stderr,
            "missing": _missing(one.outcomes),
            "environments": {
                name: None if mean is None else mean / 100
                for name, mean in means_by_environment(one.outcomes).items()
            },
            "metrics": summary.metrics,
        }
        if one is not first:
            found = compare(base, scores_by_seed(one.outcomes, environments))
            row |= {"difference": found.as_record()}
        rows.append(row)
    if json:
        heading = _heading(planner, selection, silent)
        print_json({**heading, "against": first.name, "scaffolds": rows})
        return
    table = Table("scaffold", "mean", f"difference to {first.name}", "95% interval", "p", "pairs")
    for row in rows:
        cells = [escape(row["scaffold"]), _mean(row["mean"], row["stderr"])]
        one_difference = row.get("difference")
        if one_difference is None:
            table.add_row(*cells, "", "", "", "")
            continue
        low, high = one_difference["low"], one_difference["high"]
        table.add_row(
            *cells,
            f"{number(one_difference['effect'], '+.1f')} points",
            f"[{number(low, '+.1f')}, {number(high, '+.1f')}]".replace("[", r"\["),
            number(one_difference["p"]),
            str(one_difference["pairs"]),
        )
    screen.print(table)
    if len(selection.ids) > 1:
        screen.print(_by_environment(contenders))
    _say_missing(contenders, silent)


def _by_environment(contenders: list[Contender]) -> Table:
    table = Table("environment", *(escape(one.name) for one in contenders))
    means = [means_by_environment(one.outcomes) for one in contenders]
    for environment in means[0]:
        cells = [found[environment] for found in means]
        shown = ["–" if cell is None else f"{cell:.1f}%" for cell in cells]
        table.add_row(environment, *shown)
    return table


# --- shared -----------------------------------------------------------------------------------


def _silent(selection: Selection, contenders: list[Contender]) -> list[str]:
    """The environments of a suite that gave nobody a single episode, while others did.

    No score of theirs can enter a mean, and waiting for one would leave the suite without any.
    """
    played = {
        outcome.environment
        for one in contenders
        for outcome in one.outcomes
        if isinstance(outcome, EpisodeResult)
    }
    return [name for name in selection.ids if name not in played] if played else []


def _heading(planner: EpisodePlanner, selection: Selection, silent: list[str]) -> dict[str, Any]:
    return {
        "environment": selection.name,
        "environments": list(selection.ids),
        "left_out": silent,
        "unavailable": dict(selection.unavailable),
        "sandbox": planner.config.sandbox,
    }


def _missing(outcomes: list[Outcome]) -> list[dict[str, Any]]:
    return [one.model_dump() for one in outcomes if isinstance(one, MissingEpisode)]


def _say_missing(contenders: list[Contender], silent: list[str]) -> None:
    """Each reason once, with how many episodes it cost; then what is in no mean."""
    reasons: dict[str, int] = {}
    for one in contenders:
        for outcome in one.outcomes:
            if isinstance(outcome, MissingEpisode):
                said = f"{outcome.environment}: {outcome.message}"
                reasons[said] = reasons.get(said, 0) + 1
    for said, count in reasons.items():
        aside.print(f"{count} missing: {said}", highlight=False, markup=False, soft_wrap=True)
    for name in silent:
        said = f"{name} gave no episode at all and is in no mean; slowwave envs check {name}"
        aside.print(f"{said} tries it alone.", highlight=False, markup=False, soft_wrap=True)


def _mean(mean: float | None, stderr: float | None) -> str:
    if mean is None:
        return "–"
    error = f" ± {100 * stderr:.1f}" if stderr is not None else ""
    return f"{100 * mean:.1f}%{error}"


def add_commands(app: typer.Typer) -> None:
    """Add this module's command."""
    app.command("eval")(evaluate)
