"""Frames come apart the same however the wire has cut them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.sandbox.containers.frames import Frames
from orchestrator.sandbox.line import SAID_KEPT


def frame(stream: int, body: bytes) -> bytes:
    return bytes([stream, 0, 0, 0]) + len(body).to_bytes(4, "big") + body


def test_a_frame_of_each_stream() -> None:
    frames = Frames()
    wire = b"\x01\x00\x00\x00\x00\x00\x00\x05hello\x02\x00\x00\x00\x00\x00\x00\x03oh!"
    assert frames.feed(wire) == b"hello"
    assert frames.said == b"oh!"


def test_an_empty_frame_is_one() -> None:
    frames = Frames()
    assert frames.feed(frame(1, b"") + frame(1, b"x")) == b"x"


def test_a_body_that_looks_like_a_header_is_a_body() -> None:
    body = frame(2, b"not said")
    frames = Frames()
    assert frames.feed(frame(1, body)) == body
    assert frames.said == b""


def test_only_the_end_of_what_is_printed_is_kept() -> None:
    frames = Frames()
    for _ in range(10):
        frames.feed(frame(2, b"x" * 1_000))
    frames.feed(frame(2, b"the end"))
    assert len(frames.said) == SAID_KEPT
    assert frames.said.endswith(b"xthe end")


@given(
    st.lists(st.tuples(st.sampled_from([1, 2]), st.binary(max_size=300)), max_size=12),
    st.lists(st.integers(min_value=1, max_value=64), min_size=1, max_size=50),
)
def test_it_does_not_matter_how_the_wire_cuts(
    sent: list[tuple[int, bytes]], cuts: list[int]
) -> None:
    wire = b"".join(frame(stream, body) for stream, body in sent)
    frames, got, at, turn = Frames(), b"", 0, 0
    while at < len(wire):
        size = cuts[turn % len(cuts)]
        got += frames.feed(wire[at : at + size])
        at, turn = at + size, turn + 1
    assert got == b"".join(body for stream, body in sent if stream == 1)
    assert frames.said == b"".join(body for stream, body in sent if stream == 2)[-SAID_KEPT:]
