"""Environments by id.

An id ends in a version (``crafter-v1``); the name without it means the newest one. A family is
imported when one of its environments is made, so that a missing package disables that family alone.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Protocol, cast

from envs.base import Environment
from envs.errors import EnvironmentUnavailable, UnknownEnvironment


class _Factory(Protocol):
    def __call__(self, *, world_cache: Path | None) -> Environment: ...


@dataclass(frozen=True, slots=True)
class EnvironmentSpec:
    """Where an environment is found.

    Args:
        id: Its id with its version.
        module: The module that holds it.
        factory: What to call there, with ``world_cache=``.
        package: The distribution it needs, for the message when it is missing.
    """

    id: str
    module: str
    factory: str
    package: str


SPECS: Mapping[str, EnvironmentSpec] = MappingProxyType(
    {
        spec.id: spec
        for spec in (
            EnvironmentSpec("crafter-v1", "envs.crafter", "CrafterEnvironment", "crafter"),
        )
    }
)


def available() -> tuple[str, ...]:
    """The ids of all environments, in order; `make` says what one of them lacks here."""
    return tuple(sorted(SPECS))


def resolve(name: str) -> str:
    """Turn what a user wrote into an id.

    Args:
        name: An id, or an id without its version.

    Returns:
        The id.

    Raises:
        UnknownEnvironment: Nothing has this name; the error names the nearest.
    """
    wanted = name.strip().lower()
    if wanted in SPECS:
        return wanted
    versions = [
        (int(number), known)
        for known in SPECS
        for base, _, number in [known.rpartition("-v")]
        if base == wanted
    ]
    if versions:
        return max(versions)[1]
    names = [*SPECS, *(known.rpartition("-v")[0] for known in SPECS)]
    close = difflib.get_close_matches(wanted, names, n=1, cutoff=0.5)
    hint = f"Did you mean {close[0]!r}? " if close else ""
    raise UnknownEnvironment(
        f"There is no environment {name!r}.",
        mend=f"{hint}Known are {', '.join(available())}.",
    )


def make(name: str, *, world_cache: Path | None = None) -> Environment:
    """Make an environment.

    Args:
        name: An id, or an id without its version.
        world_cache: Folder in which generated worlds may be kept between processes.

    Returns:
        The environment, not yet reset.

    Raises:
        UnknownEnvironment: Nothing has this name.
        EnvironmentUnavailable: A package that it needs is not installed.
    """
    spec = SPECS[resolve(name)]
    try:
        module = importlib.import_module(spec.module)
    except ImportError as error:
        raise EnvironmentUnavailable(
            f"{spec.id} cannot be used here: {error}.",
            mend=f"Install the package it needs: pip install {spec.package}.",
        ) from error
    factory = cast(_Factory, getattr(module, spec.factory))
    return factory(world_cache=world_cache)
