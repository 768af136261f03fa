"""``envs list``, ``envs check``, ``envs show`` and ``envs add-boxoban``."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from envs.base import Environment
from envs.checker import Checked
from envs.conformance import faults_of
from envs.determinism import check_determinism
from envs.errors import EnvironmentFault, EnvironmentUnavailable
from envs.registry import SPECS, SUITES, make, resolve
from orchestrator.cli.output import JsonOption, number, print_json, progress_bars, screen

MAX_SEED = 2**31 - 1

app = typer.Typer(
    help="The games: what can be played here, and whether an environment keeps its promises.",
    no_args_is_help=True,
)

SeedOption = Annotated[int, typer.Option(help="The seed to play.", min=0, max=MAX_SEED)]
NameArgument = Annotated[
    str, typer.Argument(metavar="ID", help="An environment's id, its version may be left out.")
]


@dataclass(frozen=True, slots=True)
class Listed:
    """One environment as it is here; without a reason it is available."""

    id: str
    suites: tuple[str, ...]
    default_steps: int | None
    actions: int | None
    reason: str | None

    @property
    def available(self) -> bool:
        """Whether it can be played here."""
        return self.reason is None


@dataclass(frozen=True, slots=True)
class Examined:
    """What a check found in one environment; an unavailable one has a reason and no faults."""

    id: str
    faults: tuple[str, ...]
    determinism: str | None
    unavailable: str | None
    seconds: float

    @property
    def ok(self) -> bool:
        """Nothing is wrong with it."""
        return not self.faults


@app.command("list")
def list_environments(json: JsonOption = False) -> None:
    """List the environments, and why one cannot be played here.

    Example: slowwave envs list
    """
    found = [_listed(name) for name in SPECS]
    if json:
        print_json({"environments": [{**asdict(one), "available": one.available} for one in found]})
        return
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in ("id", "here", "suite"):
        table.add_column(name, no_wrap=True)
    for name in ("steps", "actions"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in found:
        here = "[green]yes[/]" if one.available else "[yellow]no[/]"
        counts = (number(one.default_steps, ",d"), number(one.actions, "d"))
        table.add_row(one.id, here, ", ".join(one.suites) or "–", *counts)
    screen.print(table)
    for one in found:
        if one.reason is not None:
            _say(one.reason)


@app.command()
def check(
    name: Annotated[
        str, typer.Argument(metavar="ID", help="An environment, or a suite: each in it is checked.")
    ],
    seed: SeedOption = 0,
    steps: Annotated[int, typer.Option(help="Steps of each game.", min=1, max=20_000)] = 150,
    processes: Annotated[
        int, typer.Option(help="Fresh processes whose games are compared.", min=2, max=3)
    ] = 2,
    json: JsonOption = False,
) -> None:
    """Play games of its own to see whether an environment keeps its promises.

    The contract of every environment is tried, and whether a seed means one game in processes that
    differ in what must not matter. Exit status 1 if anything is wrong. What a suite lacks here is
    named, and is no fault.

    Examples: slowwave envs check nethack --steps 1000 --processes 3; slowwave envs check minihack
    """
    suite = name.strip().lower() in SUITES
    names = SUITES[name.strip().lower()] if suite else (resolve(name),)
    if not suite:
        make(names[0]).close()  # asked for by its name, it must be there
    found: list[Examined] = []
    with progress_bars() as watcher:
        for one in _examined(names, seed, steps, processes):
            found.append(one)
            watcher.advance("environments checked", len(found), len(names))
            if not json:
                _print_examined(one)
    ok = all(one.ok for one in found)
    if json:
        print_json(
            {
                "name": name.strip().lower() if suite else names[0],
                "ok": ok,
                "seed": seed,
                "steps": steps,
                "environments": [{**asdict(one), "ok": one.ok} for one in found],
            }
        )
    elif suite:
        _summarize(name.strip().lower(), found)
    if not ok:
        raise typer.Exit(1)


@app.command()
def show(name: NameArgument, seed: SeedOption = 0, json: JsonOption = False) -> None:
    """Show what an agent is told: instructions, actions and the first observation.

    Example: slowwave envs show minihack/quest-easy --seed 3
    """
    environment = make(name)
    try:
        first = environment.reset(seed).text
        if json:
            print_json(
                {
                    "id": environment.id,
                    "seed": seed,
                    "default_steps": environment.default_steps,
                    "instructions": environment.instructions,
                    "actions": environment.actions,
                    "default_action": environment.default_action,
                    "versions": dict(environment.versions),
                    "observation": first,
                }
            )
        else:
            _print_shown(environment, seed, first)
    finally:
        environment.close()


@app.command("add-boxoban")
def add_boxoban(
    path: Annotated[
        Path, typer.Argument(help="A copy of github.com/google-deepmind/boxoban-levels.")
    ],
    json: JsonOption = False,
) -> None:
    """Check the Boxoban levels in a folder and keep them, so that their two tasks can be played.

    Levels that were added before are replaced, unless one of the new ones is faulty.

    Example: slowwave envs add-boxoban ~/boxoban-levels
    """
    try:
        from envs.minihack import boxoban
    except ImportError as error:
        raise EnvironmentUnavailable(
            f"The Boxoban levels are played with MiniHack, which cannot be used here: {error}.",
            mend="Install it: pip install minihack.",
        ) from error
    added = boxoban.add(path)
    if json:
        print_json(
            {
                "sets": [
                    {"name": one.name, "levels": one.count, "digest": one.digest, "path": one.path}
                    for one in added
                ]
            }
        )
        return
    for one in added:
        _say(f"minihack/boxoban-{one.name}-v1 has {one.count:,} levels ({one.digest}).")
    for missing in sorted(set(boxoban.FOLDERS) - {one.name for one in added}):
        _say(f"{path} has none for minihack/boxoban-{missing}-v1, which is as it was.")


def _listed(name: str) -> Listed:
    suites = tuple(suite for suite, members in SUITES.items() if name in members)
    try:
        environment = make(name)
    except EnvironmentFault as error:
        return Listed(name, suites, None, None, str(error))
    found = Listed(name, suites, environment.default_steps, len(environment.actions), None)
    environment.close()
    return found


def _examined(names: Sequence[str], seed: int, steps: int, processes: int) -> Iterator[Examined]:
    for name in names:
        began = time.monotonic()
        try:
            environment = make(name)
        except EnvironmentUnavailable as error:
            yield Examined(name, (), None, str(error), time.monotonic() - began)
            continue
        except Exception as error:  # whatever it is, it is this environment's fault
            yield Examined(name, (_broke(name, error),), None, None, time.monotonic() - began)
            continue
        faults = list(_faults(environment, seed, steps))
        tried = check_determinism(name, seed=seed, steps=steps, processes=processes)
        if not tried.ok:
            faults.append(tried.sentence)
        seconds = time.monotonic() - began
        yield Examined(name, tuple(faults), tried.sentence, None, seconds)


def _faults(environment: Environment, seed: int, steps: int) -> tuple[str, ...]:
    """Faults of the environment itself: the passive checks around it would stop at the first."""
    inside = environment.inside if isinstance(environment, Checked) else environment
    try:
        return faults_of(inside, seed=seed, steps=steps)
    except Exception as error:
        return (_broke(environment.id, error),)
    finally:
        environment.close()


def _broke(name: str, error: Exception) -> str:
    if isinstance(error, EnvironmentFault):
        return error.message
    return f"{name} broke off with {type(error).__name__}: {error}"


def _print_examined(one: Examined) -> None:
    if one.unavailable is not None:
        screen.print("[yellow]–[/]  ", end="")
        _say(one.unavailable)
        return
    if one.ok:
        screen.print("[green]ok[/] ", end="")
        _say(f"{one.determinism} Its contract holds. ({one.seconds:.1f} s)")
        return
    for fault in one.faults:
        screen.print("[red]no[/] ", end="")
        _say(fault if fault.startswith(one.id) else f"{one.id}: {fault}")


def _summarize(suite: str, found: Sequence[Examined]) -> None:
    checked = [one for one in found if one.unavailable is None]
    faulty = [one.id for one in checked if not one.ok]
    away = len(found) - len(checked)
    text = f"{suite}: {len(checked) - len(faulty)} of {len(found)} environments are sound"
    text += f", {away} cannot be played here" if away else ""
    text += f", something is wrong with {', '.join(faulty)}" if faulty else ""
    _say(f"{text}.")


def _print_shown(environment: Environment, seed: int, first: str) -> None:
    screen.print(f"[bold]{environment.id}[/], {environment.default_steps:,} steps\n")
    _say(f"{environment.instructions.strip()}\n")
    screen.print(f"[bold]{len(environment.actions)} actions[/]")
    listed = textwrap.wrap(", ".join(environment.actions), 100)
    _say("\n".join([*listed, ""]))
    screen.print(f"[bold]The first observation of seed {seed}[/]")
    _say(first)


def _say(text: str) -> None:
    screen.print(text, highlight=False, markup=False, soft_wrap=True)
