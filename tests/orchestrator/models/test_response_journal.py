from __future__ import annotations

import logging
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestrator.models.base import Completion, Message, Usage
from orchestrator.models.errors import StoreFailure
from orchestrator.models.journal import Entry, ResponseJournal, request_hash

ROOT = Path(__file__).parents[3]


def entry(ordinal: int, request: str = "r", text: str = "answer") -> Entry:
    return Entry(
        ordinal=ordinal,
        request=f"{request}{ordinal}",
        reservation=f"k{ordinal}",
        money_usd=Decimal("0.000000012"),
        seconds=0.5,
        completion=Completion(text, Usage(10, 2, 4, estimated=True), "stop", "m"),
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "answers" / "e.jsonl"


def filled(path: Path, count: int = 3) -> None:
    journal = ResponseJournal(path, "e")
    for ordinal in range(count):
        journal.append(entry(ordinal))
    journal.close()


def test_an_interrupted_episode_gets_its_answers_back(path: Path) -> None:
    filled(path)
    journal = ResponseJournal(path, "e")
    assert [journal.replay(number, f"r{number}") for number in range(4)] == [
        entry(0),
        entry(1),
        entry(2),
        None,
    ]
    assert journal.diverged_at is None
    assert tuple(journal.entries()) == (entry(0), entry(1), entry(2))


def test_nothing_is_written_before_the_first_answer(path: Path) -> None:
    journal = ResponseJournal(path, "e")
    assert journal.replay(0, "r0") is None
    journal.delete()
    assert not path.parent.exists()


def test_the_end_of_an_episode_deletes_it(path: Path) -> None:
    filled(path)
    journal = ResponseJournal(path, "e")
    journal.delete()
    assert not path.exists()
    assert len(journal) == 0
    journal.delete()


def test_numbers_may_have_gaps(path: Path) -> None:
    journal = ResponseJournal(path, "e")
    journal.append(entry(1))
    journal.append(entry(5))
    journal.close()
    again = ResponseJournal(path, "e")
    assert again.replay(1, "r1") == entry(1)
    assert again.replay(5, "r5") == entry(5)


@pytest.mark.parametrize("at", [0, 1, 2])
def test_another_request_discards_the_rest_and_says_so(
    path: Path, at: int, caplog: pytest.LogCaptureFixture
) -> None:
    filled(path)
    journal = ResponseJournal(path, "e")
    with caplog.at_level(logging.WARNING):
        assert journal.replay(at, "another") is None
    assert journal.diverged_at == at
    assert f"another course at call {at}" in caplog.text
    journal.append(entry(at, "another"))
    journal.close()
    again = ResponseJournal(path, "e")
    assert tuple(again.entries()) == (
        *(entry(number) for number in range(at)),
        entry(at, "another"),
    )


def test_a_call_that_was_not_made_then_is_another_course(path: Path) -> None:
    first = ResponseJournal(path, "e")
    first.append(entry(3))
    first.close()
    journal = ResponseJournal(path, "e")
    assert journal.replay(2, "r2") is None
    assert journal.diverged_at == 2
    assert len(journal) == 0
    journal.close()


def test_another_episodes_file_is_discarded(path: Path) -> None:
    filled(path)
    journal = ResponseJournal(path, "f")
    assert len(journal) == 0
    journal.append(entry(0))
    journal.close()
    assert len(ResponseJournal(path, "e")) == 0
    assert len(ResponseJournal(path, "f")) == 1


@given(cut=st.integers(0, 2000), junk=st.binary(max_size=40), text=st.text(max_size=20))
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_whatever_the_tail_became_the_whole_lines_before_it_count(
    tmp_path: Path, cut: int, junk: bytes, text: str
) -> None:
    path = tmp_path / "e.jsonl"
    path.unlink(missing_ok=True)
    filled(path)
    whole = path.read_bytes()
    kept = whole[:cut]
    path.write_bytes(kept + junk)
    journal = ResponseJournal(path, "e")
    lines = kept.count(b"\n")
    assert len(journal) >= lines  # junk may by chance complete a line
    assert tuple(journal.entries())[:lines] == tuple(entry(number) for number in range(lines))
    next_one = entry(len(journal), text=text)
    journal.append(next_one)
    journal.close()
    assert tuple(ResponseJournal(path, "e").entries())[-1] == next_one


@pytest.mark.parametrize(
    "line",
    [
        b"null\n",
        b"[]\n",
        b'{"version": 1}\n',
        b'{"version":1,"episode":"e","ordinal":"3","request":"r","reservation":"","money_usd":"0",'
        b'"seconds":1,"completion":{"text":"t","model":"m","finish_reason":"stop",'
        b'"usage":{"input_tokens":1,"output_tokens":1}}}\n',
        b'{"version":1,"episode":"e","ordinal":3,"request":"r","reservation":"","money_usd":"x",'
        b'"seconds":1,"completion":{"text":"t","model":"m","finish_reason":"stop",'
        b'"usage":{"input_tokens":1,"output_tokens":1}}}\n',
    ],
)
def test_a_foreign_line_ends_the_journal(path: Path, line: bytes) -> None:
    filled(path)
    with open(path, "ab") as file:
        file.write(line)
    assert len(ResponseJournal(path, "e")) == 3


def test_the_hash_tells_requests_apart() -> None:
    one: list[Message] = [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]
    other: list[Message] = [{"role": "user", "content": 'a","user","b'}]
    hashes = {
        request_hash("action", "f", one),
        request_hash("memory", "f", one),
        request_hash("action", "g", one),
        request_hash("action", "f", other),
        request_hash("action", "f", [{"role": "system", "content": "a"}, one[1]]),
        request_hash("action", "f", [{"role": "user", "content": "\ud800"}]),
    }
    assert len(hashes) == 6
    assert request_hash("action", "f", list(one)) in hashes


FULL = """
import resource, signal, sys
from decimal import Decimal
from pathlib import Path
from orchestrator.models.base import Completion, Usage
from orchestrator.models.errors import StoreFailure
from orchestrator.models.journal import Entry, ResponseJournal
def entry(number):
    return Entry(number, "r", "", Decimal(0), 0.0, Completion("a" * 500, Usage(), "stop", "m"))
journal = ResponseJournal(Path(sys.argv[1]), "e")
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, resource.RLIM_INFINITY))
for number in range(10):
    try:
        journal.append(entry(number))
    except StoreFailure as error:
        print(number, error)
        break
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
journal.append(entry(number))
journal.close()
print(len(ResponseJournal(Path(sys.argv[1]), "e")))
"""


def test_a_full_disk_gets_a_sentence_and_half_a_line_is_taken_back(path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(path)], cwd=ROOT, check=True, capture_output=True
    )
    failure, count = done.stdout.decode().strip().splitlines()
    assert str(path) in failure
    assert int(count) == int(failure.split()[0]) + 1


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreFailure, match=r"e\.jsonl"):
        ResponseJournal(tmp_path / "file" / "e.jsonl", "e").append(entry(0))
