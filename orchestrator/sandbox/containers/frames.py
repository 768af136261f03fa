"""The frames in which the daemon sends stdout and stderr over one wire.

One byte says which stream it is, three say nothing, four give the length (big-endian), and then
come the bytes (Docker Engine API, "Attach to a container").
"""

from __future__ import annotations

from orchestrator.sandbox.line import SAID_KEPT

HEADER = 8
STDERR = 2


class Frames:
    """Takes frames apart, however the wire has cut them.

    Attributes:
        said: The end of what came on stderr.
    """

    def __init__(self) -> None:
        self.said = b""
        self._left = bytearray()

    def feed(self, data: bytes) -> bytes:
        """Take the next bytes from the wire; returns what of stdout is whole by now."""
        self._left += data
        channel, at = bytearray(), 0
        while len(self._left) - at >= HEADER:
            body = at + HEADER
            end = body + int.from_bytes(self._left[at + 4 : body], "big")
            if end > len(self._left):
                break
            if self._left[at] == STDERR:
                self.said = (self.said + self._left[body:end])[-SAID_KEPT:]
            else:
                channel += self._left[body:end]
            at = end
        del self._left[:at]
        return bytes(channel)
