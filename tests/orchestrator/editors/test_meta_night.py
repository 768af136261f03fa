"""A night whose editor is a model behind the Messages API: real SDK, real games, real gate."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from envs.registry import select
from orchestrator.editors.meta.editor import MetaEditor
from orchestrator.editors.meta.transcript import read_transcript, transcript_path
from orchestrator.files import write_atomically
from orchestrator.models.errors import RequestRejected
from orchestrator.models.ledger import SpendLedger
from orchestrator.night_record import NightRecord, read_record, save_record
from orchestrator.workspace import Workspace, create_workspace
from tests.support.messages_server import MODEL, Answer, Failure, MessagesServer, call, serve
from tests.support.meta_night import night
from tests.support.minds import GOOD, HARMFUL, ILLEGAL, RecordedMind, ScriptedMind
from tests.support.nights import Runner, Stopped

CONFIG = """\
root_seed = 5
workers = 2
sandbox = "process"

[models.action]
provider = "heuristic"

[models.meta]
provider = "anthropic"
model = "{model}"
base_url = "{url}"
api_key_env = "SLOWWAVE_TEST_KEY"
price_input = 3
price_output = 15
price_cached = 0.3

[night]
candidates = {candidates}
smoke_steps = 12
editor = "meta"

[night.steps]
crafter = {steps}

[banks]
propose = 3
screen = 5
confirm = 7
report = 2

[gate]
screen_alpha = 0.15

[budget]
money_usd = {money}
"""
SECRET = "sk-test-0123456789abcdef"
PRICES = {
    "input_tokens": Decimal(3),
    "output_tokens": Decimal(15),
    "cache_read_input_tokens": Decimal("0.3"),
    "cache_creation_input_tokens": Decimal("3.75"),
}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[MessagesServer]:
    monkeypatch.setenv("SLOWWAVE_TEST_KEY", SECRET)
    with serve() as running:
        yield running


def workspace(
    root: Path, server: MessagesServer, *, candidates: int = 3, steps: int = 500, money: str = "5"
) -> Workspace:
    text = CONFIG.format(
        model=MODEL, url=server.url, candidates=candidates, steps=steps, money=money
    )
    write_atomically(root / "slowwave.toml", text)
    return create_workspace(root, root_seed=5)


def begin(place: Workspace) -> NightRecord:
    return NightRecord.begin(
        "crafter",
        select("crafter"),
        place.scaffolds.champion("crafter").commit,
        place.config,
        allow_unsandboxed=True,
    )


@pytest.mark.slow
def test_a_night_keeps_what_helps_rejects_what_harms_and_refuses_what_is_illegal(
    server: MessagesServer, tmp_path: Path
) -> None:
    mind = server.mind = ScriptedMind({1: GOOD, 2: HARMFUL, 3: ILLEGAL})
    place = workspace(tmp_path / "lab", server)
    record = night(place, begin(place))

    good, harmful = record.rounds
    assert (good.decision, good.subject) == ("accept", "Keep a list of what is done"), good.reason
    assert good.verdict is not None
    assert good.verdict.effect is not None
    assert good.verdict.effect > 3
    assert harmful.decision == "reject"
    assert record.stop_reason == "the editor has nothing left to try"
    champion = place.scaffolds.champion("crafter")
    assert champion.editor == f"anthropic:{MODEL}"
    assert "done_list.py" in place.scaffolds.read_files(champion)

    _assert_read(mind, champion.subject)
    _assert_refused(mind)
    _assert_paid(place, record, server)
    told = transcript_path(place.night_folder(record.id), 1).read_text()
    assert SECRET not in told
    assert all(SECRET not in json.dumps(body) for body in server.bodies)


def _assert_read(mind: ScriptedMind, subject: str) -> None:
    """What the tools returned when the good revision was written."""
    table = mind.seen[1, "episodes"][0]
    assert table.count("progression") == 3
    assert "e1 (crafter-v1)" in table
    assert mind.seen[1, "history"] == ["Nothing yet."]
    assert "achievement: progression" in mind.seen[1, "events"][0]
    steps = mind.seen[1, "steps"]
    assert "--- LOG was shown:" in steps[0]
    assert "--- PLAN answered:" in steps[0]
    assert "<|APPEND|>actions_log|" in steps[0]
    assert mind.seen[1, "find"][0].count("done collect") >= 5
    assert mind.seen[1, "memory"][0].startswith("--- actions_log\n")
    assert mind.seen[1, "memory"][0].count("\n") > 55  # a line for each step so far
    assert sum(line[:1] == "+" for line in mind.seen[1, "memory_diff"][0].splitlines()) == 3
    assert "hooks.py: " in mind.seen[1, "files"][0]
    assert mind.seen[1, "apply_patch"] == ["The patch is applied."]
    assert mind.seen[1, "try_it"] == [
        "It would not be refused. The short episode can be read as try1."
    ]
    assert steps[1].startswith("0: ")
    assert "crafter/v1" in mind.seen.get((2, "history"), ["crafter/v1"])[0]
    assert subject == "Keep a list of what is done"


def _assert_refused(mind: ScriptedMind) -> None:
    outside, spy = mind.seen[3, "write_file"][:2]
    assert "../outside.py" in outside
    assert "Still wrong: spy.py:1: imports socket" in spy
    assert "link" in mind.seen[3, "apply_patch"][0]
    assert mind.seen[3, "no_such_tool"][0].startswith("There is no tool 'no_such_tool'.")
    assert "first" in mind.seen[3, "steps"][0]
    assert "There is no episode 'e99'" in mind.seen[3, "steps"][1]
    looked, less, again = mind.seen[3, "submit"]
    # What was rejected may be looked at and gone on from, but not handed in as it was.
    assert "r1 (crafter-v1)" in mind.seen[3, "episodes"][0]
    assert mind.seen[3, "take_up"][0].startswith("Its files are in the draft.")
    assert "prompts/plan.j2: 52 bytes (changed)" in mind.seen[3, "files"][0]
    assert "the same, byte for byte" in again
    assert "imports socket" in looked
    assert "do not list" in less


def _assert_paid(place: Workspace, record: NightRecord, server: MessagesServer) -> None:
    ledger = SpendLedger(place.ledger)
    spent = ledger.by_role(record.id)["meta"]
    ledger.close()
    assert abs(spent.money_usd - server.billed(PRICES)) < Decimal("0.000001")
    assert spent.calls == len(server.usages)
    for entry in record.rounds:
        told = read_transcript(transcript_path(place.night_folder(record.id), entry.number))
        tokens = sum(sum(one["tokens"][:2]) for one in told if "tokens" in one)
        revision = place.scaffolds.revision(entry.name)
        assert revision.trailer("Editor-Tokens") == str(tokens)
        cost = Decimal((revision.trailer("Editor-Cost") or "").removesuffix(" USD"))
        assert 0 < cost < server.billed(PRICES)


def test_a_night_stops_at_its_budget(server: MessagesServer, tmp_path: Path) -> None:
    server.mind = ScriptedMind({1: [[call("episodes")]] * 50})
    place = workspace(tmp_path / "lab", server, steps=30, money="0.2")
    record = night(place, begin(place))
    assert "money budget is spent" in record.stop_reason
    ledger = SpendLedger(place.ledger)
    assert 0 < ledger.totals(record.id).money_usd <= Decimal("0.2")
    ledger.close()
    messages = read_transcript(transcript_path(place.night_folder(record.id), 1))
    assert messages[0]["role"] == "user"


def test_a_conversation_that_was_killed_is_taken_up_and_paid_for_once(
    server: MessagesServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed in `try_it`, after four answers; the night goes on and asks only for the rest.

    Killed again when the candidate is committed and what was kept for it is still there.
    """
    reading = [[call("episodes")], [call("files")], *GOOD[4:6], *GOOD[7:]]
    server.mind = ScriptedMind({1: reading})
    place = workspace(tmp_path / "lab", server, steps=40, candidates=1)
    record = begin(place)
    with pytest.raises(Stopped):
        night(place, record, Runner(stop_after=3))  # the propose bank, and not the trial
    asked = len(server.bodies)
    assert asked == 4
    kept = place.artifacts / "journal" / f"{record.id}-editor-1.jsonl"
    assert kept.exists()

    def killed(*_: object) -> None:
        raise Stopped

    with monkeypatch.context() as patch:
        patch.setattr(MetaEditor, "settle", killed)
        with pytest.raises(Stopped):
            night(place, read_record(place.night_folder(record.id)))
    assert kept.exists()
    record = night(place, read_record(place.night_folder(record.id)))
    assert len(server.bodies) == asked + 1  # the submission
    assert [one.subject for one in record.rounds] == ["Keep a list of what is done"]
    assert not kept.exists()
    _assert_paid(place, record, server)


class KillingMind(ScriptedMind):
    """Kills the process that asks, at its third question, and answers nobody."""

    victim: subprocess.Popen[bytes] | None = None

    def __call__(self, body: dict[str, Any]) -> Answer | Failure:
        answer = super().__call__(body)
        if self.victim is not None and len(body["messages"]) == 5:
            os.kill(self.victim.pid, signal.SIGKILL)
            self.victim.wait()
            self.victim = None
        return answer


def test_a_call_under_way_at_a_kill_is_settled_at_its_reservation(
    server: MessagesServer, tmp_path: Path
) -> None:
    reading = [[call("episodes")], [call("files")], *GOOD[4:6], *GOOD[7:]]
    mind = server.mind = KillingMind({1: reading})
    place = workspace(tmp_path / "lab", server, steps=40, candidates=1)
    record = begin(place)
    save_record(place.night_folder(record.id), record)
    mind.victim = process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.meta_night", str(place.root), record.id],
        cwd=Path(__file__).parents[3],
    )
    assert process.wait(timeout=600) == -signal.SIGKILL
    assert len(server.usages) == 3
    lost = server.usages[2]

    record = night(place, read_record(place.night_folder(record.id)))
    assert [one.subject for one in record.rounds] == ["Keep a list of what is done"]
    # The two answers that arrived were kept; the third was asked for, and billed, once more.
    assert len(server.usages) == len(reading) + 1
    ledger = SpendLedger(place.ledger)
    spent = ledger.totals(record.id)
    ledger.close()
    assert (spent.open_calls, spent.presumed_calls) == (0, 1)
    server.usages.remove(lost)
    arrived = server.billed(PRICES)
    assert abs(spent.money_usd - spent.presumed_money_usd - arrived) < Decimal("0.000001")
    server.usages[:] = [lost]
    assert spent.presumed_money_usd >= server.billed(PRICES), "a reservation covers the bill"


def test_a_recorded_conversation_replays_by_content(server: MessagesServer, tmp_path: Path) -> None:
    server.mind = ScriptedMind({1: [[call("episodes")], [call("files")], *GOOD[4:6], *GOOD[7:]]})
    first = workspace(tmp_path / "first", server, steps=40, candidates=1)
    record = begin(first)
    night(first, record)
    told = read_transcript(transcript_path(first.night_folder(record.id), 1))
    asked = len(server.bodies)

    server.mind = RecordedMind([told])
    second = workspace(tmp_path / "second", server, steps=40, candidates=1)
    again = night(second, begin(second))
    assert [one.subject for one in again.rounds] == ["Keep a list of what is done"]
    assert len(server.bodies) == 2 * asked
    names = [f"{one.id}/1" for one in (record, again)]
    trees = [
        place.scaffolds.revision(name).tree
        for place, name in zip((first, second), names, strict=True)
    ]
    assert trees[0] == trees[1]
    # Another game is another conversation: nobody has an answer to it.
    third = workspace(tmp_path / "third", server, steps=41, candidates=1)
    with pytest.raises(RequestRejected, match="nobody has said this before"):
        night(third, begin(third))
