"""What a shim tells of its agent."""

import socket
from pathlib import Path

import pytest

from supervisor.runtime.processes.shim_client import ShimClient
from supervisor.runtime.processes.shim_events import Accepted, ExitRecord, Fault, Frozen, TreeKilled, exit_record
from supervisor.runtime.shim import wire


async def test_frames_of_an_older_or_a_newer_shim_are_understood_as_far_as_they_are_known(tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()
    shim = ShimClient(ours, tmp_path)
    frames = {
        wire.fact(wire.FROZEN, micros=7): Frozen(7),
        wire.fact(wire.FAULT, text="odd"): Fault("odd"),
        wire.fact(wire.FROZEN, micros=7, id="f1", why="since 2031"): Frozen(7, "f1"),
        wire.fact(wire.FAULT, kind="of 2031", text="odd", place="/"): Fault("odd", "of 2031"),
        wire.fact(wire.ACCEPTED, key="k1", at=1.0): Accepted("k1"),
        wire.fact(200, anything=1): None,
        wire.fact(wire.ENDED, micros=1, left=0, by="kill"): TreeKilled(1, 0),
    }
    with theirs:
        theirs.sendall(b"".join(frames))
    assert [event async for event in shim.events()] == [event for event in frames.values() if event is not None]


def test_of_a_record_what_a_newer_shim_says_beside_it_is_left_out() -> None:
    found = exit_record({"agent": "a1", "code": 3, "ended_with_it": ["7 sleep"], "of_2031": {}})
    assert found == ExitRecord("a1", code=3, ended_with_it=("7 sleep",))


@pytest.mark.parametrize(
    "facts", [None, [], {}, {"agent": 7}, {"agent": "a1", "code": "none"}, {"agent": "a1", "left": []}]
)
def test_facts_of_another_kind_are_no_record(facts: object) -> None:
    with pytest.raises(ValueError, match="ExitRecord"):
        exit_record(facts)
