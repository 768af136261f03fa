"""``sandbox build``, ``sandbox wheels`` and ``sandbox check``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from orchestrator.attacks.catalog import ATTACKS
from orchestrator.attacks.suite import Finding, check_sandbox
from orchestrator.cli.options import SandboxOption, choose_sandbox
from orchestrator.cli.output import (
    JsonOption,
    WorkspaceOption,
    aside,
    print_json,
    progress_bars,
    screen,
)
from orchestrator.errors import UsageError
from orchestrator.sandbox import make_sandbox
from orchestrator.sandbox.base import Sandbox, SandboxAway, cannot, missing
from orchestrator.workspace import workspace_or_here

app = typer.Typer(
    help="Where scaffold code runs: build the image, try to break out.", no_args_is_help=True
)

BaseOption = Annotated[
    str | None,
    typer.Option(
        help="Base image with Python 3.11 or newer; default: the public slim image of this Python.",
        show_default=False,
    ),
]


@app.command()
def build(
    base: BaseOption = None,
    wheels: Annotated[
        Path | None,
        typer.Option(help="Folder of wheels to build from; nothing is downloaded then."),
    ] = None,
    if_docker: Annotated[
        bool, typer.Option("--if-docker", help="Do nothing where no Docker daemon answers.")
    ] = False,
    workspace: WorkspaceOption = None,
    json: JsonOption = False,
) -> None:
    """Build the image of the docker sandbox, if what goes into it has changed.

    Example: slowwave sandbox build --base python:3.12-slim
    """
    from orchestrator.sandbox.containers import image
    from orchestrator.sandbox.containers.daemon import connect

    place = workspace_or_here(workspace)
    try:
        daemon = connect(place.config.docker.host)
    except SandboxAway as away:
        if not if_docker:
            raise
        if json:
            print_json({"image": None, "built": False, "reason": away.message})
        else:
            aside.print(f"No image is built: {away.message}", highlight=False, soft_wrap=True)
        return
    base = base or image.default_base()
    if wheels is not None and not wheels.is_dir():
        raise typer.BadParameter(f"There is no folder {wheels}.", param_hint="--wheels")
    built, fresh = image.build(
        daemon,
        base=base,
        folder=wheels or place.artifacts / "wheels",
        fetch=wheels is None,
        say=lambda text: aside.print(text, highlight=False, markup=False, soft_wrap=True),
    )
    if json:
        print_json(
            {
                "image": built.tag,
                "id": built.id,
                "base": built.base,
                "python": built.python,
                "built": fresh,
            }
        )
        return
    word = "Built" if fresh else "Up to date:"
    screen.print(f"{word} {built.tag} (Python {built.python})", highlight=False, markup=False)


@app.command("wheels")
def fetch_wheels(
    folder: Annotated[Path, typer.Argument(help="Where to put them.")],
    base: BaseOption = None,
    workspace: WorkspaceOption = None,
    json: JsonOption = False,
) -> None:
    """Download the wheels that an image is built from, to build where there is no network.

    Example: slowwave sandbox wheels wheels --base slowwave-base
    """
    from orchestrator.sandbox.containers import image
    from orchestrator.sandbox.containers import wheels as loader
    from orchestrator.sandbox.containers.daemon import connect

    place = workspace_or_here(workspace)
    daemon = connect(place.config.docker.host)
    base = base or image.default_base()
    image.require_base(daemon, base, lambda text: aside.print(text, highlight=False, markup=False))
    found = loader.download(folder, loader.pins(), image.interpreter(daemon, base))
    if json:
        print_json({"folder": str(folder), "wheels": [path.name for path in found.values()]})
        return
    for path in found.values():
        screen.print(str(path), highlight=False, markup=False, soft_wrap=True)


@app.command()
def check(
    sandbox: SandboxOption = None,
    attack: Annotated[
        list[str] | None, typer.Option(help="Only this attack; may be given several times.")
    ] = None,
    workspace: WorkspaceOption = None,
    json: JsonOption = False,
) -> None:
    """Run hostile scaffolds in the sandbox and say what became of each.

    What the sandbox does not promise to hold is tried in a variant that harms nobody. Exit status 1
    if a promise was broken.

    Example: slowwave sandbox check --sandbox docker
    """
    place = workspace_or_here(workspace)
    config = choose_sandbox(place.config, sandbox)
    room = make_sandbox(config.sandbox, place.artifacts, config.docker)
    unknown = sorted(set(attack or ()) - {one.name for one in ATTACKS})
    if unknown:
        raise UsageError(
            f"There is no attack '{unknown[0]}'.",
            mend=f"There are: {', '.join(one.name for one in ATTACKS)}.",
        )
    wanted = [one for one in ATTACKS if not attack or one.name in attack]
    with progress_bars() as watcher:
        done: list[Finding] = []

        def listen(finding: Finding) -> None:
            done.append(finding)
            watcher.advance(f"attacks on {room.name}", len(done), len(wanted))

        found = check_sandbox(room, wanted, listen=listen)
    broken = [one for one in found if one.result == "broken"]
    if json:
        print_json(
            {
                "sandbox": room.name,
                "ok": not broken,
                "does_not_enforce": [one.name.lower() for one in missing(room)],
                "attacks": [one.model_dump() for one in found],
            }
        )
    else:
        _print_findings(room, found)
    if broken:
        raise typer.Exit(1)


_WORDS = {
    "held": "[green]held[/]",
    "open": "[yellow]got through[/]",
    "broken": "[bold red]BROKE A PROMISE[/]",
}


def _print_findings(room: Sandbox, found: Sequence[Finding]) -> None:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in ("attack", "result", "outcome"):
        table.add_column(name, no_wrap=True)
    table.add_column("s", justify="right", no_wrap=True)
    table.add_column("what it does")
    for one in found:
        outcome, seconds = one.outcome.removeprefix("scaffold_"), f"{one.seconds:.1f}"
        table.add_row(one.attack, _WORDS[one.result], outcome, seconds, one.tries)
    screen.print(table)
    for one in found:
        if one.reasons:
            why = f"{one.attack}: {'; '.join(one.reasons)}"
            screen.print(why, highlight=False, markup=False)
    counts = {word: sum(one.result == word for one in found) for word in _WORDS}
    screen.print(
        f"{room.name}: {counts['held']} of {len(found)} attacks held, {counts['open']} got through"
        f" where nothing is promised, {counts['broken']} broke a promise. {cannot(room)}".strip(),
        highlight=False,
        markup=False,
    )
