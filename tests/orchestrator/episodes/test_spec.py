"""The key of an episode holds everything that decides its result, and nothing else."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from agents.manifest import Budgets
from orchestrator.config import Ceilings, Config
from orchestrator.episodes import spec as spec_module
from orchestrator.episodes.planner import EpisodePlanner
from orchestrator.episodes.spec import EpisodeSpec
from orchestrator.models.config import ModelConfig
from orchestrator.sandbox.base import SandboxLimits
from tests.support.crafter_parts import SCAFFOLD
from tests.support.episode_parts import make_spec

TREE = "0" * 40


def test_every_field_changes_the_key() -> None:
    base = make_spec()
    others: dict[str, Any] = {
        "environment": "corridor-v2",
        "versions": {"corridor": "2"},
        "seed": 1,
        "replicate": 1,
        "steps": 4,
        "tree": "1" * 40,
        "budgets": Budgets(log_turns=4),
        "limits": SandboxLimits(step_seconds=11),
        "models": {"action": "scripted", "memory": "scripted"},
        "agent": "other",
        "harness": "other",
        "memory_base": "abc",
    }
    assert set(others) == set(EpisodeSpec.model_fields)
    keys = {base.key, *(base.model_copy(update={name: v}).key for name, v in others.items())}
    assert len(keys) == 1 + len(others)


def test_every_budget_changes_the_key() -> None:
    keys = {
        make_spec(budgets=Budgets(**{name: value + 1})).key
        for name, value in Budgets().model_dump().items()
    }
    assert len(keys) == len(Budgets.model_fields)


def test_the_key_is_that_of_the_content_whatever_its_order() -> None:
    one = make_spec().model_copy(update={"versions": {"a": "1", "b": "2"}})
    two = make_spec().model_copy(update={"versions": {"b": "2", "a": "1"}})
    assert one.key == two.key
    assert len(one.key) == 32
    assert EpisodeSpec.model_validate(one.model_dump(mode="json")).key == one.key


@pytest.mark.parametrize("steps", [0, -5])
def test_an_episode_has_steps(steps: int) -> None:
    with pytest.raises(ValueError, match="greater than or equal to 1"):
        make_spec(steps=steps)


def test_any_change_of_the_host_code_that_decides_makes_other_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh = spec_module.harness_fingerprint.__wrapped__
    found = {fresh()}
    copies = {}
    for name in spec_module._HARNESS:
        original = spec_module.find_spec(name)
        assert original is not None
        assert original.origin is not None
        copies[name] = tmp_path / f"{name}.py"
        shutil.copyfile(original.origin, copies[name])

    class Found:
        def __init__(self, origin: Path) -> None:
            self.origin = str(origin)

    monkeypatch.setattr(spec_module, "find_spec", lambda name: Found(copies[name]))
    assert fresh() in found
    for path in copies.values():
        path.write_text(path.read_text() + "\n# changed\n")
        found.add(fresh())
    assert len(found) == 1 + len(copies)
    for needed in (
        "grammar",
        "memory.base",
        "files",
        "process",
        "player",
        "turns",
        "metrics",
        "trajectory",
    ):
        assert any(name.endswith(f".{needed}") for name in copies)


# --- the planner ------------------------------------------------------------------------------


def keys(config: Config, artifacts: Path, **planned: Any) -> list[str]:
    options = {"steps": 50, **planned}
    config = config.model_copy(update={"sandbox": "process"})
    planner = EpisodePlanner.make(config, artifacts, "crafter", **options)
    return [job.spec.key for job in planner.jobs(SCAFFOLD, TREE, [1, 2], author="")]


def test_jobs_differ_in_their_seeds_alone(tmp_path: Path) -> None:
    planner = EpisodePlanner.make(Config(sandbox="process"), tmp_path, "crafter", steps=None)
    one, two = planner.jobs(SCAFFOLD, TREE, [1, 2], author="")
    assert (one.spec.seed, two.spec.seed) == (1, 2)
    assert one.model_copy(update={"spec": two.spec}) == two
    assert one.spec.model_copy(update={"seed": 2}) == two.spec
    assert one.spec.steps == 2000  # Crafter's own
    assert planner.shorter(60).jobs(SCAFFOLD, TREE, [1], author="")[0].spec.steps == 60
    assert planner.jobs(SCAFFOLD, TREE, [1], author="", replicate=3)[0].spec.replicate == 3


def test_who_pays_and_where_things_lie_is_not_in_the_key(tmp_path: Path) -> None:
    base = keys(Config(), tmp_path)
    assert keys(Config(root_seed=9, workers=3), tmp_path / "elsewhere") == base
    assert keys(Config(), tmp_path, night="n1", started_at=5.0) == base
    heuristic = ModelConfig(provider="heuristic", price_input=3)
    assert keys(Config(models={"action": heuristic}), tmp_path) == base


def test_a_model_that_does_not_play_is_not_in_the_key(tmp_path: Path) -> None:
    heuristic = ModelConfig(provider="heuristic")
    base = keys(Config(models={"action": heuristic}), tmp_path)
    assert keys(Config(models={"action": heuristic, "meta": heuristic}), tmp_path) == base
    both = Config(models={"action": heuristic, "memory": heuristic})
    assert keys(both, tmp_path) != base


def test_ceilings_bind_whatever_the_scaffold_says(tmp_path: Path) -> None:
    ceilings = Ceilings(log_turns=2, read_limit=500, memory_characters=5_000)
    config = Config(sandbox="process", ceilings=ceilings)
    planner = EpisodePlanner.make(config, tmp_path, "crafter", steps=5)
    budgets = planner.jobs(SCAFFOLD, TREE, [1], author="")[0].spec.budgets
    assert (budgets.log_turns, budgets.plan_turns) == (2, 3)  # the scaffold asks for 3 and 3
    assert (budgets.read_limit, budgets.memory_characters) == (500, 5_000)
    assert budgets.search_limit == 20


def test_limits_of_the_night_and_the_sandbox_reach_the_job(tmp_path: Path) -> None:
    config = Config.model_validate(
        {
            "sandbox": "process",
            "budget": {"tokens": 100, "hours": 2},
            "ceilings": {"memory_mb": 128, "step_seconds": 3},
        }
    )
    inside = EpisodePlanner.make(config, tmp_path, "crafter", steps=5, night="n1", started_at=1.0)
    job = inside.jobs(SCAFFOLD, TREE, [1], author="")[0]
    assert job.limits is not None
    assert (job.limits.tokens, job.limits.hours) == (100, 2)
    assert job.spec.limits.memory_bytes == 128 << 20
    assert job.spec.limits.step_seconds == 3
