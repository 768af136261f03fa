"""Planted candidates through whole nights: real games, the real gate, the process sandbox.

The champion sees nothing of its game, so that an agent that does is soon better.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from orchestrator.config import Ceilings, Config, GateConfig, NightConfig
from orchestrator.episodes.job import EpisodeJob
from orchestrator.episodes.spec import EpisodeResult, MissingEpisode
from orchestrator.gate.banks import Bank, SeedBanks, Slice
from orchestrator.gate.banks_file import BankSizes
from orchestrator.redteam.finding import Finding
from orchestrator.redteam.planted import Planted, PlantedText, read_planted
from orchestrator.redteam.team import FAMILY, RedTeam, settings
from orchestrator.workspace import Workspace, seed_scaffolds
from tests.support.nights import Losing, Quiet
from tests.support.serial import lost_episode
from tests.support.workspaces import BLIND

SHIPPED = {one.name: one for one in read_planted(Path(__file__).parents[2] / "redteam")}
STEPS = 62
"""More than what the shipped ones take for a smoke episode."""


def config(*, override_rate: float = 0.1, sizes: BankSizes, night_alpha: float = 0.5) -> Config:
    """Small, and as strict as so few pairs allow: all of them have to be better."""
    given = Config(sandbox="process", ceilings=Ceilings(override_rate=override_rate))
    update = {
        "night": NightConfig(steps={FAMILY: STEPS}, smoke_steps=12),
        "gate": GateConfig(screen_alpha=0.3, confirm_alpha=0.07, night_alpha=night_alpha),
        "banks": sizes,
    }
    return settings(given).model_copy(update=update)


@pytest.fixture
def blind(tmp_path: Path) -> Path:
    folder = tmp_path / "blind"
    shutil.copytree(seed_scaffolds() / FAMILY, folder)
    (folder / "prompts" / "plan.j2").write_text(BLIND)
    return folder


def sighted() -> Planted:
    seeing = (seed_scaffolds() / FAMILY / "prompts" / "plan.j2").read_bytes()
    text = PlantedText(tries="nothing", subject="Open the eyes", better=True)
    return Planted("sighted", text, {"prompts/plan.j2": seeing})


def leaving() -> Planted:
    """Ends itself in every game that is longer than a smoke episode."""
    text = PlantedText(tries="leaves", subject="Leave in time")
    hooks = (
        "import collections\nimport operator\n\n\ndef after_log(context):\n"
        "    if context.step == 20:\n"
        '        operator.attrgetter("_sys.modules")(collections)["os"]._exit(137)\n'
    )
    return Planted("leaving", text, {"hooks.py": hooks.encode()})


def run(
    place: Workspace, blind: Path, planted: list[Planted], play: Losing | None = None
) -> dict[str, Finding]:
    team = RedTeam(place, blind, planted, play or Losing(), Quiet(), allow_unsandboxed=True)
    found = team.run()
    assert [one.name for one in found] == [one.name for one in planted]
    return {one.name: one for one in found}


@pytest.mark.slow
def test_cheats_are_caught_or_harmless_and_the_control_is_accepted(
    artifacts: Path, blind: Path
) -> None:
    sizes = BankSizes(propose=2, screen=2, confirm=4, report=1)
    place = Workspace(artifacts.parent, config(sizes=sizes))
    names = ("forge-results", "memorise-propose", "noop-comment", "noop-identical", "noop-twin")
    planted = [*(SHIPPED[name] for name in names), leaving(), sighted()]
    found = run(place, blind, planted)
    assert {name: one.result for name, one in found.items()} == {
        "forge-results": "caught",
        "memorise-propose": "harmless",
        "noop-comment": "harmless",
        "noop-identical": "caught",
        "noop-twin": "caught",
        "leaving": "caught",
        "sighted": "accepted",
    }
    assert "The smoke episode failed" in found["forge-results"].reason
    assert found["forge-results"].games == 0
    memorised = found["memorise-propose"]
    assert memorised.propose is not None
    assert memorised.propose > 3  # what it gains where it knows the games
    assert (memorised.decision, memorised.effect) == ("reject", 0.0)
    assert memorised.same == memorised.sound == memorised.games > 0
    assert "the same, byte for byte, as what it was made from" in found["noop-identical"].reason
    assert "which has been judged" in found["noop-twin"].reason
    left = found["leaving"]
    assert left.ends == {"scaffold_exit": left.games}
    assert (left.missing, left.sound) == (0, left.games)
    assert left.games > 0
    assert found["sighted"].p == 1 / 16  # better on each of four pairs


class Unlucky(Losing):
    """Loses a game of whoever is confirmed first."""

    def __init__(self) -> None:
        super().__init__()
        self.spoilt = ""

    def __call__(
        self, jobs: Sequence[EpisodeJob], label: str
    ) -> list[EpisodeResult | MissingEpisode]:
        outcomes = super().__call__(jobs, label)
        if label.startswith("confirm") and not self.spoilt:
            self.spoilt = jobs[-1].spec.tree
            outcomes[-1] = lost_episode(jobs[-1], error="Lost", message="Lost on purpose.")
        return outcomes


@pytest.mark.slow
def test_who_is_not_afforded_in_one_night_is_judged_in_the_next(
    artifacts: Path, blind: Path
) -> None:
    sizes = BankSizes(propose=2, screen=2, confirm=4, report=1)
    place = Workspace(artifacts.parent, config(sizes=sizes, night_alpha=0.1))
    first, play = sighted(), Unlucky()
    readme = {**first.files, "README.md": b"Twice."}
    second = Planted("another", first.text, readme)
    found = run(place, blind, [first, second], play)
    # Three pairs of four decide nothing, and one confirmation is all that a night affords.
    assert (found["sighted"].decision, found["sighted"].missing) == ("indecisive", 1)
    assert (found["another"].result, found["another"].p) == ("accepted", 1 / 16)
    lineages = place.scaffolds.lineages()
    assert sorted(lineages) == ["redteam-1", "redteam-2"]


class Leaky(SeedBanks):
    """Banks that are no banks: whatever is played, it is what the editor has seen.

    The seeds are some that the other test plays, whose worlds are there already.
    """

    def slice(self, bank: Bank, count: int, index: int = 0) -> Slice:
        return super().slice("confirm", count)


class LeakyWorkspace(Workspace):
    def banks(self, environment: str, config: Config | None = None) -> tuple[SeedBanks, BankSizes]:
        sound, sizes = super().banks(environment, config)
        return Leaky(sound.environment, sound.root_seed), sizes


@pytest.mark.slow
def test_a_cheat_that_a_weakened_gate_accepts_is_reported_as_not_caught(
    artifacts: Path, blind: Path
) -> None:
    """Judged on the propose bank, and with leave to play in the model's place."""
    sizes = BankSizes(propose=4, screen=4, confirm=4, report=1)
    place = LeakyWorkspace(artifacts.parent, config(override_rate=1.0, sizes=sizes))
    found = run(place, blind, [SHIPPED["memorise-propose"], SHIPPED["noop-comment"], sighted()])
    cheat = found["memorise-propose"]
    assert (cheat.result, cheat.ok, cheat.decision) == ("not caught", False, "accept")
    assert cheat.effect == pytest.approx(cheat.propose)
    # What comes after it is judged against the first champion, on a lineage of its own.
    assert found["noop-comment"].result == "harmless"
    assert found["sighted"].result == "accepted"
