"""A real revision taken apart on real games."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from orchestrator.ablation.bench import AblationBench
from orchestrator.ablation.minimal import drop_dead, require_newest
from orchestrator.cli import ablate as cli_ablate
from orchestrator.cli.app import app
from orchestrator.episodes.store import EpisodeStore
from orchestrator.errors import UsageError
from orchestrator.workspace import Workspace
from tests.support.ablation_parts import laboratory
from tests.support.serial import play_serially


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return laboratory(tmp_path_factory.mktemp("ablation"))


def bench(place: Workspace, name: str = "blind/v1") -> AblationBench:
    return AblationBench.make(place, place.config, lambda jobs, _: play_serially(jobs), name)


@pytest.mark.slow
def test_each_part_gets_its_credit_and_the_dead_are_dropped(lab: Workspace) -> None:
    found = bench(lab).contributions(alpha=0.5, margin=1.0)
    assert {one.hunk.path: one.word for one in found} == {
        "README.md": "dead",
        "extra.py": "needed",
        "hooks.py": "dead",
        "prompts/plan.j2": "helps",
    }
    needed = next(one for one in found if one.word == "needed")
    assert "extra" in needed.refusal
    helps = next(one for one in found if one.word == "helps")
    assert helps.difference is not None
    assert helps.difference.effect is not None
    # The same games, averaged by hand.
    played = [one for one in EpisodeStore(lab.artifacts).results() if one.seed in bench(lab).seeds]
    whole = lab.scaffolds.revision("blind/v1").tree
    others = {one.tree for one in played} - {whole}
    scores = {
        tree: [100 * one.progression for one in played if one.tree == tree]
        for tree in (whole, *others)
    }
    losses = [sum(scores[whole]) / 5 - sum(scores[tree]) / 5 for tree in others]
    assert sorted(losses) == pytest.approx(sorted([0.0, 0.0, helps.difference.effect]))

    taken = bench(lab)
    made = drop_dead(taken, found, margin=1.0)
    assert made.verdict is not None, made.sentence
    assert (made.verdict.decision, made.name) == ("accept", "blind/v2"), made.sentence
    smaller = lab.scaffolds.revision("blind/v2")
    files = lab.scaffolds.read_files(smaller)
    old = lab.scaffolds.read_files(lab.scaffolds.revision("blind/v0"))
    assert files["README.md"] == old["README.md"]
    assert files["hooks.py"] == old["hooks.py"]
    assert "extra.py" in files, "what is needed is not dead"
    assert files["prompts/plan.j2"] != old["prompts/plan.j2"]
    assert lab.scaffolds.champion("blind").tree == smaller.tree
    assert lab.scaffolds.author(smaller.tree) == ""

    # On seeds that no other confirmation used, and the same ones when it is done again.
    assert bench(lab).seeds == taken.seeds
    assert set(made.verdict.slices) == {"screen", "confirm[1]"}
    with pytest.raises(UsageError, match=r"blind/v1 is not the newest of blind"):
        require_newest(bench(lab))


def test_what_was_made_from_nothing_has_no_parts(lab: Workspace) -> None:
    with pytest.raises(UsageError, match=r"blind/v0 was made from nothing"):
        bench(lab, "blind/v0")


@pytest.mark.slow
def test_the_command_says_what_each_hunk_does(
    lab: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli_ablate, "play_jobs", lambda place, jobs, label: play_serially(jobs))
    monkeypatch.setattr(cli_ablate.screen, "_width", 160)
    words = ["ablate", "blind/v1", "--alpha", "0.5", "--sandbox", "process", "-w", str(lab.root)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    rows = [line for line in done.stdout.splitlines() if "prompts/plan.j2" in line]
    assert len(rows) == 1
    assert "helps" in rows[0]
    assert "dead: it makes no difference" in done.stdout
    assert "--minimal commits it" in done.stdout
    found = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)
    assert found["pairs"] == 5
    assert [one["word"] for one in found["hunks"]] == ["dead", "needed", "dead", "helps"]
    assert found["minimal"] is None
