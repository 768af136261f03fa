"""The image that containers start from: named by its content, built only when that changes.

What goes in is the `Dockerfile`, our agent code, three wheels and a base image with Python. The tag
is a hash of all of it, so that two images with one tag run the same code.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import sys
import tarfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import docker.errors
from docker.utils import parse_repository_tag

from orchestrator.errors import UsageError
from orchestrator.sandbox.base import SandboxFailure
from orchestrator.sandbox.bundle import AGENT_MODULES, agent_sources
from orchestrator.sandbox.containers import wheels
from orchestrator.sandbox.containers.daemon import Daemon, translated
from orchestrator.sandbox.containers.wheels import Interpreter

REPOSITORY = "slowwave-sandbox"
LABEL_CODE = "slowwave.sandbox.code"
LABEL_CONTENT = "slowwave.sandbox.content"
LABEL_BASE = "slowwave.sandbox.base"
LABEL_PYTHON = "slowwave.sandbox.python"
LABELS = {LABEL_CODE, LABEL_CONTENT, LABEL_BASE, LABEL_PYTHON}

MODULES = (*AGENT_MODULES, "warden")
BUILD = "slowwave sandbox build"
_PAINT = re.compile(r"\x1b\[[0-9;]*m")
_DOCKERFILE = Path(__file__).with_name("Dockerfile")
_PROBE = (
    "import json, platform, sys, ctypes, zipfile;"
    "print(json.dumps([platform.python_version(), platform.machine(), platform.libc_ver()[0]]))"
)
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Image:
    """An image of ours.

    Attributes:
        id: The daemon's name for it.
        tag: ``slowwave-sandbox:<content>``.
        content: Hash of what went in (16 hexadecimal digits).
        base: The base image it was built from, as it was named.
        python: Version of its Python.
    """

    id: str
    tag: str
    content: str
    base: str
    python: str


def default_base() -> str:
    """The public slim image of the Python that runs here."""
    return f"python:{sys.version_info.major}.{sys.version_info.minor}-slim"


@cache
def code_fingerprint() -> str:
    """Hash of what we put into an image and of the versions it needs (16 hexadecimal digits)."""
    digest = hashlib.sha256(_DOCKERFILE.read_bytes())
    for name, data in agent_sources(MODULES).items():
        digest.update(f"\0{name}\0".encode() + data)
    for name, version in wheels.pins().items():
        digest.update(f"\0{name} {version}".encode())
    return digest.hexdigest()[:16]


def find(daemon: Daemon, wanted: str | None = None) -> Image:
    """The image to start containers from: the configured one, or the newest that fits this code.

    Raises:
        SandboxFailure: There is none, or the configured one was built from other code.
        SandboxAway: The daemon does not answer.
    """
    if wanted is not None:
        image = _inspect(daemon, wanted)
        if image is None:
            raise SandboxFailure(
                f"The sandbox's image {wanted} is not there.",
                mend=f"Build it: {BUILD}. Or take the line `image` out of slowwave.toml.",
            )
        return image
    found = _ours(daemon)
    if not found:
        raise SandboxFailure(
            "The docker sandbox has no image for this version of Slowwave.",
            mend=f"Build it: {BUILD}",
        )
    return found[0]


def build(
    daemon: Daemon,
    *,
    base: str,
    folder: Path,
    fetch: bool,
    say: Say = lambda text: None,
) -> tuple[Image, bool]:
    """Build the image if it is not there.

    Args:
        daemon: Where.
        base: The base image; pulled if it is not there.
        folder: The folder of wheels; with `fetch`, where folders of wheels are kept, one for each
            kind of Python.
        fetch: Whether what is not there may be downloaded.
        say: Told what happens.

    Returns:
        The image, and whether it was built now.

    Raises:
        UsageError: A wheel is missing, or the base image has no Python that will do.
        SandboxFailure: The base image cannot be had, or the build failed.
        SandboxAway: The daemon does not answer.
    """
    base_id = require_base(daemon, base, say)
    python = interpreter(daemon, base)
    found = (
        wheels.download(folder / python.name, wheels.pins(), python)
        if fetch
        else wheels.find(folder, wheels.pins(), python)
    )
    content = _content(base_id, found.values())
    tag = f"{REPOSITORY}:{content}"
    there = _inspect(daemon, tag)
    if there is not None:
        return there, False
    say(f"Building {tag} from {base} (Python {python.version})")
    labels = {
        LABEL_CODE: code_fingerprint(),
        LABEL_CONTENT: content,
        LABEL_BASE: base,
        LABEL_PYTHON: python.version,
    }
    _make(daemon, base_id, _context(found.values()), labels, tag)
    built = _inspect(daemon, tag)
    if built is None:
        raise SandboxFailure("Docker built the sandbox's image and does not know it.")
    return built, True


def interpreter(daemon: Daemon, base: str) -> Interpreter:
    """The Python of a base image, asked for in a container without anything.

    Raises:
        UsageError: It has none, or one that is too old.
    """
    client = daemon.client
    with translated(f"looking into {base}"):
        limits = client.create_host_config(network_mode="none", cap_drop=["ALL"], read_only=True)
        made = client.create_container(
            base,
            ["-c", _PROBE],
            entrypoint=["python3"],
            host_config=limits,
            labels=PROBE_LABELS,
            use_config_proxy=False,
        )["Id"]
        try:
            client.start(made)
            status = int(client.wait(made)["StatusCode"])
            said = client.logs(made).decode("utf-8", "replace").strip()
        except docker.errors.APIError as error:
            status, said = 127, str(error.explanation)
        finally:
            client.remove_container(made, force=True)
    try:
        version, machine, libc = json.loads(said.splitlines()[-1])
        numbers = tuple(int(part) for part in version.split(".")[:2])
    except (ValueError, IndexError):
        raise UsageError(
            f"The base image {base} has no Python that runs (status {status}: {said[-200:]}).",
            mend=f"Give one with python3 and its standard library, such as {default_base()}.",
        ) from None
    if numbers < (3, 11):
        raise UsageError(
            f"The base image {base} has Python {version}.", mend="Give one with 3.11 or newer."
        )
    return Interpreter(version, machine, "glibc" if libc == "glibc" else "musl")


PROBE_LABELS = {"slowwave.sandbox.probe": "python"}


def require_base(daemon: Daemon, base: str, say: Say) -> str:
    """The base image's id; it is pulled if it is not there.

    Raises:
        SandboxFailure: It cannot be had; the mend says how to make one.
    """
    client = daemon.client
    with translated(f"looking for {base}"):
        try:
            return str(client.inspect_image(base)["Id"])
        except docker.errors.ImageNotFound:
            say(f"Pulling {base}")
    name, tag = parse_repository_tag(base)
    try:
        with translated(f"pulling {base}"):
            client.pull(name, tag=tag or "latest")
            return str(client.inspect_image(base)["Id"])
    except SandboxFailure as failure:
        raise SandboxFailure(
            f"The base image {base} is not there and cannot be pulled: {failure.message}",
            mend="Name another with --base. Where nothing can be pulled, make one: debootstrap"
            " --variant=minbase --include=python3 bookworm root && tar -C root -c . | docker import"
            " - slowwave-base, then --base slowwave-base.",
        ) from None


def _content(base_id: str, found: Iterable[Path]) -> str:
    digest = hashlib.sha256(f"{base_id}\0{code_fingerprint()}".encode())
    for path in sorted(found):
        if not path.name.startswith(f"{wheels.INSTALLER}-"):
            digest.update(f"\0{path.name}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def _context(found: Iterable[Path]) -> bytes:
    """The build's context as a tar archive, the same bytes for the same content."""
    files = {"Dockerfile": _DOCKERFILE.read_bytes()}
    files |= {f"agents/{name}": data for name, data in agent_sources(MODULES).items()}
    files |= {f"wheels/{path.name}": path.read_bytes() for path in found}
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, data in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), 0o644
            archive.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


def _make(daemon: Daemon, base_id: str, context: bytes, labels: dict[str, str], tag: str) -> None:
    with translated("building the sandbox's image"):
        events = daemon.client.build(
            fileobj=io.BytesIO(context),
            custom_context=True,
            buildargs={"BASE": base_id},
            labels=labels,
            tag=tag,
            network_mode="none",
            use_config_proxy=False,
            rm=True,
            forcerm=True,
            decode=True,
        )
        _follow(events)


def _follow(events: Iterator[dict[str, Any]]) -> None:
    """Read a build to its end; its last words are the reason if it fails."""
    words: list[str] = []
    for event in events:
        if "error" in event:
            last = next((word for word in reversed(words) if "error" in word.lower()), "")
            raise SandboxFailure(
                f"The sandbox's image could not be built: {last or str(event['error']).strip()}.",
                mend="See that the base image has python3 with its standard library and a shell.",
            )
        # The installer paints its errors.
        words += [_PAINT.sub("", line) for line in str(event.get("stream", "")).splitlines()]


def _inspect(daemon: Daemon, name: str) -> Image | None:
    with translated(f"looking for {name}"):
        try:
            found = daemon.client.inspect_image(name)
        except docker.errors.ImageNotFound:
            return None
    labels = found["Config"].get("Labels") or {}
    if not _is_ours(labels, found.get("RepoTags")):
        raise SandboxFailure(
            f"The image {name} is none that `{BUILD}` has made.", mend=f"Build one: {BUILD}"
        )
    if labels[LABEL_CODE] != code_fingerprint():
        raise SandboxFailure(
            f"The image {name} was built from other agent code than this.", mend=f"Build: {BUILD}"
        )
    return _image(found["Id"], labels)


def _is_ours(labels: dict[str, str], tags: list[str] | None) -> bool:
    """Whether an image is what its labels say; one that was built on top of it has them as well."""
    return f"{REPOSITORY}:{labels.get(LABEL_CONTENT)}" in (tags or ()) and set(labels) >= LABELS


def _ours(daemon: Daemon) -> list[Image]:
    """Every image that was built from this code, the newest first."""
    wanted = {"label": f"{LABEL_CODE}={code_fingerprint()}"}
    with translated("looking for the sandbox's image"):
        found = daemon.client.images(name=REPOSITORY, filters=wanted)
    own = [one for one in found if _is_ours(one["Labels"], one.get("RepoTags"))]
    newest = sorted(own, key=lambda one: (one["Created"], one["Id"]), reverse=True)
    return [_image(one["Id"], one["Labels"]) for one in newest]


def _image(number: str, labels: dict[str, str]) -> Image:
    content = labels[LABEL_CONTENT]
    return Image(
        id=number,
        tag=f"{REPOSITORY}:{content}",
        content=content,
        base=labels[LABEL_BASE],
        python=labels[LABEL_PYTHON],
    )
