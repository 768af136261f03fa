"""Which sandbox is used on this machine, and whether it may run what it is given."""

from __future__ import annotations

import os
from dataclasses import dataclass

from orchestrator.errors import UsageError
from orchestrator.sandbox import AUTO
from orchestrator.sandbox.base import Sandbox, SandboxAway, SandboxFailure, cannot, missing
from orchestrator.sandbox.containers.config import DockerConfig

_INSTEAD = "Scaffold code runs in the process sandbox, not in Docker:"


class Unsandboxed(UsageError):
    """Code that nobody has read would run where it is not locked in."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The sandbox of all episodes that are planned together.

    Attributes:
        kind: Never ``auto``.
        docker: How containers are made, with the image they start from pinned.
        notice: What a person should know about it; may be empty.
    """

    kind: str
    docker: DockerConfig
    notice: str = ""


def choose(kind: str, docker: DockerConfig) -> Choice:
    """Decide what ``auto`` stands for here, and pin the image.

    Docker is asked for by ``docker``, and by ``auto`` with a daemon's address in the configuration.

    Raises:
        SandboxAway: It is asked for and no daemon answers.
        SandboxFailure: It is asked for and has no image; the mend says how to get one.
        UsageError: It is asked for at an address that cannot be used.
    """
    if kind not in (AUTO, "docker"):
        return Choice(kind, docker)
    from orchestrator.sandbox.containers.daemon import connect
    from orchestrator.sandbox.containers.image import find

    try:
        image = find(connect(docker.host), docker.image)
    except SandboxAway as away:
        if kind == "docker" or docker.host is not None:
            mend = f"{away.mend} Or use --sandbox process."
            raise SandboxAway(away.message, mend=mend) from None
        # Where nobody has asked for Docker, that there is none is no news.
        notice = f"{_INSTEAD} {away}" if os.environ.get("DOCKER_HOST") else ""
        return Choice("process", docker, notice)
    except (SandboxFailure, UsageError) as error:
        if kind == "docker" or docker.host is not None:
            raise
        return Choice("process", docker, f"{_INSTEAD} {error}")
    return Choice("docker", docker.model_copy(update={"image": image.tag}))


def refuse_unsandboxed(author: str, sandbox: Sandbox, *, allowed: bool) -> None:
    """Refuse to run a model's code where it is not locked in.

    Args:
        author: The editor that wrote the code, as its commit says; empty for a person's or the
            shipped editor's own, which people have read.
        sandbox: Where it would run.
        allowed: Whether the user said ``--allow-unsandboxed``.

    Raises:
        Unsandboxed: It may not run there.
    """
    if not author or allowed or not missing(sandbox):
        return
    raise Unsandboxed(
        f"{author} wrote this scaffold's code, and nobody has read it. {cannot(sandbox)}",
        mend="Set up Docker and run `slowwave sandbox build`; or take the risk with"
        " --allow-unsandboxed.",
    )
