"""What this machine can and cannot do, each with the mend."""

from __future__ import annotations

import difflib
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

import anthropic
import openai
from pydantic import BaseModel, ConfigDict, SecretStr

from envs.determinism import check_determinism
from envs.errors import EnvironmentFault
from envs.registry import SPECS, make
from orchestrator.config import FILE
from orchestrator.errors import SlowwaveError
from orchestrator.models.config import ModelConfig
from orchestrator.models.errors import MissingKey, ModelFailure
from orchestrator.models.local.weights import SMOLLM2, find, precision
from orchestrator.models.sdk_client import is_loopback
from orchestrator.models.sdk_errors import ErrorTranslator
from orchestrator.sandbox import make_sandbox
from orchestrator.sandbox.base import SandboxLimits, cannot
from orchestrator.sandbox.choice import choose
from orchestrator.scaffolds.reader import OLDEST_GIT
from orchestrator.workspace import Workspace, seed_scaffolds

ROOM_GB = 2.0
ANSWER_S = 5.0
"""How long a model's server may take to say what it serves."""

PACKAGES = (
    "crafter", "minihack", "mlflow", "nle", "openai", "prefect", "pydantic", "scipy", "zstandard",
)  # fmt: skip
GAMES = frozenset({"minihack", "nle"})
"""Packages without which some games cannot be played, and everything else works."""

SEEDS = ("crafter-v1", "nethack-v1", "minihack/mazewalk-9x9-v1", "minihack/quest-easy-v1")
"""Whose seeds are tried: of MiniHack a task with moves alone, and one with every key."""


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
        _environments(),
        *_seeds(),
        _docker(workspace),
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
    found, missing = [], []
    for name in PACKAGES:
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            missing.append(name)
    return Check(
        name="packages",
        ok=not missing,
        found=f"not installed: {', '.join(missing)}" if missing else ", ".join(found),
        mend=f"Install what is missing: pip install {' '.join(missing)}",
        needed=not GAMES.issuperset(missing),
    )


def _git() -> Check:
    path = shutil.which("git")
    said = _said_by(path, "--version") if path else "not found"
    version = re.match(r"git version (\d+)\.(\d+)", said)
    oldest = ".".join(map(str, OLDEST_GIT))
    return Check(
        name="git",
        ok=version is not None and (int(version[1]), int(version[2])) >= OLDEST_GIT,
        found=f"{said} at {path}" if path else said,
        mend=f"Install git {oldest} or newer.",
    )


def _said_by(*command: str) -> str:
    """The first line a program prints, or why there is none."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError) as error:
        return f"does not run ({type(error).__name__})"
    return (done.stdout.strip().splitlines() or ["says nothing"])[0]


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


def _environments() -> Check:
    """What can be played here; a game that is away keeps nobody from the others."""
    away: dict[str, EnvironmentFault] = {}
    for name in SPECS:
        try:
            make(name).close()
        except EnvironmentFault as error:
            away[name] = error
    played = len(SPECS) - len(away)
    reasons = dict.fromkeys(error.message for error in away.values())
    mends = dict.fromkeys(error.mend for error in away.values() if error.mend)
    return Check(
        name="environments",
        ok=not away,
        found=" ".join([f"{played} of {len(SPECS)} can be played.", *reasons]),
        mend=" ".join(mends),
        needed=not played,
    )


def _seeds() -> list[Check]:
    """The checks wait for processes of their own, so two run at a time."""
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(_seeds_of, SEEDS))


def _seeds_of(environment: str) -> Check:
    name, package = f"seeds of {environment}", SPECS[environment].package
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return Check(
            name=name,
            ok=False,
            found=f"{package} is not installed, so {environment} cannot be played here",
            mend=f"Install it: pip install {package}",
            needed=package not in GAMES,
        )
    try:
        check = check_determinism(environment)
    except EnvironmentFault as error:
        return Check(name=name, ok=False, found=error.message, mend=error.mend or "")
    return Check(
        name=name,
        ok=check.ok,
        found=check.sentence,
        mend="Install the versions in constraints.txt.",
    )


def _sandbox(workspace: Workspace) -> Check:
    def start() -> str:
        config = workspace.config
        choice = choose(config.sandbox, config.docker)
        sandbox = make_sandbox(choice.kind, workspace.artifacts, choice.docker)
        sandbox.start(seed_scaffolds() / "crafter", SandboxLimits()).close()
        return f"{sandbox.name} starts. {cannot(sandbox)}".strip()

    return _attempt("sandbox", start)


def _docker(workspace: Workspace) -> Check:
    """Needed only where it is asked for: `process` runs what people wrote and the shipped edits."""
    config = workspace.config

    def look() -> str:
        from orchestrator.sandbox.containers.daemon import connect
        from orchestrator.sandbox.containers.image import find

        daemon = connect(config.docker.host)
        image = find(daemon, config.docker.image)
        return f"{daemon.address} has {image.tag} (Python {image.python}, from {image.base})"

    check = _attempt("docker", look)
    return check.model_copy(update={"needed": config.sandbox == "docker"})


def _models(workspace: Workspace) -> Iterator[Check]:
    for role, model in workspace.config.models.items():
        name = f"model for {role}"
        if model.provider == "heuristic":
            found = "heuristic: no language model, no key needed"
            yield Check(name=name, ok=True, found=found)
        elif model.provider == "local":
            yield _attempt(name, partial(_local, model))
        else:
            yield _server(name, model)


def _local(model: ModelConfig) -> str:
    weights = find(model.model or SMOLLM2)
    return f"{weights.name} on this machine, in {precision()} (weights {weights.digest[:12]})"


def _server(name: str, model: ModelConfig) -> Check:
    """Ask a model's server what it serves: that costs nothing, and tells address and key."""
    try:
        known = served_models(model)
    except SlowwaveError as error:
        mend = error.mend or ""
        if isinstance(error, ModelFailure):  # whose own mend speaks of a call tried again
            mend = "Check that the server runs and that base_url, usually ending in /v1, is right."
        return Check(name=name, ok=False, found=error.message, mend=mend)
    wanted = model.model or ""
    if known is None:
        found = f"{model.url} answers, and does not list its models; {wanted} was not asked"
    elif wanted in known:
        found = f"{wanted} at {model.url}"
    else:
        near = difflib.get_close_matches(wanted, known, n=1, cutoff=0.5)
        listed = ", ".join(known[:20]) or "none"
        return Check(
            name=name,
            ok=False,
            found=f"{model.url} answers, and does not list {wanted}",
            mend=(f"Did you mean {near[0]}? " if near else "") + f"It lists: {listed}.",
            needed=False,  # some servers know a model by more names than they list
        )
    return Check(name=name, ok=True, found=found)


def served_models(model: ModelConfig) -> list[str] | None:
    """The names of the models that a server lists; ``None`` if it answers without a list.

    Raises:
        MissingKey: The key is not there, cannot be one, or is not accepted.
        ModelFailure: The server cannot be reached, or fails.
    """
    key = model.api_key()
    secret = key.get_secret_value() if key else "none"
    if not (secret.isascii() and secret.isprintable()):  # else the transport's error quotes it
        raise MissingKey(
            f"What is in {model.api_key_env} is no key: it holds characters that none can have.",
            mend=f"Set {model.api_key_env} again.",
            variable=model.api_key_env or "",
        )
    try:
        names = _listed(model, secret)
    except _vendor(model).NotFoundError:
        return None
    except Exception as error:
        failure = _translated(model, key, error)
        if failure is None:
            raise
    else:
        return names
    raise failure  # outside the handler: what is chained would carry the request and its key


def _listed(model: ModelConfig, secret: str) -> list[str] | None:
    vendor = _vendor(model)
    transport = vendor.DefaultHttpxClient(timeout=ANSWER_S, trust_env=not is_loopback(model.url))
    common: dict[str, Any] = {
        "api_key": secret,
        "base_url": model.url,
        "max_retries": 0,
        "timeout": ANSWER_S,
        "http_client": transport,
    }
    if model.provider == "anthropic":
        made = vendor.Anthropic(
            **common, default_headers={"X-Api-Key": secret, "Authorization": vendor.Omit()}
        )
    else:
        headers: dict[str, Any] = {"Authorization": f"Bearer {secret}"}
        if model.base_url is not None:
            headers |= {"OpenAI-Organization": vendor.Omit(), "OpenAI-Project": vendor.Omit()}
        made = vendor.OpenAI(**common, default_headers=headers)
    with made as sdk:
        page: Any = sdk.models.list()
    data = getattr(page, "data", None)
    if not isinstance(data, list):
        return None
    return sorted(str(getattr(one, "id", "")) for one in data)


def _vendor(model: ModelConfig) -> Any:
    """The SDK that speaks to a model's server."""
    return anthropic if model.provider == "anthropic" else openai


def _translated(
    model: ModelConfig, key: SecretStr | None, error: Exception
) -> SlowwaveError | None:
    patient = model.model_copy(update={"timeout_s": ANSWER_S})
    return ErrorTranslator(patient, key, _vendor(model)).translate(error)


def _attempt(name: str, look: Callable[[], str]) -> Check:
    try:
        return Check(name=name, ok=True, found=look())
    except SlowwaveError as error:
        return Check(name=name, ok=False, found=error.message, mend=error.mend or "")
