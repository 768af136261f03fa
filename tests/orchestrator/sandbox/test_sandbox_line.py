"""Lines over a wire that a test scripts: deadlines, limits, and who is to blame for silence."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import SimpleNamespace

import pytest

from agents.messages import MAX_LINE, Act, Observe, Up, decode_from_host, encode
from orchestrator.sandbox import line
from orchestrator.sandbox.base import SandboxFailure, ScaffoldFailure
from orchestrator.sandbox.line import Hangup, LineSession, last_words

ACT = Act("right")
OBSERVE = Observe(0, "You are in room 0.", None, "")


class Clock:
    """A clock that only a wire moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class ScriptedWire:
    """A wire that does what a script says, each act after its seconds.

    Args:
        clock: What passes while it works.
        takes: What `take` gives, with the seconds it needs: bytes, or an error to raise.
        puts: How many bytes each `put` takes, with the seconds it needs; then all of them at once.
        reason: What `why` gives.
        excuse: What `excuse` gives.
    """

    def __init__(
        self,
        clock: Clock,
        takes: Iterable[tuple[float, bytes | BaseException]] = (),
        puts: Iterable[tuple[float, int | Exception]] = (),
        reason: Exception | None = None,
        excuse: Exception | None = None,
    ) -> None:
        self._clock, self._takes, self._puts = clock, iter(takes), iter(puts)
        self._reason = reason or ScaffoldFailure("exit", "It ended.")
        self._excuse = excuse
        self.asked: list[float] = []
        self.written = b""
        self.kills = self.closes = 0

    def put(self, data: memoryview, seconds: float) -> int:
        self.asked.append(seconds)
        passed, what = next(self._puts, (0.0, len(data)))
        self._clock.now += passed
        if isinstance(what, Exception):
            raise what
        self.written += data[:what]
        return min(what, len(data))

    def take(self, seconds: float) -> bytes:
        self.asked.append(seconds)
        passed, what = next(self._takes)
        self._clock.now += passed
        if isinstance(what, BaseException):
            raise what
        return what

    def excuse(self) -> Exception | None:
        assert self.kills == 0, "what is killed tells nothing any more"
        return self._excuse

    def why(self) -> Exception:
        return self._reason

    def kill(self) -> None:
        self.kills += 1

    def close(self) -> None:
        self.closes += 1


Script = Callable[..., tuple[LineSession, ScriptedWire]]


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Script:
    """Makes a session over a scripted wire, under the wire's clock."""
    clock = Clock()
    monkeypatch.setattr(line, "time", SimpleNamespace(monotonic=clock))

    def make(**acts: object) -> tuple[LineSession, ScriptedWire]:
        wire = ScriptedWire(clock, **acts)  # type: ignore[arg-type]
        return LineSession(wire), wire

    return make


# --- receiving --------------------------------------------------------------------------------


def test_a_message_may_come_in_pieces(script: Script) -> None:
    pieces = [(0.25, bytes([byte])) for byte in encode(ACT)]
    session, wire = script(takes=pieces)
    assert session.receive(60) == ACT
    assert wire.asked == [60 - 0.25 * n for n in range(len(pieces))]
    assert wire.kills == 0


def test_two_messages_in_one_piece_are_two(script: Script) -> None:
    session, wire = script(takes=[(0.0, encode(ACT) + encode(Act("wait")) + b'{"type"')])
    assert [session.receive(1), session.receive(0)] == [ACT, Act("wait")]
    assert wire.asked == [1]


def test_many_small_pieces_do_not_move_the_deadline(script: Script) -> None:
    session, wire = script(takes=[(0.25, b"x")] * 1000)
    with pytest.raises(ScaffoldFailure, match=r"did not answer within 1 s") as failure:
        session.receive(1.0)
    assert failure.value.kind == "timeout"
    assert wire.asked == [1.0, 0.75, 0.5, 0.25]
    assert wire.kills == 1


def test_silence_ends_at_the_deadline(script: Script) -> None:
    """What the code inside prints is no answer: the wire gives nothing for it, again and again."""
    session, wire = script(takes=[(0.5, b"")] * 1000)
    with pytest.raises(ScaffoldFailure, match="did not answer"):
        session.receive(2.0)
    assert len(wire.asked) == 4


def test_the_deadline_is_each_messages_own(script: Script) -> None:
    half = len(encode(ACT)) // 2
    parts = [encode(ACT)[:half], encode(ACT)[half:]]
    session, _ = script(takes=[(0.375, part) for part in parts * 3])
    assert [session.receive(1.0) for _ in range(3)] == [ACT] * 3


def test_a_giant_line_is_refused_before_it_is_whole(script: Script) -> None:
    piece = 1 << 20
    session, wire = script(takes=[(0.0, b"x" * piece)] * 1000)
    with pytest.raises(ScaffoldFailure, match=f"a line of over {MAX_LINE} bytes") as failure:
        session.receive(10)
    assert failure.value.kind == "protocol"
    assert len(wire.asked) == MAX_LINE // piece + 1
    assert wire.kills == 1


def test_what_is_no_message_ends_the_sandbox(script: Script) -> None:
    session, wire = script(takes=[(0.0, b"garbage\n")])
    with pytest.raises(ScaffoldFailure, match="broke the protocol: not one line of") as failure:
        session.receive(10)
    assert (failure.value.kind, wire.kills) == ("protocol", 1)


# --- sending ----------------------------------------------------------------------------------


def test_what_is_taken_in_parts_arrives_whole(script: Script) -> None:
    session, wire = script(puts=[(0.0, 7), (0.1, 0), (0.0, 1), (0.1, 0), (0.0, 5)])
    session.send(OBSERVE)
    assert wire.written == encode(OBSERVE)
    assert decode_from_host(wire.written) == OBSERVE


@pytest.mark.parametrize(("seconds", "limit"), [(0.5, 0.5), (60.0, line.SEND_SECONDS)])
def test_who_stops_reading_is_ended(script: Script, seconds: float, limit: float) -> None:
    session, wire = script(puts=[(0.0, 3)] + [(0.125, 0)] * 1000)
    with pytest.raises(ScaffoldFailure, match="stopped reading") as failure:
        session.send(OBSERVE, seconds)
    assert failure.value.kind == "timeout"
    assert wire.kills == 1
    # One that takes some, and then as many that take none as first pass the limit.
    assert len(wire.asked) == 1 + limit / 0.125 + 1


def test_without_any_time_left_a_message_is_handed_in_if_it_fits(script: Script) -> None:
    session, wire = script()
    session.send(OBSERVE, 0.0)
    assert wire.written == encode(OBSERVE)


# --- who is to blame --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "reason", [ScaffoldFailure("memory", "Too much of it."), SandboxFailure("Killed from outside.")]
)
def test_after_a_hangup_the_wire_says_why(script: Script, reason: Exception) -> None:
    session, _ = script(takes=[(0.0, b"half a line"), (0.0, Hangup())], reason=reason)
    with pytest.raises(type(reason)) as failure:
        session.receive(10)
    assert failure.value is reason
    session, _ = script(puts=[(0.0, 3), (0.0, Hangup())], reason=reason)
    with pytest.raises(type(reason)) as failure:
        session.send(OBSERVE)
    assert failure.value is reason


def test_a_failure_of_the_wire_is_not_the_scaffolds(script: Script) -> None:
    broken = SandboxFailure("The cable is cut.")
    session, _ = script(takes=[(0.0, broken)], puts=[(0.0, broken)])
    with pytest.raises(SandboxFailure, match="The cable is cut"):
        session.receive(10)
    with pytest.raises(SandboxFailure, match="The cable is cut"):
        session.send(OBSERVE)


def test_who_is_late_with_an_excuse_is_not_blamed(script: Script) -> None:
    """Nothing comes through a wire whose machinery is away, whatever the code inside does."""
    excuse = SandboxFailure("The machine room is dark.")
    session, wire = script(takes=[(1.0, b"")] * 10, excuse=excuse)
    with pytest.raises(SandboxFailure) as failure:
        session.receive(3)
    assert (failure.value, wire.kills) == (excuse, 1)
    session, wire = script(puts=[(1.0, 0)] * 10, excuse=excuse)
    with pytest.raises(SandboxFailure) as failure:
        session.send(OBSERVE, 3)
    assert (failure.value, wire.kills) == (excuse, 1)


def test_no_excuse_helps_who_breaks_the_protocol(script: Script) -> None:
    session, _ = script(takes=[(0.0, b"garbage\n")], excuse=SandboxFailure("It is dark."))
    with pytest.raises(ScaffoldFailure, match="broke the protocol"):
        session.receive(3)


def test_the_agent_code_speaks_first(script: Script) -> None:
    session, wire = script(takes=[(0.0, encode(Up()))])
    session.wait_until_up(10)
    assert (wire.kills, wire.closes) == (0, 0)
    session.close()
    assert wire.closes == 1


def test_agent_code_that_does_not_come_up_is_the_sandboxes_failure(script: Script) -> None:
    session, wire = script(takes=[(1.0, b"")] * 100)
    with pytest.raises(SandboxFailure, match=r"did not come up: .*within 3 s"):
        session.wait_until_up(3)
    assert wire.closes == 1
    session, wire = script(takes=[(0.0, Hangup())])
    with pytest.raises(SandboxFailure, match=r"did not come up: It ended\."):
        session.wait_until_up(3)
    assert wire.closes == 1


@pytest.mark.parametrize("error", [SandboxFailure("The cable is cut."), KeyboardInterrupt()])
def test_nothing_is_left_when_coming_up_fails_otherwise(
    script: Script, error: BaseException
) -> None:
    session, wire = script(takes=[(0.0, error)])
    with pytest.raises(type(error)) as failure:
        session.wait_until_up(3)
    assert failure.value is error
    assert wire.closes == 1


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        (b"", ""),
        (b" \n\t ", ""),
        (b"Oh no.\n", " It last said: Oh no."),
        (b"\xff!", " It last said: \N{REPLACEMENT CHARACTER}!"),
        (b"a" * 5000 + b"the end", " It last said: " + "a" * 1993 + "the end"),
    ],
)
def test_last_words_are_short(said: bytes, sentence: str) -> None:
    assert last_words(said) == sentence
