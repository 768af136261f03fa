"""What the sandbox starts: load a scaffold, then play one episode over stdin and stdout.

Usage inside the sandbox: ``python -c "from agents.runner import main; main()" FOLDER [LIMITS]``,
where FOLDER holds the scaffold and LIMITS is a JSON object of resource limits that the process puts
on itself before any scaffold code is loaded (`ResourceLimits`).
"""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import IO, Any

from jinja2 import FileSystemLoader, StrictUndefined
from jinja2.sandbox import SandboxedEnvironment

from agents.grammar import BUILT_IN, CommandSpec
from agents.loop import Agent
from agents.messages import (
    Act,
    CommandCall,
    CommandReply,
    FromHost,
    FromSandbox,
    MemoryReply,
    MemoryRequest,
    Message,
    Observe,
    Ready,
    ScaffoldFault,
    Start,
    Stop,
    TurnReply,
    TurnRequest,
    Up,
    decode_from_host,
    encode,
)
from agents.scaffold import Memory, MemoryFault, registered_commands

PR_SET_PDEATHSIG = 1


class Channel:
    """The letter slot: one message a line, in and out."""

    def __init__(self, reader: IO[bytes], writer: IO[bytes]) -> None:
        self._reader = reader
        self._writer = writer
        self._sent: list[Message] = []
        self.agent: Agent | None = None

    def send(self, message: FromSandbox) -> None:
        """Write one message."""
        self._writer.write(encode(message))
        self._writer.flush()

    def receive(self) -> FromHost:
        """Read one message; the process ends quietly when the host is gone."""
        line = self._reader.readline()
        if not line:
            sys.exit(0)
        return decode_from_host(line)

    def turn(self, phase: str, messages: list[Message]) -> TurnReply:
        """Ask for a model turn, carrying out the scaffold's own commands while it is served."""
        kept = 0
        for old, new in zip(self._sent, messages[:-1], strict=False):
            if old != new:
                break
            kept += 1
        self._sent = list(messages)
        self.send(TurnRequest(phase, kept, messages[kept:]))  # type: ignore[arg-type]
        while True:
            message = self.receive()
            if isinstance(message, TurnReply):
                return message
            if isinstance(message, CommandCall):
                self.send(self._run(message))
                continue
            raise RuntimeError(f"unexpected {type(message).__name__} during a turn")

    def memory(self, operation: str, *arguments: str) -> str:
        """Run one memory operation on the host."""
        self.send(MemoryRequest(operation, [str(argument) for argument in arguments]))
        message = self.receive()
        if not isinstance(message, MemoryReply):
            raise RuntimeError(f"unexpected {type(message).__name__} after a memory request")
        if not message.ok:
            raise MemoryFault(message.text)
        return message.text

    def _run(self, call: CommandCall) -> CommandReply:
        _, handler = registered_commands()[call.name]
        assert self.agent is not None
        try:
            return CommandReply(True, str(handler(self.agent.context, *call.arguments)))
        except MemoryFault as fault:
            return CommandReply(False, str(fault))


class TemplateFolder:
    """The prompts of a scaffold: Jinja2 templates in its sandboxed environment."""

    def __init__(self, folder: Path) -> None:
        environment = SandboxedEnvironment(
            loader=FileSystemLoader(folder / "prompts"),
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._templates = {
            name: environment.get_template(f"{name}.j2") for name in ("system", "log", "plan")
        }

    def render(self, name: str, **values: object) -> str:
        """Fill in one template."""
        return self._templates[name].render(**values)


def load_hooks(folder: Path) -> ModuleType | None:
    """Import the scaffold's ``hooks.py`` (and, from it, its sibling modules) if there is one."""
    path = folder / "hooks.py"
    if not path.exists():
        return None
    sys.path.insert(1, str(folder))
    spec = importlib.util.spec_from_file_location("hooks", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["hooks"] = module
    spec.loader.exec_module(module)
    return module


def die_with_host() -> None:
    """Have the kernel end this process when its host is gone, whatever it is doing then."""
    if sys.platform == "linux":
        import ctypes

        host = os.getppid()
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        # The kernel does not tell of a host that was gone before it was asked to.
        if os.getppid() != host:
            os._exit(1)


def limit_resources(limits: dict[str, int]) -> None:
    """Put hard limits on this process: ``{"AS": bytes, "CPU": seconds, ...}`` by rlimit name.

    A limit that the process already has and that is lower stays: it could not be raised.
    """
    import resource

    for name, value in limits.items():
        kind = getattr(resource, f"RLIMIT_{name}", None)
        if kind is not None:
            _, most = resource.getrlimit(kind)
            lower = value if most == resource.RLIM_INFINITY else min(value, most)
            resource.setrlimit(kind, (lower, lower))


def play(channel: Channel, folder: Path) -> None:
    """Serve one episode from `Start` to `Stop`."""
    start = channel.receive()
    if not isinstance(start, Start):
        raise RuntimeError(f"expected Start, got {type(start).__name__}")
    prompts = TemplateFolder(folder)
    hooks = load_hooks(folder)
    own = [spec for spec, _ in registered_commands().values()]
    channel.send(Ready([_info(spec) for spec in own]))
    offered = {record["name"] for record in start.commands}
    listed = [spec for spec in BUILT_IN if spec.name in offered] + own
    memory = Memory(channel.memory)
    while True:
        message = channel.receive()
        if isinstance(message, Stop):
            return
        if not isinstance(message, Observe):
            raise RuntimeError(f"expected Observe, got {type(message).__name__}")
        if channel.agent is None:
            # Only now, because its first hook may use memory and the host now serves requests.
            channel.agent = Agent(start, prompts, hooks, listed, memory, channel.turn)
        channel.send(Act(channel.agent.step(message)))


def main() -> None:
    """Take over stdin and stdout as the channel, then play."""
    die_with_host()
    folder = Path(sys.argv[1])
    if len(sys.argv) > 2:
        limit_resources(json.loads(sys.argv[2]))
    # The scaffold may print; its words must not land in the channel.
    writer = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    channel = Channel(sys.stdin.buffer, writer)
    channel.send(Up())
    try:
        play(channel, folder)
    except Exception as error:
        channel.send(ScaffoldFault(_where(error, folder), _sentence(error), traceback.format_exc()))


def _info(spec: CommandSpec) -> dict[str, Any]:
    return {
        "name": spec.name,
        "arguments": list(spec.arguments),
        "help": spec.help,
        "writes": spec.writes,
    }


def _sentence(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:2000]


def _where(error: Exception, folder: Path) -> str:
    """The last place inside the scaffold that the error passed through."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{Path(error.filename).name}:{error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if Path(frame.filename).is_relative_to(folder)]
    if inside:
        last = inside[-1]
        return f"{Path(last.filename).relative_to(folder)}:{last.lineno}"
    name, line = getattr(error, "name", None), getattr(error, "lineno", None)
    return f"prompts/{name}:{line}" if name and line else "scaffold"
