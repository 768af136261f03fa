"""What the stream of `crafter-v1` depends on, by version."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from envs.crafter import native
from envs.versions import stream_versions


def crafter_versions() -> Mapping[str, str]:
    """Versions that an episode's key must carry.

    Returns:
        Those of crafter, opensimplex (the landscape), numpy (the random stream), numba where
        opensimplex is compiled with it, Python (it derives the world's seed with ``hash``), and
        digests of crafter's table of rules and of this package's sources.
    """
    return stream_versions(
        ("crafter", "opensimplex", "numpy"),
        (Path(__file__).parent,),
        (("crafter-rules", Path(native.constants.root) / "data.yaml"),),
        optional=("numba",),
    )
