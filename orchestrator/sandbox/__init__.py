"""The room in which a scaffold's code runs, and the one channel into it.

`base` says what a sandbox is and what it may promise, `line` how messages pass through any wire;
`process` is a resource-limited child process, with `namespaces` where they can be had, and
`containers` is Docker. `bundle` is the little code that a sandbox needs beside the scaffold.
`choice` says which sandbox is used here; `attacks` tries to break out of one.
"""

from __future__ import annotations

import difflib
import importlib
from pathlib import Path
from typing import cast

from orchestrator.errors import UsageError
from orchestrator.sandbox.base import Sandbox
from orchestrator.sandbox.containers.config import DockerConfig
from orchestrator.sandbox.process import ProcessSandbox

KINDS = ("docker", "process")
_PARTS = ("name", "guarantees", "fingerprint", "check", "start")
AUTO = "auto"
"""Docker where a daemon answers and its image is built, else process."""


def check_kind(kind: str) -> str:
    """The kind, if it can be one.

    Raises:
        UsageError: It is none of ours and no import path.
    """
    if kind in (AUTO, *KINDS) or ":" in kind:
        return kind
    close = difflib.get_close_matches(kind, (AUTO, *KINDS), n=1)
    hint = f"Did you mean {close[0]}? " if close else ""
    raise UsageError(
        f"There is no sandbox '{kind}'.",
        mend=f"{hint}Use one of: {', '.join((AUTO, *KINDS))}; or your own, as module:factory.",
    )


def make_sandbox(kind: str, artifacts: Path, docker: DockerConfig | None = None) -> Sandbox:
    """A sandbox by name.

    Args:
        kind: ``docker``, ``process``, or ``module:factory``: a function of the artifacts folder
            that returns a `Sandbox` of anyone's own.
        artifacts: The artifacts folder.
        docker: How containers are made.

    Raises:
        UsageError: There is no such kind, or it cannot be imported.
    """
    check_kind(kind)
    if kind == "docker":
        # The SDK takes a quarter of a second to import, and only this needs it.
        from orchestrator.sandbox.containers.sandbox import DockerSandbox

        return DockerSandbox(docker or DockerConfig())
    if kind == "process":
        return ProcessSandbox(artifacts / "bundles")
    if kind == AUTO:
        raise ValueError("which sandbox 'auto' stands for is decided by `choice.choose`")
    return _own(kind, artifacts)


def _own(kind: str, artifacts: Path) -> Sandbox:
    """A sandbox of anyone's own, whose code may fail in any way."""
    module, _, name = kind.partition(":")
    try:
        made = getattr(importlib.import_module(module), name)(artifacts)
    except Exception as error:
        raise UsageError(
            f"The sandbox {kind} cannot be made: {type(error).__name__}: {error}.",
            mend="Write module:factory, where `python -c 'import module'` works and the factory"
            " takes the artifacts folder.",
        ) from error
    lacking = [part for part in _PARTS if not hasattr(made, part)]
    if lacking:
        raise UsageError(
            f"What {kind} makes is no sandbox: it has no {', '.join(lacking)}.",
            mend="See `Sandbox` in orchestrator/sandbox/base.py.",
        )
    return cast(Sandbox, made)
