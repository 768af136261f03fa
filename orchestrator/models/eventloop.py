"""An event loop in a thread of its own, so that blocking code can put a hard end to I/O.

A socket's time-out starts afresh with every byte, so a server that drips bytes holds a blocking
read for ever. A coroutine can be cancelled wherever it waits.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")

CLOSE_S = 2.0


class LoopThread:
    """Runs coroutines for callers in any thread.

    Not to be used across a fork: the thread stays in the parent.
    """

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T], seconds: float) -> T:
        """Run `work` to its end, or cancel it after `seconds`.

        Raises:
            TimeoutError: It did not end in time.
        """
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(seconds)
        finally:
            future.cancel()  # also on Ctrl-C; does nothing to a finished one

    def close(self, last: Coroutine[Any, Any, object] | None = None) -> None:
        """Run one `last` thing for a moment, then stop the thread."""
        if last is not None:
            with suppress(Exception):
                self.run(last, CLOSE_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CLOSE_S)
        if not self._thread.is_alive():
            self._loop.close()
