"""``gate simulate``, ``gate power`` and ``gate calibrate``."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Annotated, Any

import typer
from rich.table import Table

from orchestrator.cli.options import AllowUnsandboxedOption, SandboxOption, choose_sandbox
from orchestrator.cli.output import (
    JsonOption,
    WorkspaceOption,
    number,
    print_json,
    screen,
)
from orchestrator.cli.playing import play_jobs
from orchestrator.cli.redteam import redteam
from orchestrator.episodes.planner import EpisodePlanner
from orchestrator.errors import UsageError
from orchestrator.evaluation import scores_by_seed
from orchestrator.gate.banks import SLICE_SEEDS
from orchestrator.gate.calibrate import calibrate as calibrate_rule
from orchestrator.gate.power import PowerTable
from orchestrator.gate.power import power as power_of
from orchestrator.gate.rate import Rate
from orchestrator.gate.rules import AcceptanceRule, TwoStageRule, rule_from_name
from orchestrator.gate.simulate import simulate as simulate_rule
from orchestrator.night_record import paired_differences
from orchestrator.verdicts import make_rule
from orchestrator.workspace import find_workspace, workspace_or_here

app = typer.Typer(help="What the gate does to revisions that are no better, and to better ones.")
app.command()(redteam)


def _finite(value: float | None) -> float | None:
    """Refuse what is a number to Python alone: ``nan`` and ``inf``."""
    if value is not None and not math.isfinite(value):
        raise typer.BadParameter(f"{value} is no finite number.")
    return value


RuleOption = Annotated[str, typer.Option(help="two-stage or strict-mean.")]
SeedOption = Annotated[int, typer.Option(help="Seed of the simulation.", min=0)]


AlphaOption = Annotated[
    float | None,
    typer.Option(help="Level of that stage; default: slowwave.toml.", min=0, max=1),
]


def _with_levels(rule: AcceptanceRule, **levels: float | None) -> AcceptanceRule:
    """The rule with other levels where they are given."""
    given: dict[str, Any] = {name: one for name, one in levels.items() if one is not None}
    if not given:
        return rule
    if not isinstance(rule, TwoStageRule):
        raise UsageError(
            f"The rule {rule.name} makes no test and has no levels.",
            mend="Leave --screen-alpha and --confirm-alpha out, or use --rule two-stage.",
        )
    return replace(rule, **given)


@app.command()
def simulate(
    rule: RuleOption = "two-stage",
    nights: Annotated[int, typer.Option(help="Nights to simulate.", min=1)] = 2000,
    candidates: Annotated[int, typer.Option(help="Candidates in each.", min=1)] = 30,
    effect: Annotated[
        float, typer.Option(help="True gain of the better ones, in points.", callback=_finite)
    ] = 0.0,
    better: Annotated[int, typer.Option(help="How many are truly better.", min=0)] = 1,
    proposals: Annotated[
        int, typer.Option(help="Candidates of a round: the best on the screen is confirmed.", min=1)
    ] = 1,
    screen_alpha: AlphaOption = None,
    confirm_alpha: AlphaOption = None,
    noise: Annotated[
        float, typer.Option(help="SD of an episode, in points.", min=0, callback=_finite)
    ] = 9.0,
    shared: Annotated[
        float, typer.Option(help="SD of a seed's effect, in points.", min=0, callback=_finite)
    ] = 6.0,
    seed: SeedOption = 0,
    workspace: WorkspaceOption = None,
    json: JsonOption = False,
) -> None:
    """Simulate nights and count false acceptances; calls the rule that a night uses.

    Example: slowwave gate simulate --rule strict-mean --nights 2000 --candidates 30

    Example: slowwave gate simulate --candidates 6 --proposals 6 --confirm-alpha 0.05 --effect 8
    """
    place = workspace_or_here(workspace)
    configured = place.config.gate.rule == rule
    result = simulate_rule(
        _with_levels(
            make_rule(place.config) if configured else rule_from_name(rule),
            screen_alpha=screen_alpha,
            confirm_alpha=confirm_alpha,
        ),
        nights=nights,
        candidates=candidates,
        effect=effect,
        better=better,
        proposals=proposals,
        noise=noise,
        shared=shared,
        night_alpha=place.config.gate.night_alpha,
        seed=seed,
    )
    if json:
        print_json(result.model_dump(mode="json"))
        return
    table = Table("", "")
    table.add_row("nights with a false acceptance", _rate(result.false_accept_rate))
    table.add_row("nights that accept a truly better one", _rate(result.power))
    table.add_row("new episodes per candidate", f"{result.episodes_per_candidate:.1f}")
    table.add_row("gain a night reports", f"{result.mean_reported_effect:+.1f} points")
    table.add_row("gain it truly has", f"{result.mean_true_effect:+.1f} points")
    screen.print(f"{rule}: {nights} nights of {candidates} candidates", highlight=False)
    screen.print(table)


@app.command()
def power(
    sd: Annotated[
        float | None,
        typer.Option(
            help="SD of a paired difference, in points; default: from stored nights.",
            min=0,
            callback=_finite,
        ),
    ] = None,
    seed: SeedOption = 0,
    workspace: WorkspaceOption = None,
    json: JsonOption = False,
) -> None:
    """Say which improvements the configured gate finds, from stored variance, without playing.

    Example: slowwave gate power --sd 12
    """
    place = workspace_or_here(workspace)
    rule = make_rule(place.config)
    if sd is not None:
        table = power_of(rule, difference_sd=sd, trials=200, seed=seed)
    else:
        table = power_of(
            rule, differences=paired_differences(place.artifacts), trials=200, seed=seed
        )
    if json:
        print_json(table.model_dump(mode="json"))
    else:
        _print_power(table)


@app.command()
def calibrate(
    lineage: Annotated[str, typer.Argument(help="The lineage whose champion plays.")] = "crafter",
    replicates: Annotated[int, typer.Option(help="Runs of each seed.", min=2)] = 2,
    seeds: Annotated[
        int, typer.Option(help="Seeds of the propose bank to play.", min=2, max=SLICE_SEEDS)
    ] = 20,
    candidates: Annotated[int, typer.Option(help="Candidates of a night.", min=1)] = 30,
    sandbox: SandboxOption = None,
    allow_unsandboxed: AllowUnsandboxedOption = False,
    workspace: WorkspaceOption = None,
    json: JsonOption = False,
) -> None:
    """Play the champion against itself and measure what the gate does with it.

    Example: slowwave gate calibrate crafter --workspace lab
    """
    place = find_workspace(workspace)
    champion = place.scaffolds.champion(lineage)
    folder = place.scaffolds.export(champion.tree, place.artifacts / "revisions")
    selection = place.environment_of(lineage)
    planner = EpisodePlanner.make(
        choose_sandbox(place.config, sandbox),
        place.artifacts,
        selection.ids,
        steps=place.config.night.steps.get(selection.family),
        allow_unsandboxed=allow_unsandboxed,
    )
    author = place.scaffolds.author(champion.tree)
    banks, _ = place.banks(selection.name)
    numbers = banks.seeds("propose", seeds)
    runs = [
        planner.jobs(folder, champion.tree, numbers, author=author, replicate=replicate)
        for replicate in range(replicates)
    ]
    jobs = [job for run in runs for job in run]
    outcomes = play_jobs(place, jobs, f"calibrate {champion.name}")
    size = len(runs[0])
    by_run = [
        scores_by_seed(outcomes[at : at + size], len(selection.ids)).values()
        for at in range(0, len(outcomes), size)
    ]
    scores = [list(of_seed) for of_seed in zip(*by_run, strict=True)]
    found = calibrate_rule(
        make_rule(place.config),
        scores,
        candidates=candidates,
        night_alpha=place.config.gate.night_alpha,
        trials=200,
    )
    if json:
        print_json(found.model_dump(mode="json"))
        return
    for sentence in found.sentences:
        screen.print(sentence, highlight=False)


def _rate(rate: Rate | None) -> str:
    if rate is None:
        return "–"
    return f"{rate.estimate:.1%} [{rate.low:.1%}, {rate.high:.1%}]"


def _print_power(table: PowerTable) -> None:
    for sentence in table.sentences:
        screen.print(sentence, highlight=False)
    rows = Table("effect, points", "found", "episodes")
    for one in table.effects:
        rows.add_row(f"{one.effect:+.1f}", _rate(one.power), number(one.episodes, ".1f"))
    screen.print(rows)
