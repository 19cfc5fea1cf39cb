"""Frames, cut anywhere, come out whole."""

import json

from hypothesis import given
from hypothesis import strategies as st

from supervisor.runtime import shim_wire

FRAMES = st.lists(st.tuples(st.integers(1, 7), st.binary(max_size=300)), max_size=8)


@given(frames=FRAMES, cuts=st.lists(st.integers(1, 50), min_size=1, max_size=40))
def test_frames_come_out_as_they_went_in_wherever_the_stream_is_cut(
    frames: list[tuple[int, bytes]], cuts: list[int]
) -> None:
    stream = b"".join(shim_wire.frame(kind, payload) for kind, payload in frames)
    found: list[tuple[int, bytes]] = []
    reader, at, turn = shim_wire.Frames(), 0, 0
    while at < len(stream):
        step = cuts[turn % len(cuts)]
        found += reader.feed(stream[at : at + step])
        at, turn = at + step, turn + 1
    assert found == frames


def test_a_fact_is_json() -> None:
    ((kind, payload),) = shim_wire.Frames().feed(shim_wire.fact(shim_wire.ENDED, micros=5, left=0))
    assert (kind, json.loads(payload)) == (shim_wire.ENDED, {"micros": 5, "left": 0})
