"""Environments by id.

An id ends in a version (``crafter-v1``); the name without it means the newest one. A family is
imported when one of its environments is made, so that a missing package disables that family alone.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Protocol, cast

from envs.base import Environment
from envs.checker import Checked
from envs.errors import (
    EnvironmentBroken,
    EnvironmentFault,
    EnvironmentUnavailable,
    UnknownEnvironment,
    is_of_the_machine,
)
from envs.minihack.tasks import TASKS


class _Factory(Protocol):
    def __call__(self, *, world_cache: Path | None, **options: str) -> Environment: ...


@dataclass(frozen=True, slots=True)
class EnvironmentSpec:
    """Where an environment is found.

    Args:
        id: Its id with its version.
        module: The module that holds it.
        factory: What to call there, with ``world_cache=`` and the options.
        package: The distribution it needs, for the message when it is missing.
        options: What else to call it with.
    """

    id: str
    module: str
    factory: str
    package: str
    options: Mapping[str, str] = field(default_factory=dict)


def _specs() -> Mapping[str, EnvironmentSpec]:
    specs = [
        EnvironmentSpec("crafter-v1", "envs.crafter", "CrafterEnvironment", "crafter"),
        EnvironmentSpec("nethack-v1", "envs.nethack", "NetHackEnvironment", "nle"),
    ]
    for task in TASKS.values():
        options = {"task": task.name}
        specs.append(
            EnvironmentSpec(
                task.id, "envs.minihack.environment", "MiniHackEnvironment", "minihack", options
            )
        )
    return MappingProxyType({spec.id: spec for spec in specs})


SPECS: Mapping[str, EnvironmentSpec] = _specs()
SUITES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"minihack": tuple(task.id for task in TASKS.values())}
)
"""Environments that are played together, by the name of the suite."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What a name stands for: one environment, or those of a suite that can be played here.

    Args:
        name: The environment's id, or the suite's name.
        ids: What is to be played, in order.
        unavailable: Why the others cannot be, by id.
    """

    name: str
    ids: tuple[str, ...]
    unavailable: Mapping[str, str]

    @property
    def family(self) -> str:
        """See `family`."""
        return family(self.name)


def family(name: str) -> str:
    """The family of an environment or suite, which names its lineage: ``"minihack"``."""
    return name.strip().lower().partition("/")[0].partition("-v")[0]


def select(name: str) -> Selection:
    """Look up an environment or a suite.

    Args:
        name: A suite's name, an id, or an id without its version.

    Returns:
        What to play. Of a suite, what cannot be played here is named with the reason.

    Raises:
        UnknownEnvironment: Nothing has this name.
        EnvironmentUnavailable: The environment, or everything in the suite, cannot be played here.
    """
    members = SUITES.get(name.strip().lower())
    if members is None:
        found = resolve(name)
        make(found).close()
        return Selection(found, (found,), MappingProxyType({}))
    missing: dict[str, str] = {}
    for member in members:
        try:
            make(member).close()
        except EnvironmentFault as error:
            missing[member] = str(error)
    ids = tuple(member for member in members if member not in missing)
    if not ids:
        raise EnvironmentUnavailable(
            f"Nothing in the suite {name!r} can be played here: {missing[members[0]]}"
        )
    return Selection(name.strip().lower(), ids, MappingProxyType(missing))


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
    if wanted in SUITES:
        raise UnknownEnvironment(
            f"{wanted!r} is a suite, and one environment is asked for here.",
            mend=f"Name one of {', '.join(SUITES[wanted])}.",
        )
    names = [*SUITES, *SPECS, *(known.rpartition("-v")[0] for known in SPECS)]
    close = difflib.get_close_matches(wanted, names, n=1, cutoff=0.5)
    hint = f"Did you mean {close[0]!r}? " if close else ""
    raise UnknownEnvironment(
        f"There is no environment {name!r}.",
        mend=f"{hint}Known are {', '.join(available())}.",
    )


def _needed_by(spec: EnvironmentSpec, error: ImportError) -> str:
    # MiniHack looks its files up through a part of setuptools that newer ones do not have.
    return "'setuptools<81'" if error.name == "pkg_resources" else spec.package


def make(name: str, *, world_cache: Path | None = None) -> Environment:
    """Make an environment.

    Args:
        name: An id, or an id without its version.
        world_cache: Folder in which generated worlds may be kept between processes.

    Returns:
        The environment, not yet reset, with the passive checks of `envs.checker` around it.

    Raises:
        UnknownEnvironment: Nothing has this name.
        EnvironmentUnavailable: A package that it needs is not installed.
        EnvironmentBroken: It fails while it is made.
    """
    spec = SPECS[resolve(name)]
    try:
        module = importlib.import_module(spec.module)
    except ImportError as error:
        raise EnvironmentUnavailable(
            f"{spec.id} cannot be used here: {error}.",
            mend=f"Install what it needs: pip install {_needed_by(spec, error)}.",
        ) from error
    factory = cast(_Factory, getattr(module, spec.factory))
    try:
        return Checked(factory(world_cache=world_cache, **spec.options))
    except EnvironmentFault:
        raise
    except Exception as error:  # one broken task must not end a suite
        if is_of_the_machine(error):
            raise
        raise EnvironmentBroken(
            f"{spec.id} cannot be made: it failed with {type(error).__name__}: {error}.",
            mend=f"Mend it in {spec.module}, or play another.",
        ) from error
