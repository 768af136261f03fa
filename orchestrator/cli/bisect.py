"""``bisect``: the revision of a lineage that lost something."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from envs.registry import Selection
from orchestrator.bisect import Found, Tested, bisect, pairs_needed
from orchestrator.cli.options import AllowUnsandboxedOption, SandboxOption, choose_sandbox
from orchestrator.cli.output import JsonOption, WorkspaceOption, aside, number, print_json, screen
from orchestrator.cli.playing import Outcome, play_jobs
from orchestrator.episodes.job import stored_result
from orchestrator.episodes.metrics import NAMES
from orchestrator.episodes.planner import EpisodePlanner
from orchestrator.episodes.spec import EpisodeResult
from orchestrator.errors import UsageError
from orchestrator.evaluation import scores_by_seed
from orchestrator.gate.signflip import MAX_NONZERO
from orchestrator.outage import check_outage
from orchestrator.scaffolds.revision import Revision
from orchestrator.scaffolds.store import ScaffoldStore
from orchestrator.workspace import Workspace, find_workspace

SLICE = 1
"""Slice of the propose bank that is played: nights use the one before it."""


def bisect_(
    bad: Annotated[str, typer.Argument(help="A revision that plays worse, such as crafter/v6.")],
    good: Annotated[str, typer.Argument(help="An earlier one of its lineage that plays better.")],
    metric: Annotated[str, typer.Option(help="progression, or a behavior metric.")] = "progression",
    higher: Annotated[
        bool | None,
        typer.Option(
            "--higher-is-better/--lower-is-better",
            help="Default: higher for progression, lower for the others.",
        ),
    ] = None,
    pairs: Annotated[
        int, typer.Option(help="Seeds at most.", min=4, max=MAX_NONZERO)
    ] = MAX_NONZERO,
    alpha: Annotated[
        float, typer.Option(help="Probability of naming a wrong revision.", min=1e-6, max=0.5)
    ] = 0.05,
    sandbox: SandboxOption = None,
    allow_unsandboxed: AllowUnsandboxedOption = False,
    workspace: WorkspaceOption = None,
    json: JsonOption = False,
) -> None:
    """Find the revision between two that made a metric worse, by paired tests.

    Plays as few seeds as the tests need; games that are stored are not played again.

    Example: slowwave bisect crafter/v6 crafter/v1 --metric progression
    """
    if metric not in NAMES:
        raise UsageError(f"There is no metric '{metric}'.", mend=f"Use one of {', '.join(NAMES)}.")
    place = find_workspace(workspace)
    between = _between(place.scaffolds, bad, good)
    needed = pairs_needed(len(between), alpha)
    if pairs < needed:
        raise UsageError(
            f"{pairs} pairs cannot tell {len(between)} revisions apart at an error of {alpha:g}.",
            mend=f"Give --pairs {needed} or more, a larger --alpha, or fewer revisions.",
        )
    if higher is None:
        higher = metric == "progression"
        if not higher:
            said = f"Less {metric} is taken to be better; --higher-is-better turns it round."
            aside.print(said, highlight=False, markup=False, soft_wrap=True)
    figures = _Figures(
        place,
        between,
        metric,
        1.0 if higher else -1.0,
        sandbox,
        allow_unsandboxed=allow_unsandboxed,
    )
    found = bisect(len(between), figures.of, pairs=pairs, alpha=alpha)
    sentence = _sentence(found, between, metric, alpha, 1.0 if higher else -1.0)
    if json:
        print_json(_as_json(found, between, metric, alpha, sentence, higher=higher))
        return
    screen.print(_table(found.tests, between, 1.0 if higher else -1.0))
    screen.print(sentence, highlight=False, markup=False, soft_wrap=True)
    if found.outcome == "found":
        name = between[found.last].name
        screen.print(
            f"See `slowwave show {name}`; `slowwave revert {name}` takes it back.",
            highlight=False,
            markup=False,
        )


def _between(store: ScaffoldStore, bad: str, good: str) -> list[Revision]:
    """The revisions of the lineage from the good one to the bad one.

    Raises:
        UsageError: The one does not follow from the other.
    """
    worse, better = store.revision(bad), store.revision(good)
    if worse.commit == better.commit:
        raise UsageError(
            f"{bad} and {good} are the same revision.", mend="Name two of a lineage: slowwave log."
        )
    lineage = [one.commit for one in reversed(store.history(worse.lineage))]
    for given, one in ((bad, worse), (good, better)):
        if one.commit not in lineage:
            raise UsageError(
                f"{given} is not an accepted revision of {worse.lineage}.",
                mend=f"Name two from `slowwave log {worse.lineage}`.",
            )
    first, last = lineage.index(better.commit), lineage.index(worse.commit)
    if first > last:
        raise UsageError(
            f"{good} came after {bad}, so it cannot be what {bad} was made from.",
            mend=f"Turn them round: slowwave bisect {good} {bad}.",
        )
    return [store.revision(commit) for commit in lineage[first : last + 1]]


class _Figures:
    """Plays revisions on the seeds that the search asks for."""

    def __init__(
        self,
        place: Workspace,
        between: Sequence[Revision],
        metric: str,
        sign: float,
        sandbox: str | None,
        *,
        allow_unsandboxed: bool,
    ) -> None:
        self._place, self._between, self._metric, self._sign = place, between, metric, sign
        self._selection: Selection = place.environment_of(between[0].lineage)
        self._planner = EpisodePlanner.make(
            choose_sandbox(place.config, sandbox),
            place.artifacts,
            self._selection.ids,
            steps=place.config.night.steps.get(self._selection.family),
            allow_unsandboxed=allow_unsandboxed,
        )
        self._banks, _ = place.banks(self._selection.name)

    def of(self, at: int, pairs: int) -> list[float | None]:
        """A revision's figure on each of the first seeds; higher is better."""
        revision, store = self._between[at], self._place.scaffolds
        folder = store.export(revision.tree, self._place.artifacts / "revisions")
        seeds = self._banks.seeds("propose", pairs, SLICE)
        jobs = self._planner.jobs(folder, revision.tree, seeds, author=store.author(revision.tree))
        stored = [stored_result(job) for job in jobs]
        outcomes: Sequence[Outcome] = [one for one in stored if one is not None]
        if len(outcomes) < len(jobs):
            outcomes = play_jobs(self._place, jobs, f"bisect · {revision.name}")
            check_outage(outcomes)
        values = self._by_seed(outcomes).values()
        return [None if value is None else self._sign * value for value in values]

    def _by_seed(self, outcomes: Sequence[Outcome]) -> dict[int, float | None]:
        environments = len(self._selection.ids)
        if self._metric == "progression":
            return scores_by_seed(outcomes, environments)
        found: dict[int, list[float]] = {}
        for one in outcomes:
            values = found.setdefault(one.seed, [])
            value = one.metrics.get(self._metric) if isinstance(one, EpisodeResult) else None
            if value is not None:
                values.append(value)
        return {
            seed: sum(values) / environments if len(values) == environments else None
            for seed, values in found.items()
        }


def _sentence(
    found: Found, between: Sequence[Revision], metric: str, alpha: float, sign: float
) -> str:
    first, last = between[found.first], between[found.last]
    if found.outcome == "nothing":
        (ends,) = found.tests
        return (
            f"No loss of {metric} could be shown between {first.name} and {last.name} in"
            f" {ends.pairs} pairs (p = {number(ends.p)})."
        )
    if found.outcome == "range":
        return (
            f"Something was lost after {first.name} and not after {last.name}; which of the"
            f" {found.last - found.first} revisions it was, {found.tests[-1].pairs} pairs do not"
            " tell."
        )
    one = next(
        test
        for test in reversed(found.tests)
        if (test.better, test.worse) == (found.first, found.last)
    )
    steps = " Something was lost elsewhere as well." if found.in_steps else ""
    return (
        f'{last.name} lost it: "{last.subject}" ({_change(one, sign)} {metric});'
        f" wrong with a probability of at most {100 * alpha:g}%.{steps}"
    )


def _change(test: Tested, sign: float) -> str:
    """From the better to the worse, in the metric's own direction."""
    if test.effect is None:
        return "–"
    low, high = (None if end is None else -sign * end for end in test.interval)
    shown = number(-sign * test.effect, "+.3g")
    if low is None or high is None:
        return shown
    return f"{shown} [{min(low, high):+.3g}, {max(low, high):+.3g}]"


def _table(tests: Sequence[Tested], between: Sequence[Revision], sign: float) -> Table:
    table = Table("from", "to", "pairs", "change", "p", "worse?")
    for one in tests:
        table.add_row(
            escape(between[one.better].name),
            escape(between[one.worse].name),
            str(one.pairs),
            escape(_change(one, sign)),
            number(one.p),
            "yes" if one.shown else "not shown",
        )
    return table


def _as_json(
    found: Found,
    between: Sequence[Revision],
    metric: str,
    alpha: float,
    sentence: str,
    *,
    higher: bool,
) -> dict[str, Any]:
    return {
        "metric": metric,
        "higher_is_better": higher,
        "outcome": found.outcome,
        "good": between[found.first].name,
        "bad": between[found.last].name,
        "alpha": alpha,
        "level": found.level,
        "in_steps": found.in_steps,
        "tests": [
            {
                "better": between[one.better].name,
                "worse": between[one.worse].name,
                "pairs": one.pairs,
                "effect": one.effect,
                "low": one.interval.low,
                "high": one.interval.high,
                "p": one.p,
                "shown": one.shown,
            }
            for one in found.tests
        ],
        "sentence": sentence,
    }


def add_commands(app: typer.Typer) -> None:
    """Add this module's command."""
    app.command("bisect")(bisect_)
