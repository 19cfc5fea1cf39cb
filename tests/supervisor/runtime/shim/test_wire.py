"""Frames, cut anywhere, come out whole."""

import json

from hypothesis import given
from hypothesis import strategies as st

from supervisor.runtime.shim import wire

FRAMES = st.lists(st.tuples(st.integers(1, 7), st.binary(max_size=300)), max_size=8)


@given(frames=FRAMES, cuts=st.lists(st.integers(1, 50), min_size=1, max_size=40))
def test_frames_come_out_as_they_went_in_wherever_the_stream_is_cut(
    frames: list[tuple[int, bytes]], cuts: list[int]
) -> None:
    stream = b"".join(wire.frame(kind, payload) for kind, payload in frames)
    found: list[tuple[int, bytes]] = []
    reader, at, turn = wire.Frames(), 0, 0
    while at < len(stream):
        step = cuts[turn % len(cuts)]
        found += reader.feed(stream[at : at + step])
        at, turn = at + step, turn + 1
    assert found == frames


def test_a_fact_is_json() -> None:
    ((kind, payload),) = wire.Frames().feed(wire.fact(wire.ENDED, micros=5, left=0))
    assert (kind, json.loads(payload)) == (wire.ENDED, {"micros": 5, "left": 0})
