"""The folder of wheels that an image is built from: few, pinned, and for the image's own Python."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

from orchestrator.errors import UsageError
from orchestrator.sandbox.base import SandboxFailure
from orchestrator.sandbox.bundle import PACKAGES

_DOWNLOAD_SECONDS = 300


@dataclass(frozen=True, slots=True)
class Interpreter:
    """The Python of a base image.

    Attributes:
        version: E.g. ``3.11.2``.
        machine: E.g. ``x86_64``.
        libc: ``glibc`` or ``musl``.
    """

    version: str
    machine: str
    libc: str

    @property
    def minor(self) -> str:
        """E.g. ``3.11``."""
        return ".".join(self.version.split(".")[:2])

    @property
    def name(self) -> str:
        """A name for a folder of wheels."""
        return f"py{self.minor}-{self.libc}-{self.machine}"

    @property
    def platforms(self) -> list[str]:
        """Platform tags of wheels that it takes, as pip wants them."""
        kinds = ("manylinux2014", "manylinux_2_17", "manylinux_2_28")
        if self.libc == "musl":
            kinds = ("musllinux_1_1", "musllinux_1_2", "musllinux_1_2")
        return [f"{kind}_{self.machine}" for kind in dict.fromkeys(kinds)]

    def takes(self, tags: frozenset[Tag]) -> bool:
        """Whether a wheel with these tags is made for it."""
        family = "musllinux" if self.libc == "musl" else "manylinux"
        own = [
            tag.platform
            for tag in tags
            if tag.platform.startswith(family) and tag.platform.endswith(f"_{self.machine}")
        ]
        major, minor = (int(part) for part in self.minor.split("."))
        fitting = {
            *cpython_tags((major, minor), platforms=own),
            *compatible_tags((major, minor), f"cp{major}{minor}", own),
        }
        return not tags.isdisjoint(fitting)


INSTALLER = "pip"
"""Installs the others and does not stay: any version will do."""


def pins() -> dict[str, str]:
    """Version by package of what goes into an image.

    Those that are installed here, so that a sandbox of either kind runs the same code.
    """
    return {name: metadata.version(name) for name in PACKAGES}


def find(folder: Path, wanted: dict[str, str], python: Interpreter) -> dict[str, Path]:
    """The wheel of each package in a folder that is made for an interpreter.

    Args:
        folder: The folder.
        wanted: Version by package name.
        python: For whom.

    Raises:
        UsageError: Names what is not there, and the command that brings it.
    """
    found: dict[str, Path] = {}
    for path in sorted(folder.glob("*.whl")):
        try:
            name, version, _, tags = parse_wheel_filename(path.name)
        except InvalidWheelFilename:
            continue
        key = canonicalize_name(name)
        if not python.takes(tags):
            continue
        if key == INSTALLER or wanted.get(key) == str(version):
            found[key] = path
    lacking = [words for name, words in _words(wanted).items() if name not in found]
    if lacking:
        raise UsageError(
            f"{folder} holds no wheel of {', '.join(lacking)} for Python {python.minor}"
            f" ({python.libc}, {python.machine}).",
            mend=f"Where there is a network: slowwave sandbox wheels {folder}, with the same"
            " --base.",
        )
    return found


def download(folder: Path, wanted: dict[str, str], python: Interpreter) -> dict[str, Path]:
    """Fetch what a folder lacks from the package index that pip is set up for.

    Raises:
        SandboxFailure: pip is missing, or could not fetch it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    try:
        return find(folder, wanted, python)
    except UsageError:
        pass
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--only-binary=:all:", "--dest", str(folder)]
    command += ["--implementation", "cp", "--python-version", python.minor]
    for platform in python.platforms:
        command += ["--platform", platform]
    command += _words(wanted).values()
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=_DOWNLOAD_SECONDS,
            check=False,
        )
        said = (done.stderr.strip().splitlines() or ["it says nothing"])[-1]
    except subprocess.TimeoutExpired:
        raise _no_wheels(f"no answer within {_DOWNLOAD_SECONDS} s") from None
    if done.returncode != 0:
        raise _no_wheels(said)
    return find(folder, wanted, python)


def _words(wanted: dict[str, str]) -> dict[str, str]:
    """What pip is asked for, by package name."""
    return {INSTALLER: INSTALLER} | {name: f"{name}=={wanted[name]}" for name in wanted}


def _no_wheels(reason: str) -> SandboxFailure:
    return SandboxFailure(
        f"The wheels for the sandbox's image could not be fetched: {reason}.",
        mend="Run `slowwave sandbox wheels DIR` where there is a network, copy the folder here, and"
        " build with --wheels DIR.",
    )
