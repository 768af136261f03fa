"""Generated worlds by seed: in this process, and in a folder where one is given.

A file is a NumPy archive without pickled objects, and carries a JSON header. A header that is not
exactly the one expected (another version of crafter, another seed, a damaged body) makes the file
worthless, and the world is generated anew; a cache can be lost, it cannot be wrong.
"""

from __future__ import annotations

import functools
import hashlib
import io
import json
import logging
import os
import tempfile
from pathlib import Path

import numpy as np
import numpy.typing as npt

from envs.crafter.snapshot import Snapshot, generate, world_seed
from envs.crafter.versions import crafter_versions
from envs.crafter.world import AREA

CACHE_FORMAT = 1
WORLDS_IN_MEMORY = 1024
"""Worlds kept by a process; one takes about 10 kB."""

_KINDS = ("cow", "zombie", "skeleton")
_MAX_BYTES = 1_000_000
_log = logging.getLogger(__name__)
_generate = functools.lru_cache(WORLDS_IN_MEMORY)(generate)


@functools.lru_cache(WORLDS_IN_MEMORY)
def world_at_start(seed: int, folder: Path | None = None) -> Snapshot:
    """The world of a seed, from memory, from the folder, or generated (about half a second).

    Args:
        seed: The environment's seed.
        folder: Where worlds are kept between processes; made when needed.

    Returns:
        The world at step 0.
    """
    if folder is None:
        return _generate(seed)
    path = folder / file_name(seed)
    kept = read(path, seed)
    if kept is not None:
        return kept
    snapshot = _generate(seed)
    try:
        write(path, seed, snapshot)
    except OSError as error:
        # The game can be played all the same; only the next process generates again.
        _log.warning("The Crafter world of seed %d could not be kept in %s: %s", seed, path, error)
    return snapshot


def file_name(seed: int) -> str:
    """The name of a seed's file, which holds a digest of all that the world depends on."""
    digest = hashlib.sha256(json.dumps(_header(seed), sort_keys=True).encode()).hexdigest()
    return f"crafter-{seed}-{digest[:12]}.npz"


def read(path: Path, seed: int) -> Snapshot | None:
    """Read a world back.

    Args:
        path: The file.
        seed: The seed whose world is wanted.

    Returns:
        The world, or ``None`` if the file is missing, damaged or another's.
    """
    try:
        if path.stat().st_size > _MAX_BYTES:
            return None
        # Bytes and not the path: NumPy leaves a damaged file open.
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as archive:
            body = {name: archive[name] for name in ("materials", "objects", "key", "position")}
            header = json.loads(archive["header"].tobytes())
    except Exception:
        # A damaged archive raises whatever its damaged part leads to (a bit can turn the
        # compression into another one); every case has the same mend.
        return None
    if header != {**_header(seed), "sha256": _digest(body)}:
        return None
    return Snapshot(
        materials=body["materials"],
        objects=tuple((_KINDS[kind], x, y) for kind, x, y in body["objects"].tolist()),
        random_key=body["key"],
        random_position=int(body["position"]),
    )


def write(path: Path, seed: int, snapshot: Snapshot) -> None:
    """Keep a world, in one go: a reader sees the whole file or none.

    Args:
        path: The file; its folder is made when needed.
        seed: The seed of the world.
        snapshot: The world at step 0.

    Raises:
        OSError: The folder cannot be written.
    """
    rows = [(_KINDS.index(kind), x, y) for kind, x, y in snapshot.objects]
    body: dict[str, npt.NDArray[np.generic]] = {
        "materials": snapshot.materials,
        "objects": np.array(rows, np.int16).reshape(-1, 3),
        "key": snapshot.random_key,
        "position": np.array(snapshot.random_position, np.int32),
    }
    header = json.dumps({**_header(seed), "sha256": _digest(body)}, sort_keys=True).encode()
    buffer = io.BytesIO()
    np.savez_compressed(
        buffer,
        header=np.frombuffer(header, np.uint8),
        materials=body["materials"],
        objects=body["objects"],
        key=body["key"],
        position=body["position"],
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".world-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(buffer.getvalue())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _header(seed: int) -> dict[str, object]:
    return {
        "format": CACHE_FORMAT,
        "seed": seed,
        "world_seed": world_seed(seed),
        "area": list(AREA),
        "versions": dict(crafter_versions()),
    }


def _digest(body: dict[str, npt.NDArray[np.generic]]) -> str:
    digest = hashlib.sha256()
    for name in sorted(body):
        part = np.ascontiguousarray(body[name])
        digest.update(f"{name} {part.dtype.str} {part.shape}\n".encode())
        digest.update(part.tobytes())
    return digest.hexdigest()
