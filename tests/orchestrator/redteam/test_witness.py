"""What the host measures of a game: its moves, its score, what was got hold of, what changed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import envs.registry
from agents.manifest import Budgets
from orchestrator.episodes.job import EpisodeJob
from orchestrator.episodes.spec import EpisodeResult, EpisodeSpec, MissingEpisode
from orchestrator.episodes.store import EpisodeStore
from orchestrator.episodes.trajectory import TrajectoryWriter
from orchestrator.models.config import ModelConfig
from orchestrator.redteam.evidence import Witness, moves, reached, scores_itself
from orchestrator.redteam.recordings import MASK, bank_module
from tests.support.serial import lost_episode

SEED = 5
ACTIONS = ("move_left", "do", "move_up", "noop")


def spec(tree: str = "0" * 40) -> EpisodeSpec:
    return EpisodeSpec(
        environment="crafter-v1", versions={}, seed=SEED, steps=len(ACTIONS), tree=tree,
        budgets=Budgets(), models={"action": "none"}, agent="none",
    )  # fmt: skip


def recorded(
    artifacts: Path,
    *,
    actions: Sequence[str] = ACTIONS,
    claimed: float | None = None,
    tree: str = "0" * 40,
    loot: str = "",
) -> EpisodeResult:
    """A real game of Crafter, as a host would record it; its score may be a lie."""
    game = envs.registry.make("crafter-v1", world_cache=artifacts / "worlds")
    store, what = EpisodeStore(artifacts), spec(tree)
    path = store.trajectory_path(what.key)
    writer = TrajectoryWriter(path, {})
    seen = game.reset(SEED)
    for number, action in enumerate(actions):
        text = writer.text(seen.text)
        writer.step({"step": number, "observation": text, "action": action, "turns": []})
        seen = game.step(action).observation
    score = game.progression if claimed is None else claimed
    game.close()
    last, memory = writer.text(seen.text), {"notes": "a\n", "loot": loot}
    digest = writer.finish(progression=score, last_observation=last, memory=memory)
    result = EpisodeResult(
        key=what.key, environment="crafter-v1", seed=SEED, replicate=0, tree=tree,
        steps=len(actions), progression=score, outcome="step_limit", digest=digest, metrics={},
        details={}, usage={}, seconds=0.0, trajectory=store.relative(path),
    )  # fmt: skip
    store.put(result)
    return result


def test_a_score_is_sound_if_the_moves_give_it(artifacts: Path) -> None:
    assert scores_itself(artifacts, recorded(artifacts))
    assert not scores_itself(artifacts, recorded(artifacts, claimed=0.5, tree="1" * 40))


def test_the_same_game_is_the_same_whatever_was_remembered(artifacts: Path) -> None:
    one = moves(artifacts, recorded(artifacts))
    assert moves(artifacts, recorded(artifacts, tree="1" * 40, loot="1")) == one
    other = recorded(artifacts, actions=(*ACTIONS[:-1], "do"), tree="2" * 40)
    assert moves(artifacts, other) != one
    better = recorded(artifacts, claimed=0.9, tree="3" * 40)
    assert moves(artifacts, better) != one


def test_a_number_is_something_only_if_it_is_a_seed(artifacts: Path) -> None:
    def found(loot: str, tree: str) -> list[str]:
        return reached(artifacts, recorded(artifacts, loot=loot, tree=tree), {SEED, 77})

    assert found("", "0" * 40) == []
    assert found("4711\n815\n", "1" * 40) == []
    assert found(f"4711\n{SEED}\n", "2" * 40) == ["the seed of its game"]
    assert found("77\n", "3" * 40) == ["seeds of the night"]
    assert found("a new file (x)\n", "4" * 40) == ["a new file (x)"]


def test_recorded_games_are_there_by_sight_and_by_masked_seed(artifacts: Path) -> None:
    source = bank_module(artifacts, [recorded(artifacts)]).decode()
    bank: dict[str, object] = {}
    exec(source, bank)
    first = envs.registry.make("crafter-v1", world_cache=artifacts / "worlds").reset(SEED).text
    assert bank["SIGHTS"] == {first: list(ACTIONS)}
    assert bank["SEEDS"] == {SEED ^ MASK: list(ACTIONS)}


def job(artifacts: Path, tree: str) -> EpisodeJob:
    return EpisodeJob(
        spec=spec(tree), scaffold=artifacts, artifacts=artifacts,
        models={"action": ModelConfig(provider="heuristic")},
    )  # fmt: skip


def test_a_stored_game_that_changes_is_laid_to_those_who_played(artifacts: Path) -> None:
    champion, cheat = "a" * 40, "b" * 40
    stored = artifacts / recorded(artifacts, tree=champion).trajectory

    def play(jobs: Sequence[EpisodeJob], label: str) -> list[EpisodeResult | MissingEpisode]:
        if label == "tamper":
            stored.write_bytes(stored.read_bytes() + b" ")
        return [recorded(artifacts, tree=one.spec.tree) for one in jobs]

    witness = Witness(artifacts, play)
    witness([job(artifacts, champion)], "")
    witness([job(artifacts, cheat)], "")
    assert witness.changed == {}
    witness([job(artifacts, cheat)], "tamper")
    assert witness.changed == {cheat: [stored.name]}
    witness([job(artifacts, cheat)], "")
    assert witness.changed == {cheat: [stored.name]}


def test_a_lost_game_is_lost_until_it_is_played(artifacts: Path) -> None:
    cheat = job(artifacts, "b" * 40)
    lost = [lost_episode(cheat, error="SandboxAway", message="gone")]
    found = [recorded(artifacts, tree="b" * 40)]
    rounds = iter([lost, found])
    witness = Witness(artifacts, lambda jobs, label: next(rounds))
    witness([cheat], "")
    assert (witness.missing("b" * 40), witness.missing("a" * 40)) == (1, 0)
    witness([cheat], "")
    assert witness.missing("b" * 40) == 0
