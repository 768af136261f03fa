"""The table ``[docker]`` of `slowwave.toml`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from agents.tables import Table


class DockerConfig(Table):
    """How containers are made.

    Attributes:
        host: The daemon's address, ``unix:///path`` or ``tcp://host:port``; by default what
            ``docker`` itself would use.
        runtime: OCI runtime, such as gVisor's ``runsc``; by default the daemon's own.
        image: The image to start from, by tag or id; by default the newest that
            ``slowwave sandbox build`` made from this version of Slowwave.
        scaffold: ``mount`` the scaffold read-only, or ``copy`` it into a volume that goes with the
            container; ``auto`` mounts where the daemon's address is a socket of this machine.
    """

    host: str | None = Field(default=None, min_length=1)
    runtime: str | None = Field(default=None, min_length=1)
    image: str | None = Field(default=None, min_length=1)
    scaffold: Literal["auto", "mount", "copy"] = "auto"
