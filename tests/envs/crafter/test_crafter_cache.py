"""Worlds that are kept give the game that fresh ones give."""

import io
import json
import logging
import pickle
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envs.crafter import cache
from envs.crafter.environment import CrafterEnvironment
from envs.crafter.game import Game
from envs.crafter.snapshot import Snapshot, generate, world_seed

SEED = 11


@pytest.fixture(scope="module")
def fresh() -> Snapshot:
    return generate(SEED)


@pytest.fixture
def kept(tmp_path: Path, fresh: Snapshot) -> Path:
    path = tmp_path / cache.file_name(SEED)
    cache.write(path, SEED, fresh)
    return path


def _state(game: Game) -> tuple[Any, ...]:
    _, key, place, *rest = game.world.random.get_state()
    return (
        key.tobytes(),
        place,
        rest,
        game.world.materials().tobytes(),
        [(type(obj), obj.pos, obj.inventory) for obj in game.world.objects],
        [(chunk, [obj.pos for obj in held]) for chunk, held in game.world.chunks.items()],
    )


def test_a_world_read_back_is_the_world_that_was_written(kept: Path, fresh: Snapshot) -> None:
    back = cache.read(kept, SEED)
    assert back is not None
    assert back.objects == fresh.objects
    assert back.random_position == fresh.random_position
    assert (back.random_key == fresh.random_key).all()
    assert (back.materials == fresh.materials).all()
    assert len(fresh.objects) > 20


def test_play_from_it_is_the_same_to_the_last_random_draw(kept: Path, fresh: Snapshot) -> None:
    back = cache.read(kept, SEED)
    assert back is not None
    games = Game(), Game()
    games[0].begin(fresh)
    games[1].begin(back)
    assert _state(games[0]) == _state(games[1])
    draw = random.Random(0)
    for _ in range(300):
        action = draw.choice(CrafterEnvironment.actions)
        for game in games:
            game.player.health = 9
            game.advance(action)
    assert _state(games[0]) == _state(games[1])


def test_a_game_does_not_write_into_the_world_that_is_kept(fresh: Snapshot) -> None:
    game = Game()
    game.begin(fresh)
    game.world[0, 0] = "diamond"
    again = Game()
    again.begin(fresh)
    assert again.world[0, 0][0] != "diamond"
    with pytest.raises(ValueError, match="read-only"):
        fresh.materials[0, 0] = 1


def test_the_folder_is_filled_and_then_read(
    tmp_path: Path, fresh: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "deep" / "worlds"
    first = CrafterEnvironment(world_cache=folder).reset(SEED)
    assert [path.name for path in folder.iterdir()] == [cache.file_name(SEED)]
    cache.world_at_start.cache_clear()

    def no_generation(seed: int) -> Snapshot:
        raise AssertionError(f"generated seed {seed} although it was kept")

    monkeypatch.setattr(cache, "_generate", no_generation)
    assert CrafterEnvironment(world_cache=folder).reset(SEED) == first


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda data: b"", id="empty"),
        pytest.param(lambda data: data[: len(data) // 2], id="cut short"),
        pytest.param(lambda data: data[:900] + bytes([data[900] ^ 1]) + data[901:], id="a bit"),
        pytest.param(lambda data: pickle.dumps({"materials": 1}), id="a pickle"),
        pytest.param(lambda data: b"x" * 2_000_000, id="huge"),
    ],
)
def test_a_damaged_file_is_replaced(kept: Path, fresh: Snapshot, damage: Any) -> None:
    good = kept.read_bytes()
    kept.write_bytes(damage(good))
    assert cache.read(kept, SEED) is None
    cache.world_at_start.cache_clear()
    assert cache.world_at_start(SEED, kept.parent).objects == fresh.objects
    assert cache.read(kept, SEED) is not None
    assert [path.name for path in kept.parent.iterdir()] == [kept.name]


def _rewrite(path: Path, **changes: Any) -> None:
    with np.load(path, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    for name, change in changes.items():
        arrays[name] = change(arrays[name])
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    path.write_bytes(buffer.getvalue())


def _older_numpy(header: Any) -> Any:
    data = json.loads(header.tobytes())
    data["versions"]["numpy"] = "1.0"
    return np.frombuffer(json.dumps(data).encode(), np.uint8)


def _another_cell(materials: Any) -> Any:
    changed = materials.copy()
    changed[10, 10] ^= 1
    return changed


def test_a_file_of_another_version_or_with_another_body_is_not_used(kept: Path) -> None:
    good = kept.read_bytes()
    _rewrite(kept, header=lambda header: header)
    assert cache.read(kept, SEED) is not None
    _rewrite(kept, header=_older_numpy)
    assert cache.read(kept, SEED) is None
    kept.write_bytes(good)
    _rewrite(kept, materials=_another_cell)
    assert cache.read(kept, SEED) is None


def test_a_file_of_another_seed_is_not_used(kept: Path) -> None:
    assert cache.read(kept, SEED + 1) is None
    assert cache.file_name(SEED + 1) != cache.file_name(SEED)


# No deadline: the first example may meet a busy disk.
@settings(deadline=None)
@given(data=st.binary(max_size=600))
def test_no_file_content_breaks_reading(tmp_path_factory: Any, data: bytes) -> None:
    path = tmp_path_factory.mktemp("any") / "world.npz"
    path.write_bytes(data)
    assert cache.read(path, SEED) is None


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_no_flipped_bit_gives_another_world(
    tmp_path_factory: Any, fresh: Snapshot, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("bit") / "world.npz"
    cache.write(path, SEED, fresh)
    content = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(content)
    back = cache.read(path, SEED)
    assert back is None or (
        back.objects == fresh.objects
        and back.random_position == fresh.random_position
        and (back.random_key == fresh.random_key).all()
        and (back.materials == fresh.materials).all()
    )


def test_a_folder_that_cannot_be_made_costs_time_and_nothing_else(
    tmp_path: Path, fresh: Snapshot, caplog: pytest.LogCaptureFixture
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    with caplog.at_level(logging.WARNING):
        assert cache.world_at_start(SEED, blocked / "worlds").objects == fresh.objects
    assert "could not be kept" in caplog.text


def test_the_seed_of_the_world_is_crafters() -> None:
    # CPython's hash of a pair is xxHash since 3.8; values from a 64-bit build.
    assert [world_seed(0), world_seed(1)] == [1256191933, 535231920]
    assert len({world_seed(seed) for seed in range(10_000)}) > 9_990
