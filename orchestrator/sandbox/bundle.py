"""The code a sandbox carries beside the scaffold: our runner, Jinja2, and nothing else.

The bundle is a folder named by the hash of its content. It is compiled once, so that a sandbox
starts fast without being able to write.
"""

from __future__ import annotations

import compileall
import hashlib
import os
import py_compile
import shutil
import sys
import tempfile
from collections.abc import Iterable
from functools import cache
from importlib import import_module, metadata, util
from pathlib import Path

AGENT_MODULES = ("__init__", "grammar", "loop", "messages", "runner", "scaffold")
PACKAGES = ("jinja2", "markupsafe")


@cache
def fingerprint() -> str:
    """SHA-256 over the agent code and the versions of what it needs (16 hexadecimal digits)."""
    digest = hashlib.sha256()
    for name, source in agent_sources(AGENT_MODULES).items():
        digest.update(f"{name}\0".encode() + source)
    for package in PACKAGES:
        digest.update(f"{package} {metadata.version(package)}\0".encode())
    return digest.hexdigest()[:16]


def agent_sources(modules: Iterable[str]) -> dict[str, bytes]:
    """The source of modules of `agents`, by file name; none of them is imported."""
    return {f"{name}.py": (_agents() / f"{name}.py").read_bytes() for name in modules}


def build(root: Path) -> Path:
    """The bundle's folder under `root`, made if it is not there yet.

    Safe against several processes building at once and against being killed half-way: the folder
    appears whole, by one rename.
    """
    tag = f"py{sys.version_info.major}{sys.version_info.minor}-{fingerprint()}"
    target = root / tag
    if target.exists():
        return target
    root.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=".bundle-", dir=root))
    try:
        _copy(work)
        compileall.compile_dir(
            work, quiet=2, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH
        )
        work.chmod(0o755)
        os.rename(work, target)
    except OSError:
        if not target.exists():
            raise
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return target


def _copy(work: Path) -> None:
    (work / "agents").mkdir()
    for name, text in agent_sources(AGENT_MODULES).items():
        (work / "agents" / name).write_bytes(text)
    for package in PACKAGES:
        module = import_module(package)
        assert module.__file__ is not None
        source = Path(module.__file__).parent
        for path in source.rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                # File by file: copytree hides a full disk behind an error of its own.
                target = work / package / path.relative_to(source)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)


def _agents() -> Path:
    # Found without importing the runner or the loop, which never run on the host.
    spec = util.find_spec("agents")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent
