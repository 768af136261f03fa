"""What this machine can and cannot do, each with the mend."""

from __future__ import annotations

import platform
import shutil
import sys
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from envs.determinism import check_determinism
from orchestrator.config import FILE
from orchestrator.errors import SlowwaveError
from orchestrator.models.config import ModelConfig
from orchestrator.sandbox import make_sandbox
from orchestrator.sandbox.base import SandboxLimits
from orchestrator.workspace import Workspace, seed_scaffolds

ROOM_GB = 2.0
PACKAGES = ("crafter", "mlflow", "openai", "prefect", "pydantic", "scipy", "zstandard")


class Check(BaseModel):
    """One thing that was looked at.

    Attributes:
        name: What.
        ok: Whether it is as it should be.
        found: What was found.
        mend: What to do if not.
        needed: Whether nothing works without it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    ok: bool
    found: str
    mend: str = ""
    needed: bool = True


def examine(workspace: Workspace) -> list[Check]:
    """Every check, in the order in which a night would stumble."""
    return [
        _python(),
        _packages(),
        _git(),
        _room(workspace.root),
        _workspace(workspace),
        _seeds(),
        _sandbox(workspace),
        *_models(workspace),
    ]


def _python() -> Check:
    version = platform.python_version()
    return Check(
        name="Python",
        ok=(3, 11) <= sys.version_info[:2] < (3, 14),
        found=version,
        mend="Install Python 3.11, 3.12 or 3.13.",
    )


def _packages() -> Check:
    found = ", ".join(f"{name} {metadata.version(name)}" for name in PACKAGES)
    return Check(name="packages", ok=True, found=found)


def _git() -> Check:
    path = shutil.which("git")
    return Check(
        name="git",
        ok=path is not None,
        found=path or "not found",
        mend="Install git 2.32 or newer.",
    )


def _room(root: Path) -> Check:
    existing = next(folder for folder in (root, *root.parents) if folder.exists())
    free = shutil.disk_usage(existing).free / 1e9
    return Check(
        name="disk",
        ok=free > ROOM_GB,
        found=f"{free:.1f} GB free",
        mend=f"Free some space: a night wants {ROOM_GB:.0f} GB.",
    )


def _workspace(workspace: Workspace) -> Check:
    if not (workspace.root / FILE).exists():
        return Check(
            name="workspace",
            ok=False,
            found=f"none in {workspace.root}",
            mend="Make one: slowwave init lab",
            needed=False,
        )
    return _attempt(
        "workspace",
        lambda: f"{workspace.root}, lineages {', '.join(workspace.scaffolds.lineages())}",
    )


def _seeds() -> Check:
    check = check_determinism("crafter-v1")
    return Check(
        name="seeds of crafter-v1",
        ok=check.ok,
        found=check.sentence,
        mend="Install the versions in constraints.txt.",
    )


def _sandbox(workspace: Workspace) -> Check:
    sandbox = make_sandbox(workspace.config.sandbox, workspace.artifacts)

    def start() -> str:
        sandbox.start(seed_scaffolds() / "crafter", SandboxLimits()).close()
        return f"{sandbox.name} starts. {sandbox.cannot}".strip()

    return _attempt("sandbox", start)


def _models(workspace: Workspace) -> Iterator[Check]:
    for role, model in workspace.config.models.items():
        yield _attempt(f"model for {role}", _model_found(model))


def _model_found(model: ModelConfig) -> Callable[[], str]:
    def look() -> str:
        if model.provider == "heuristic":
            return "heuristic: no language model, no key needed"
        model.api_key()
        return f"{model.provider}: {model.model} at {model.url}"

    return look


def _attempt(name: str, look: Callable[[], str]) -> Check:
    try:
        return Check(name=name, ok=True, found=look())
    except SlowwaveError as error:
        return Check(name=name, ok=False, found=error.message, mend=error.mend or "")
