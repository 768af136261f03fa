"""Messages over a wire, under deadlines: what all sandboxes do alike.

A sandbox brings a `Wire`, which moves bytes and knows why it fell silent; `LineSession` makes of it
a `Session` that trusts nothing it reads.
"""

from __future__ import annotations

import time
from typing import Protocol

from agents.messages import (
    MAX_LINE,
    FromHost,
    FromSandbox,
    ProtocolError,
    Up,
    decode_from_sandbox,
)
from agents.messages import encode as encode_message
from orchestrator.sandbox.base import SandboxFailure, ScaffoldFailure

SEND_SECONDS = 10.0
"""Seconds that a scaffold may leave a message unread, unless its step ends before."""

SAID_KEPT = 2000
"""Bytes kept of the end of what the code inside prints."""

_PATIENCE = 0.1


class Hangup(Exception):
    """The other end of a wire is gone."""


class Wire(Protocol):
    """Bytes to and from the code inside."""

    def put(self, data: memoryview, seconds: float) -> int:
        """Hand bytes in; returns how many were taken, 0 if none within this time.

        Raises:
            Hangup: Nobody will ever take them.
        """

    def take(self, seconds: float) -> bytes:
        """The next bytes from the channel; empty if there are none yet, at the latest in this time.

        Raises:
            Hangup: There will never be any.
        """

    def excuse(self) -> Exception | None:
        """Before code that is late is blamed: what else has kept it, if anything has."""

    def why(self) -> Exception:
        """What to raise after a `Hangup`.

        A `ScaffoldFailure`, or a `SandboxFailure` if the code inside cannot have caused it.
        """

    def kill(self) -> None:
        """End everything inside, at once; may be called twice."""

    def close(self) -> None:
        """Kill, and leave nothing behind; never raises, may be called twice."""


class LineSession:
    """One running sandbox; see `orchestrator.sandbox.base.Session`.

    Args:
        wire: The bytes' way; closed with the session.
    """

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._buffer = bytearray()
        self._scanned = 0

    def wait_until_up(self, seconds: float) -> None:
        """Wait for the agent code, which is ours: what fails here is no fault of the scaffold.

        Raises:
            SandboxFailure: It did not come up in time, or ended.
        """
        try:
            first = self.receive(seconds)
            if not isinstance(first, Up):
                raise SandboxFailure(f"The sandbox began with {type(first).__name__}, not with Up.")
        except ScaffoldFailure as failure:
            self.close()
            raise SandboxFailure(f"The sandbox did not come up: {failure}") from failure
        except BaseException:
            self.close()
            raise

    def send(self, message: FromHost, seconds: float = SEND_SECONDS) -> None:
        """Write one message, without ever blocking on code that does not read."""
        data = memoryview(encode_message(message))
        deadline = time.monotonic() + min(seconds, SEND_SECONDS)
        try:
            while data:
                data = data[self._wire.put(data, _PATIENCE) :]
                if data and time.monotonic() > deadline:
                    raise self._late("The scaffold stopped reading.")
        except Hangup:
            raise self._wire.why() from None

    def receive(self, seconds: float) -> FromSandbox:
        """Read one message within a deadline."""
        line = self._line(seconds)
        try:
            return decode_from_sandbox(line)
        except ProtocolError as error:
            self._wire.kill()
            raise ScaffoldFailure(
                "protocol", f"The scaffold broke the protocol: {error}."
            ) from None

    def close(self) -> None:
        """End it and everything it started."""
        self._wire.close()

    def _late(self, blame: str) -> Exception:
        excuse = self._wire.excuse()
        self._wire.kill()
        return excuse or ScaffoldFailure("timeout", blame)

    def _line(self, seconds: float) -> bytes:
        deadline = time.monotonic() + seconds
        while (end := self._buffer.find(b"\n", self._scanned)) < 0:
            self._scanned = len(self._buffer)
            if self._scanned > MAX_LINE:
                self._wire.kill()
                raise ScaffoldFailure(
                    "protocol", f"The scaffold sent a line of over {MAX_LINE} bytes."
                )
            left = deadline - time.monotonic()
            # Code that prints without end always has something to read: it is late all the same.
            if left <= 0:
                raise self._late(f"The scaffold did not answer within {seconds:.3g} s.")
            try:
                self._buffer += self._wire.take(left)
            except Hangup:
                raise self._wire.why() from None
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        self._scanned = 0
        return line


def last_words(said: bytes) -> str:
    """The end of what the code inside printed, as a sentence to add; empty without any."""
    words = said[-SAID_KEPT:].decode("utf-8", "replace").strip()
    return f" It last said: {words}" if words else ""
