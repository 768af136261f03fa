"""The charts: mean scores over the night's revisions, and the report bank game by game.

Each is drawn twice, for a wide page and for a phone; the page's style picks one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from markupsafe import Markup

from orchestrator.report import svg
from orchestrator.report.data import Candidate, Comparison, Estimate, Pair, ReportBank, ReportData
from orchestrator.report.words import interval, listed, points, score

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.ticker import Locator

WIDE, NARROW = 900, 400
"""Widths of the two drawings in pixels."""

MAX_GAMES = 200
"""Games drawn and listed of a bank; a larger one is thinned out evenly."""

_SHIFT = 0.15
_LABELS = 12
"""Candidates that all get their number on the axis; of more, every other or fewer."""


def both(draw: Callable[[int], Figure], name: str, label: str) -> Markup:
    """A chart in both widths."""
    with svg.drawing():
        wide = svg.inline(draw(WIDE), name=f"{name}-wide", label=label)
        narrow = svg.inline(draw(NARROW), name=f"{name}-narrow", label=label)
    return wide + narrow


def scores(data: ReportData) -> Markup | None:
    """Mean score of each candidate beside its champion, then first and last on the report bank."""
    judged = [one for one in data.candidates if one.comparison is not None]
    bank = data.report_bank
    ends = bank if bank is not None and bank.comparison is not None else None
    if not judged and ends is None:
        return None
    told = [_told(one) for one in judged]
    if ends is not None and ends.comparison is not None:
        found = ends.comparison
        told.append(
            f"report bank: {ends.first} {score(found.before.mean)}, "
            f"{ends.last} {score(found.after.mean)}"
        )
    label = f"Mean scores. {listed(told)}."
    return both(lambda width: _draw_scores(data, ends, width), "scores", label)


def games(bank: ReportBank) -> Markup | None:
    """First and last champion on each game of the report bank."""
    found = bank.comparison
    if found is None or bank.first == bank.last:
        return None
    label = (
        f"Scores of {bank.first} and {bank.last} on each game of the report bank: "
        f"better on {found.better}, worse on {found.worse}, the same on {found.same}."
    )
    return both(lambda width: _draw_games(bank, shown_games(found), width), "games", label)


def shown_games(found: Comparison) -> list[Pair]:
    """Complete pairs by difference, the largest gain first, thinned out if they are many."""
    complete = [one for one in found.pairs if one.difference is not None]
    ordered = sorted(complete, key=lambda one: (-(one.difference or 0), -(one.after or 0)))
    if len(ordered) <= MAX_GAMES:
        return ordered
    step = (len(ordered) - 1) / (MAX_GAMES - 1)
    return [ordered[round(step * number)] for number in range(MAX_GAMES)]


def _told(one: Candidate) -> str:
    assert one.comparison is not None
    found = one.comparison
    return (
        f"candidate {one.number}: {score(found.after.mean)} against {score(found.before.mean)} "
        f"of {one.champion}"
    )


# --- scores over revisions ----------------------------------------------------------------------


def _draw_scores(data: ReportData, ends: ReportBank | None, width: int) -> Figure:
    from matplotlib.figure import Figure

    wide = width >= WIDE
    sizes = [max(len(data.candidates), 3), 2]
    figure = Figure(figsize=(width / 72, (330 if wide or ends is None else 560) / 72))
    figure.set_layout_engine("constrained", w_pad=0.08, h_pad=0.08)
    if ends is None:
        left, right = figure.subplots(), None
    elif not data.candidates:
        left, right = None, figure.subplots()
    elif wide:
        left, right = figure.subplots(1, 2, sharey=True, width_ratios=sizes)
    else:
        left, right = figure.subplots(2, 1, sharey=True, height_ratios=[3, 2])
    if left is not None:
        _draw_rounds(left, data.candidates)
    if right is not None and ends is not None and ends.comparison is not None:
        _draw_ends(right, ends, ends.comparison, data.accepted != ())
    for axes in filter(None, (left, right)):
        axes.grid(axis="y", linewidth=0.8)
        axes.set_axisbelow(True)
        axes.spines["left"].set_visible(False)
        axes.tick_params(length=0)
        axes.yaxis.set_major_locator(_whole_percents())
        axes.yaxis.set_major_formatter("{x:.0f}%")
        axes.margins(y=0.08)
        if right is axes and wide and left is not None:
            continue
        axes.set_ylabel("mean score")
    return figure


def _draw_rounds(axes: Axes, candidates: Sequence[Candidate]) -> None:
    for place, one in enumerate(candidates):
        found = one.comparison
        if found is None:
            continue
        colour = svg.BETTER if one.accepted else svg.BEFORE
        _whisker(axes, place - _SHIFT, found.before, svg.BEFORE, one.champion, filled=False)
        label = f"candidate {one.number} ({one.subject})"
        _whisker(axes, place + _SHIFT, found.after, colour, label, filled=True)
        axes.plot(
            [place - _SHIFT, place + _SHIFT],
            [found.before.mean, found.after.mean],
            color=colour,
            linewidth=2.2 if one.accepted else 1.2,
            zorder=2,
        )
        if one.accepted:
            axes.axvspan(place - 0.5, place + 0.5, color=svg.BAND, linewidth=0, zorder=0)
    step = -(-len(candidates) // _LABELS)
    shown = list(range(0, len(candidates), step))
    axes.set_xticks(shown, [_tick(candidates[place]) for place in shown])
    axes.set_xlim(-0.6, len(candidates) - 0.4)
    axes.set_xlabel("candidate")
    axes.set_title("Each candidate beside its champion", pad=12)


def _tick(one: Candidate) -> str:
    # Every label has two lines, or the numbers would not stand on one.
    word = {"accept": "kept", "refused": "refused"}.get(one.decision, "\N{NO-BREAK SPACE}")
    return f"{one.number}\n{word}"


def _short(name: str) -> str:
    """A revision's name where there is little room: its version will do."""
    return name if len(name) <= 12 else name.rpartition("/")[2][:12]


def _whole_percents() -> Locator:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(nbins=6, steps=[1, 2, 5, 10], integer=True)


def _draw_ends(axes: Axes, bank: ReportBank, found: Comparison, changed: bool) -> None:
    colour = svg.BETTER if found.effect.mean >= 0 else svg.WORSE
    _whisker(axes, 0, found.before, svg.BEFORE, bank.first, filled=not changed)
    if changed:
        axes.plot([0, 1], [found.before.mean, found.after.mean], color=colour, linewidth=2.2)
        _whisker(axes, 1, found.after, colour, bank.last, filled=True)
        axes.set_xticks([0, 1], [_short(bank.first), _short(bank.last)])
        axes.set_xlim(-0.6, 1.6)
    else:
        axes.set_xticks([0], [_short(bank.first)])
        axes.set_xlim(-1, 1)
    axes.set_xlabel("first and last champion" if changed else "champion")
    axes.set_title("Report bank", pad=12)


def _whisker(
    axes: Axes, place: float, found: Estimate, colour: str, name: str, *, filled: bool
) -> None:
    """A mean as a dot, its interval as a line."""
    if found.low is not None and found.high is not None:
        axes.plot([place, place], [found.low, found.high], color=colour, linewidth=1.4, zorder=3)
    (dot,) = axes.plot(
        [place],
        [found.mean],
        marker="o",
        markersize=9,
        markerfacecolor=colour if filled else svg.PAGE,
        markeredgecolor=colour,
        markeredgewidth=1.8,
        zorder=4,
    )
    dot.set_gid(svg.tip(f"{name}: {score(found.mean)} ({interval(found, ',.1f')})"))


# --- the report bank game by game ---------------------------------------------------------------


def _draw_games(bank: ReportBank, pairs: Sequence[Pair], width: int) -> Figure:
    from matplotlib.figure import Figure

    row = min(19.0, 3000 / max(len(pairs), 1))
    figure = Figure(figsize=(width / 72, (row * len(pairs) + 64) / 72))
    figure.set_layout_engine("constrained", w_pad=0.08, h_pad=0.08)
    axes = figure.subplots()
    for place, pair in enumerate(pairs):
        if pair.before is not None and pair.after is not None:
            _draw_game(axes, place, pair.before, pair.after, row)
    axes.set_ylim(len(pairs) - 0.4, -0.6)
    axes.set_yticks([])
    axes.grid(axis="x", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines["left"].set_visible(False)
    axes.tick_params(length=0)
    axes.xaxis.set_major_locator(_whole_percents())
    axes.xaxis.set_major_formatter("{x:.0f}%")
    axes.set_xlabel("score in a game")
    return figure


def _draw_game(axes: Axes, place: int, before: float, after: float, row: float) -> None:
    change = after - before
    colour = svg.BEFORE if abs(change) < 1e-9 else svg.BETTER if change > 0 else svg.WORSE
    size = min(8.5, row * 0.8)
    axes.plot([before, after], [place, place], color=colour, linewidth=2.2, zorder=2)
    marks = ((before, svg.PAGE, svg.BEFORE), (after, colour, colour))
    for value, face, edge in marks:
        (dot,) = axes.plot(
            [value],
            [place],
            marker="o",
            markersize=size,
            markerfacecolor=face,
            markeredgecolor=edge,
            markeredgewidth=1.6,
            zorder=3,
        )
        dot.set_gid(svg.tip(f"{score(before)} to {score(after)}: {points(change)}"))
