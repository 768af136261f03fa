"""Writing a file: the old one or the new one, never half, and a sentence when the disk is full."""

from __future__ import annotations

import errno
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.errors import InfrastructureError
from orchestrator.files import DiskFull, raise_if_full, write_atomically

ROOT = Path(__file__).resolve().parents[2]


def test_a_file_is_replaced_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "file.json"
    write_atomically(path, "Öl\n")
    assert path.read_bytes() == "Öl\n".encode()
    write_atomically(path, b"\x00new")
    assert path.read_bytes() == b"\x00new"
    assert [one.name for one in path.parent.iterdir()] == ["file.json"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
@pytest.mark.parametrize("at", ["fsync", "replace"])
def test_a_full_disk_leaves_what_was_there_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, at: str
) -> None:
    path = tmp_path / "file.json"
    path.write_text("old")

    def full(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, at, full)
    with pytest.raises(DiskFull) as caught:
        write_atomically(path, "new")
    assert str(caught.value) == (
        f"The disk is full: {path} could not be written, and what was there is unchanged."
        " Free some space and run the same command again; it goes on where it stopped."
    )
    assert isinstance(caught.value, InfrastructureError)
    assert [one.name for one in tmp_path.iterdir()] == ["file.json"]
    assert path.read_text() == "old"


LIMITED = """
import resource, signal, sys
from pathlib import Path
from orchestrator.files import write_atomically

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    write_atomically(Path(sys.argv[1]), "x" * 5000)
except OSError as error:
    print(error.errno)
"""


def test_a_write_that_really_stops_half_way_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_text("old")
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, path], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{errno.EFBIG}\n"
    assert [one.name for one in tmp_path.iterdir()] == ["file.json"]
    assert path.read_text() == "old"


def test_other_failures_stay_what_they_are(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FileExistsError):
        write_atomically(tmp_path / "file" / "below", "x")
    raise_if_full(OSError(errno.EACCES, "denied"), tmp_path)


def test_the_sentence_survives_the_trip_between_processes() -> None:
    with pytest.raises(DiskFull) as caught:
        raise_if_full(OSError(errno.ENOSPC, "full"), Path("x"))
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), str(again), again.mend) == (
        DiskFull,
        str(caught.value),
        caught.value.mend,
    )
