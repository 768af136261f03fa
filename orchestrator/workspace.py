"""A workspace on disk: one folder with its configuration, its scaffolds and its artifacts.

| path | holds |
|---|---|
| ``slowwave.toml`` | the configuration |
| ``scaffolds/`` | the git repository of lineages |
| ``artifacts/`` | everything that runs produce; its README is the map |
"""

from __future__ import annotations

import importlib.resources
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pydantic import ValidationError

from agents.manifest import FILE as MANIFEST
from agents.manifest import read_manifest
from envs.registry import Selection, select
from orchestrator.config import FILE, FIRST_CONFIG, Config, read_config
from orchestrator.errors import UsageError
from orchestrator.files import write_atomically
from orchestrator.gate.banks import SeedBanks
from orchestrator.gate.banks_file import BankSizes, open_banks
from orchestrator.scaffolds.store import ScaffoldStore

VARIABLE = "SLOWWAVE_WORKSPACE"
LINEAGES = ("crafter", "minihack", "nethack")
"""The seed scaffolds that a workspace begins with, one for each family of environments."""


class NoWorkspace(UsageError):
    """There is no workspace where one is needed."""


@dataclass(frozen=True)
class Workspace:
    """A workspace, or the place where results go when there is none.

    Attributes:
        root: The folder.
        config: Its configuration.
    """

    root: Path
    config: Config

    @property
    def artifacts(self) -> Path:
        """The folder for what runs produce."""
        return self.root / self.config.artifacts

    @property
    def ledger(self) -> Path:
        """The SQLite file that holds spend and error budget."""
        return self.artifacts / "ledger.db"

    @property
    def workers(self) -> int:
        """Episodes played at once."""
        return self.config.workers or os.cpu_count() or 1

    @cached_property
    def scaffolds(self) -> ScaffoldStore:
        """The repository of lineages."""
        return ScaffoldStore.open(self.root / "scaffolds")

    def environment_of(self, lineage: str) -> Selection:
        """The environment or suite that a lineage's champion says it is for.

        Raises:
            EnvironmentUnavailable: It cannot be played here.
        """
        files = self.scaffolds.read_files(self.scaffolds.champion(lineage))
        manifest = read_manifest(files[MANIFEST].decode("utf-8"))
        return select(manifest.scaffold.environment)

    def banks(self, environment: str, config: Config | None = None) -> tuple[SeedBanks, BankSizes]:
        """The seed banks of an environment or suite: written once, checked every later time."""
        config = config or self.config
        path = self.artifacts / "banks" / f"{environment}.json"
        return open_banks(path, environment, config.root_seed, config.banks)

    def night_folder(self, night: str) -> Path:
        """Where a night's plan, verdicts and report lie."""
        return self.artifacts / "nights" / night


def find_workspace(given: Path | None = None) -> Workspace:
    """The workspace a command works on.

    Args:
        given: What the user named; otherwise the environment variable ``SLOWWAVE_WORKSPACE``, the
            current folder and those above it are looked through.

    Raises:
        NoWorkspace: There is none.
    """
    named = given or (Path(os.environ[VARIABLE]) if os.environ.get(VARIABLE) else None)
    if named is not None:
        if (named / FILE).is_file():
            return Workspace(named.resolve(), read_config(named / FILE))
        raise NoWorkspace(f"{named} is no workspace.", mend=f"Make one: slowwave init {named}")
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / FILE).is_file():
            return Workspace(folder, read_config(folder / FILE))
    raise NoWorkspace(
        f"There is no workspace here or above {here}.",
        mend="Make one: slowwave init lab, and then add --workspace lab.",
    )


def workspace_or_here(given: Path | None = None) -> Workspace:
    """The workspace, or the current folder with the default configuration."""
    try:
        return find_workspace(given)
    except NoWorkspace:
        if given is not None:
            raise
        return Workspace(Path.cwd(), Config())


def create_workspace(root: Path, *, root_seed: int) -> Workspace:
    """Make a workspace, or complete one whose making was interrupted; overwrites nothing.

    Args:
        root: Its folder.
        root_seed: What all seed banks follow from.

    Raises:
        UsageError: The root seed is out of range; nothing has been written.
    """
    try:
        Config(root_seed=root_seed)
    except ValidationError:
        raise UsageError(
            f"{root_seed} is no root seed.", mend=f"Give a whole number from 0 to {2**63 - 1}."
        ) from None
    config = root / FILE
    if not config.exists():
        write_atomically(config, FIRST_CONFIG.format(root_seed=root_seed))
    workspace = Workspace(root.resolve(), read_config(config))
    store = ScaffoldStore.init(root / "scaffolds")
    for name in LINEAGES:
        if name not in store.lineages():
            store.import_lineage(name, seed_scaffolds() / name)
    readme = workspace.artifacts / "README.md"
    if not readme.exists():
        write_atomically(readme, _shipped("artifacts_map.md", "artifacts/README.md").read_bytes())
    return workspace


def seed_scaffolds() -> Path:
    """The folder of the seed scaffolds."""
    return _shipped("seed_scaffolds", "scaffolds")


def _shipped(installed: str, checkout: str) -> Path:
    """Data that travels with the packages: inside one if installed, beside them in a checkout."""
    package = Path(str(importlib.resources.files("orchestrator")))
    inside = package / installed
    return inside if inside.exists() else package.parent / checkout
