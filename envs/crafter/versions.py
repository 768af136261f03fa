"""What the stream of `crafter-v1` depends on, by version."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from types import MappingProxyType

from envs.crafter import native


@functools.cache
def stream_versions() -> Mapping[str, str]:
    """Versions that an episode's key must carry.

    Returns:
        The packages whose code decides what happens (crafter, opensimplex for the landscape, numpy
        for the random stream, numba where opensimplex is compiled with it), Python's minor version
        (it derives the world's seed with ``hash``), a digest of crafter's table of rules, a data
        file that can be edited in place, and one of this package's own sources.
    """
    found = {name: metadata.version(name) for name in ("crafter", "opensimplex", "numpy")}
    with contextlib.suppress(metadata.PackageNotFoundError):
        found["numba"] = metadata.version("numba")
    found["python"] = f"{sys.version_info.major}.{sys.version_info.minor}"
    rules = (native.constants.root / "data.yaml").read_bytes()
    found["crafter-rules"] = hashlib.sha256(rules).hexdigest()[:12]
    found["envs.crafter"] = source_digest(Path(__file__).parent)
    return MappingProxyType(found)


def source_digest(folder: Path) -> str:
    """SHA-256 over a package's modules by name and content (12 hexadecimal digits)."""
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.py")):
        source = path.read_bytes()
        digest.update(f"{path.name} {len(source)} ".encode() + source)
    return digest.hexdigest()[:12]
