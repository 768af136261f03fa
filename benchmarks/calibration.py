"""Does the gate's simulation describe an agent that was really played?

    python -m benchmarks.calibration [--slips 0.1] [--svg docs/images/calibration.svg]

A champion that makes slips (`benchmarks.noisy_agent`: a real server, the real client) plays
replicates of Crafter games. `calibrate` resamples whole nights from these scores; `simulate`
invents normal scores with the spread that was measured. Both ask the production rule. Beside the
false acceptances, which hardly depend on the spread, stands what does: the share of nights that
find a candidate that is truly better, by as much as one run of a game differs from another.

The figure's interval is for other seeds: seeds are resampled with replacement, nights are
resampled from these, and 95% of the rates lie between its ends.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks.machine import describe
from benchmarks.noisy_agent import MODEL, NoisyAgent, serving
from orchestrator.config import Config
from orchestrator.episodes.job import run_job
from orchestrator.episodes.planner import EpisodePlanner
from orchestrator.gate.calibrate import calibrate
from orchestrator.gate.protocol import AcceptanceRule
from orchestrator.gate.rules import StrictMeanRule
from orchestrator.gate.simulate import SimulationResult, simulate, simulate_source
from orchestrator.gate.sources import ReplicateSource, Scores
from orchestrator.models.config import ModelConfig
from orchestrator.scaffolds.trees import hash_tree, read_folder
from orchestrator.verdicts import make_rule
from orchestrator.workspace import create_workspace, seed_scaffolds

CANDIDATES = 6
WORLDS = 24
"""Resamples of the seeds behind an interval, of ``nights`` / 8 nights each."""


@dataclass(frozen=True)
class Comparison:
    """One rate from both sides.

    Attributes:
        name: Rule and question.
        played: From scores that were played.
        low: Lower end of its interval for other seeds.
        high: Upper end.
        simulated: From normal scores with the measured spread.
        agree: The simulated rate lies within the interval.
    """

    name: str
    played: float
    low: float
    high: float
    simulated: float

    @property
    def agree(self) -> bool:
        """Whether the simulated rate lies within the interval of the played one."""
        return self.low <= self.simulated <= self.high


def play(slips: float, seeds: int, replicates: int, steps: int, seed: int) -> list[list[float]]:
    """Play a champion against itself; percent of progression by seed and replicate."""
    folder = seed_scaffolds() / "crafter"
    tree = hash_tree(read_folder(folder))
    with tempfile.TemporaryDirectory() as scratch, serving(NoisyAgent(slips, seed)) as url:
        place = create_workspace(Path(scratch), root_seed=seed)
        banks, _ = place.banks("crafter-v1")
        model = ModelConfig(provider="openai", model=MODEL, base_url=url)
        config = Config(sandbox="process", models={"action": model})
        planner = EpisodePlanner.make(config, place.artifacts, ["crafter-v1"], steps=steps)
        rows: list[list[float]] = [[] for _ in range(seeds)]
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(2, context) as workers:
            # One replicate after the other: then the n-th answer goes to the n-th replicate.
            for replicate in range(replicates):
                numbers = banks.seeds("propose", seeds)
                jobs = planner.jobs(folder, tree, numbers, author="", replicate=replicate)
                for row, result in zip(rows, workers.map(run_job, jobs), strict=True):
                    row.append(100 * result.progression)
        return rows


def compare(scores: list[list[float]], nights: int, seed: int = 0) -> list[Comparison]:
    """Rates from what was played beside rates from what it was described by.

    Args:
        scores: Percent of progression by seed and replicate.
        nights: Nights behind each figure.
        seed: Seed of the resampling and of the simulation.
    """
    table = np.array(scores)
    found = []
    for rule in (make_rule(Config()), StrictMeanRule()):
        measured = calibrate(
            rule, scores, candidates=CANDIDATES, nights=nights, trials=20, seed=seed
        )
        noise = measured.run_sd
        # What a seed does to all, without the run noise that the means of few replicates hold.
        shared = float(np.sqrt(max(0.0, measured.seed_sd**2 - noise**2 / table.shape[1])))
        for name, effect in (("accepts one that is no better", 0.0), ("finds the better", noise)):
            invented = simulate(
                rule,
                nights=nights,
                candidates=CANDIDATES,
                effect=effect,
                noise=noise,
                shared=shared,
                seed=seed,
            )
            played = _nights(rule, table, nights, effect, seed)
            others = [
                _nights(rule, world, nights // 8, effect, seed + at)
                for at, world in enumerate(_worlds(table, seed))
            ]
            low, high = np.quantile(others, [0.025, 0.975])
            found.append(
                Comparison(f"{rule.name}: {name}", played, float(low), float(high), _rate(invented))
            )
    return found


def _worlds(table: Scores, seed: int) -> Iterator[Scores]:
    rng = np.random.default_rng(seed)
    for _ in range(WORLDS):
        yield table[rng.integers(len(table), size=len(table))]


def _nights(rule: AcceptanceRule, table: Scores, nights: int, effect: float, seed: int) -> float:
    source = ReplicateSource(table)
    return _rate(
        simulate_source(
            rule, source, nights=nights, candidates=CANDIDATES, effect=effect, seed=seed
        )
    )


def _rate(result: SimulationResult) -> float:
    rate = result.power if result.power is not None else result.false_accept_rate
    return rate.estimate


def draw(found: list[Comparison], path: Path) -> None:
    """Draw both rates side by side."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "slowwave"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 2.6))
    for at, one in enumerate(reversed(found)):
        axes.plot(
            [100 * one.low, 100 * one.high], [at, at], color="#8c959f", linewidth=6, alpha=0.5
        )
        axes.plot(100 * one.played, at, "o", color="#0969da", label=None if at else "played")
        axes.plot(100 * one.simulated, at, "x", color="#b3261e", label=None if at else "simulated")
    axes.set_yticks(range(len(found)), [one.name for one in reversed(found)])
    axes.set_xlabel("nights, % (bar: 95% for other seeds)")
    axes.set_xlim(0, 100)
    axes.legend(fontsize=8, loc="center right")
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    """Play, compare, print, and draw if asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--slips", type=float, default=0.1, help="share of random actions")
    parser.add_argument("--seeds", type=int, default=30, help="seeds to play")
    parser.add_argument("--replicates", type=int, default=4, help="runs of each")
    parser.add_argument("--steps", type=int, default=200, help="steps of a game")
    parser.add_argument("--nights", type=int, default=2000, help="nights behind each figure")
    parser.add_argument("--seed", type=int, default=0, help="seed of slips, games and nights")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--svg", type=Path, help="where to draw the comparison")
    given = parser.parse_args()
    scores = play(given.slips, given.seeds, given.replicates, given.steps, given.seed)
    found = compare(scores, given.nights, given.seed)
    source = ReplicateSource(np.array(scores))
    spread = {"run_sd": source.run_sd, "seed_sd": source.seed_sd, "mean": float(np.mean(scores))}
    if given.json:
        rates = [{**asdict(one), "agree": one.agree} for one in found]
        print(json.dumps({**describe(), **spread, "scores": scores, "rates": rates}))
    else:
        print(", ".join(f"{name} {value:.1f}" for name, value in spread.items()))
        for one in found:
            print(
                f"{one.name:48} played {one.played:6.1%} [{one.low:.1%}, {one.high:.1%}]"
                f"  simulated {one.simulated:6.1%}  {'agree' if one.agree else 'DISAGREE'}"
            )
    if given.svg:
        draw(found, given.svg)


if __name__ == "__main__":
    main()
