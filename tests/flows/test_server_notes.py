"""Which Prefect servers a run ends before it starts its own: those of killed runs alone."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from filelock import FileLock

from flows.server import end_orphans

MARKER = "prefect.server.api.server:create_app"
WAIT = "import sys; print('up', flush=True); sys.stdin.read()"


def stand_in(*words: str) -> subprocess.Popen[bytes]:
    """A process with these words in its command line that waits until it is ended."""
    child = subprocess.Popen(
        [sys.executable, "-c", WAIT, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdout is not None
    assert child.stdout.readline() == b"up\n"
    return child


@pytest.fixture
def server() -> Iterator[subprocess.Popen[bytes]]:
    with stand_in(MARKER) as child:
        yield child
        child.kill()


def dead_process() -> int:
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        child.wait()
    return child.pid


def note(folder: Path, owner: int, server: int) -> Path:
    path = folder / f"server-{owner}.pid"
    path.write_text(f"{server}\n")
    return path


HOLD = """
import sys
from filelock import FileLock
lock = FileLock(sys.argv[1])
lock.acquire()
print("up", flush=True)
sys.stdin.read()
"""


def test_the_server_of_a_run_that_goes_on_is_let_be(
    tmp_path: Path, server: subprocess.Popen[bytes]
) -> None:
    lock = tmp_path / "server-4711.lock"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, lock], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == b"up\n"
        kept = note(tmp_path, 4711, server.pid)
        end_orphans(tmp_path)
        assert server.poll() is None
        assert kept.exists()
        # And now the run is killed: the lock goes with it, by the kernel's hand.
        owner.kill()
        owner.wait()
    end_orphans(tmp_path)
    assert server.wait(timeout=30) == -signal.SIGTERM
    assert list(tmp_path.iterdir()) == []


def test_each_note_is_judged_for_itself(tmp_path: Path, server: subprocess.Popen[bytes]) -> None:
    old = note(tmp_path, dead_process(), server.pid)
    with stand_in(MARKER) as other, FileLock(tmp_path / "server-1.lock"):
        kept = note(tmp_path, 1, other.pid)
        end_orphans(tmp_path)
        assert server.wait(timeout=30) == -signal.SIGTERM
        assert other.poll() is None
        assert (old.exists(), kept.exists()) == (False, True)
        other.kill()


def test_a_number_that_another_program_has_now_is_not_touched(tmp_path: Path) -> None:
    with stand_in("something else") as other:
        left = note(tmp_path, dead_process(), other.pid)
        end_orphans(tmp_path)
        assert other.poll() is None
        assert not left.exists()
        other.kill()


@pytest.mark.parametrize("text", ["", "no number", "99999999999999999999"])
def test_a_note_that_says_nothing_is_removed(tmp_path: Path, text: str) -> None:
    left = tmp_path / f"server-{dead_process()}.pid"
    left.write_text(text)
    end_orphans(tmp_path)
    assert not left.exists()


def test_without_a_folder_there_is_nothing_to_end(tmp_path: Path) -> None:
    end_orphans(tmp_path / "none")
