"""What a better gate costs: nights that find a true gain, against the games a night plays.

    python -m benchmarks.gate_frontier [--nights 2000] [--svg docs/images/frontier.svg]

Each setting judges nights of six candidates, first with one of them truly 8 points better, then
with none (9 points of noise, 6 of shared seed effect, as in `docs/gate.md`).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from orchestrator.gate.protocol import AcceptanceRule
from orchestrator.gate.rate import Rate
from orchestrator.gate.rules import StrictMeanRule, TwoStageRule
from orchestrator.gate.simulate import simulate

CANDIDATES, EFFECT, NOISE, SHARED = 6, 8.0, 9.0, 6.0
PAIRS = (12, 16, 20, 24, 28)
TWICE = 120
"""Twice the new games of a night under the gate of the paper, `strict-mean`."""


@dataclass(frozen=True)
class Point:
    """One setting of the gate.

    Attributes:
        name: What it is called in the table.
        family: Which line of the plot it belongs to.
        games: New games of a night that has a better candidate.
        power: Nights that accept it.
        false: Nights without a better one that accept one all the same.
    """

    name: str
    family: str
    games: float
    power: Rate
    false: Rate


def settings() -> Iterator[tuple[str, str, AcceptanceRule, int]]:
    """Name, family, rule and candidates of a round."""
    yield "strict-mean, one by one", "strict-mean", StrictMeanRule(), 1
    for pairs in PAIRS:
        rule = TwoStageRule(confirm_pairs=pairs)
        yield f"two-stage .10/.01, {pairs} pairs, one by one", "one by one", rule, 1
    for pairs in PAIRS:
        rule = TwoStageRule(screen_alpha=0.2, confirm_alpha=0.05, confirm_pairs=pairs)
        yield f"two-stage .20/.05, {pairs} pairs, six race", "six race", rule, CANDIDATES


def measure(nights: int, seed: int = 0) -> list[Point]:
    """Simulate every setting."""
    points = []
    for name, family, rule, proposals in settings():
        found, empty = (
            simulate(
                rule,
                nights=nights,
                candidates=CANDIDATES,
                effect=effect,
                proposals=proposals,
                noise=NOISE,
                shared=SHARED,
                seed=seed,
            )
            for effect in (EFFECT, 0.0)
        )
        assert found.power is not None
        games = found.episodes_per_candidate * CANDIDATES
        points.append(Point(name, family, games, found.power, empty.false_accept_rate))
    return points


def draw(points: list[Point], path: Path) -> None:
    """Plot power against games, a line for each family."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "slowwave"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4.2))
    for family in dict.fromkeys(point.family for point in points):
        line = [point for point in points if point.family == family]
        axes.plot(
            [p.games for p in line], [100 * p.power.estimate for p in line], "o-", label=family
        )
        for point in line:
            axes.annotate(
                f"{100 * point.false.estimate:.1f}%",
                (point.games, 100 * point.power.estimate),
                textcoords="offset points",
                xytext=(6, -12),
                fontsize=8,
                color="#59636e",
            )
    axes.axvline(TWICE, color="#b3261e", linewidth=0.8, linestyle=":")
    axes.text(TWICE - 1, 2, "twice strict-mean", rotation=90, ha="right", fontsize=8)
    axes.axhline(60, color="#b3261e", linewidth=0.8, linestyle=":")
    axes.set_xlabel("new games a night of six candidates plays")
    axes.set_ylabel("nights that accept the better one, %")
    axes.set_ylim(0, 100)
    axes.legend(title="small: false acceptances", fontsize=8, title_fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    """Measure, print, and draw if asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--nights", type=int, default=2000, help="nights for each figure")
    parser.add_argument("--svg", type=Path, help="where to draw the plot")
    given = parser.parse_args()
    points = measure(given.nights)
    for point in points:
        power, false = point.power, point.false
        print(
            f"{point.name:46} {point.games:5.0f} games  finds {power.estimate:6.1%}"
            f" [{power.low:.1%}, {power.high:.1%}]  false {false.estimate:5.1%}"
            f" [{false.low:.1%}, {false.high:.1%}]"
        )
    if given.svg:
        draw(points, given.svg)


if __name__ == "__main__":
    main()
