"""``ablate``: what each hunk of a revision contributes, and the revision without the dead ones."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from orchestrator.ablation.bench import AblationBench
from orchestrator.ablation.hunks import Contribution
from orchestrator.ablation.minimal import Smaller, drop_dead, require_newest
from orchestrator.cli.history import RevisionArgument
from orchestrator.cli.options import AllowUnsandboxedOption, SandboxOption, choose_sandbox
from orchestrator.cli.output import JsonOption, WorkspaceOption, number, print_json, screen
from orchestrator.cli.playing import play_jobs
from orchestrator.workspace import find_workspace

WORDS = {
    "needed": "nothing runs without it",
    "helps": "helps",
    "harms": "harms",
    "dead": "dead: it makes no difference",
    "unclear": "unclear: more pairs would tell",
}


def ablate(
    revision: RevisionArgument,
    pairs: Annotated[
        int | None, typer.Option(help="Seeds; default: the confirm bank's number.", min=2)
    ] = None,
    alpha: Annotated[
        float, typer.Option(help="Two-sided level for all hunks together.", min=1e-6, max=0.5)
    ] = 0.05,
    margin: Annotated[
        float,
        typer.Option(
            help="Points within which a hunk counts as dead; the most that is given up for it.",
            min=0.0,
        ),
    ] = 1.0,
    minimal: Annotated[
        bool,
        typer.Option(
            "--minimal", help="Commit it without what is dead or harms, if the gate agrees."
        ),
    ] = False,
    sandbox: SandboxOption = None,
    allow_unsandboxed: AllowUnsandboxedOption = False,
    workspace: WorkspaceOption = None,
    json: JsonOption = False,
) -> None:
    """Measure what each hunk of a revision contributes, on fresh seeds of the confirm bank.

    The revision plays against itself without the hunk; what is dead can be dropped.

    Example: slowwave ablate crafter/v1 --minimal
    """
    place = find_workspace(workspace)
    bench = AblationBench.make(
        place,
        choose_sandbox(place.config, sandbox),
        lambda jobs, label: play_jobs(place, jobs, label),
        revision,
        pairs=pairs,
        allow_unsandboxed=allow_unsandboxed,
    )
    if minimal:
        require_newest(bench)
    found = bench.contributions(alpha, margin)
    if not json:
        _show(found)
    made = drop_dead(bench, found, margin) if minimal else None
    if json:
        print_json(_as_json(bench, found, made))
    elif made is not None:
        _say(made.sentence)
    elif any(one.word in ("dead", "harms") for one in found):
        screen.print("--minimal commits it without what is dead or harms, if the gate agrees.")


def _show(found: list[Contribution]) -> None:
    screen.print(_table(found))
    for one in found:
        if one.refusal:
            _say(f"{one.hunk.number} cannot be left out: {one.refusal}")


def _say(text: str) -> None:
    screen.print(text, highlight=False, markup=False, soft_wrap=True)


def _table(found: list[Contribution]) -> Table:
    table = Table("hunk", "where", "lines", "contributes", "95% interval", "p", "")
    for one in found:
        hunk, difference = one.hunk, one.difference
        low, high = (difference.low, difference.high) if difference else (None, None)
        table.add_row(
            str(hunk.number),
            escape(hunk.where),
            f"+{len(hunk.added)} -{len(hunk.removed)}",
            f"{number(difference.effect, '+.1f')} points" if difference else "–",
            f"{low:+.1f} … {high:+.1f}" if low is not None and high is not None else "–",
            number(difference.p if difference else None),
            WORDS[one.word],
        )
    return table


def _as_json(
    bench: AblationBench, found: list[Contribution], made: Smaller | None
) -> dict[str, Any]:
    return {
        "revision": bench.revision.name,
        "parent": bench.parent.name,
        "pairs": len(bench.seeds),
        "hunks": [
            {
                "number": one.hunk.number,
                "path": one.hunk.path,
                "where": one.hunk.where,
                "added": list(one.hunk.added),
                "removed": list(one.hunk.removed),
                "word": one.word,
                "refusal": one.refusal,
                "difference": one.difference.as_record() if one.difference else None,
            }
            for one in found
        ],
        "minimal": made
        and {
            "revision": made.name,
            "sentence": made.sentence,
            "verdict": made.verdict and made.verdict.model_dump(mode="json"),
        },
    }


def add_commands(app: typer.Typer) -> None:
    """Add this module's command."""
    app.command()(ablate)
