"""What an environment's stream depends on, by version."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from types import MappingProxyType


@functools.cache
def stream_versions(
    packages: tuple[str, ...],
    folders: tuple[Path, ...],
    data: tuple[tuple[str, Path], ...] = (),
    optional: tuple[str, ...] = (),
) -> Mapping[str, str]:
    """Versions that an episode's key must carry.

    Args:
        packages: Distributions whose code decides what happens.
        folders: Folders of our own modules that do.
        data: Files that do, each with the name to give it; they could be edited in place.
        optional: Distributions that change what happens where they are installed.

    Returns:
        Versions of the distributions, Python's minor version, and a digest (12 hexadecimal digits)
        of each folder's modules and of each file.
    """
    found = {name: metadata.version(name) for name in packages}
    for name in optional:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    found["python"] = f"{sys.version_info.major}.{sys.version_info.minor}"
    for name, path in data:
        found[name] = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
    for folder in folders:
        found[f"envs.{folder.name}"] = source_digest(folder)
    return MappingProxyType(found)


def source_digest(folder: Path) -> str:
    """SHA-256 over a package's modules by name and content (12 hexadecimal digits)."""
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.py")):
        source = path.read_bytes()
        digest.update(f"{path.name} {len(source)} ".encode() + source)
    return digest.hexdigest()[:12]
