"""The ``docker`` sandbox, put together."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from orchestrator.sandbox.base import Guarantee, SandboxLimits
from orchestrator.sandbox.containers import container, image, reaper
from orchestrator.sandbox.containers.config import DockerConfig
from orchestrator.sandbox.containers.daemon import Daemon, connect, forget, translated
from orchestrator.sandbox.line import LineSession

_ASKED = {
    "MemoryLimit": Guarantee.TOTAL_MEMORY,
    "SwapLimit": Guarantee.TOTAL_MEMORY,
    "PidsLimit": Guarantee.PROCESS_COUNT,
}
"""What a rootless daemon or an old kernel drops with no more than a warning."""


class DockerSandbox:
    """A container per episode.

    Args:
        config: How containers are made.
    """

    name = "docker"

    def __init__(self, config: DockerConfig) -> None:
        self._config = config

    @property
    def daemon(self) -> Daemon:
        """The daemon; raises `SandboxAway` if it does not answer."""
        daemon = connect(self._config.host)
        if not daemon.pulse.beats:
            forget()
            daemon = connect(self._config.host)
        return daemon

    @property
    def guarantees(self) -> frozenset[Guarantee]:
        """Everything, unless the daemon says that its kernel cannot; raises `SandboxAway`."""
        with translated("asking what can be limited"):
            found = self.daemon.client.info()
        gaps = {one for field, one in _ASKED.items() if not found.get(field, True)}
        return frozenset(Guarantee) - gaps

    @cached_property
    def image(self) -> image.Image:
        """The image; raises `SandboxFailure` if there is none that will do."""
        return image.find(self.daemon, self._config.image)

    @property
    def fingerprint(self) -> str:
        """Hash of the image's content and the runtime."""
        runtime = self._config.runtime
        return f"{self.image.content}-{runtime}" if runtime else self.image.content

    def check(self) -> None:
        """Ask the daemon, and for the image."""
        forget()
        image.find(self.daemon, self._config.image)

    def start(self, scaffold: Path, limits: SandboxLimits) -> LineSession:
        """Start a container that has loaded nothing of the scaffold yet."""
        daemon = self.daemon
        reaper.sweep(daemon)
        number = container.create(
            daemon,
            self.image.id,
            scaffold,
            limits,
            runtime=self._config.runtime,
            copy=self._copies(daemon),
        )
        session = LineSession(container.ContainerWire(daemon, number))
        session.wait_until_up(limits.start_seconds)
        return session

    def _copies(self, daemon: Daemon) -> bool:
        how = self._config.scaffold
        return how == "copy" or (how == "auto" and not daemon.local)
