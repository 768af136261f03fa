from __future__ import annotations

import asyncio
import threading

import pytest

from orchestrator.models.eventloop import LoopThread


def test_work_that_does_not_end_is_cancelled_where_it_waits() -> None:
    loop = LoopThread("test")
    cancelled = threading.Event()

    async def forever() -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    with pytest.raises(TimeoutError):
        loop.run(forever(), 0.02)
    assert cancelled.wait(5)
    loop.close()


def test_results_and_errors_come_back_and_close_runs_the_last_thing() -> None:
    loop = LoopThread("test")
    done: list[str] = []

    async def answer() -> int:
        return threading.get_ident()

    async def fail() -> None:
        raise ZeroDivisionError

    async def last() -> None:
        done.append("last")
        raise ValueError("a client that cannot close does not stop the rest")

    assert loop.run(answer(), 5) != threading.get_ident()
    with pytest.raises(ZeroDivisionError):
        loop.run(fail(), 5)
    loop.close(last())
    assert done == ["last"]
    assert not [one for one in threading.enumerate() if one.name == "test"]
