"""Messages between the daemon and its reading process."""

import os
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from supervisor.runtime.reading.jobs import MESSAGE_BYTES, Events, FileProgress, ReadJob, receive, send

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        ours.setblocking(False)
        theirs.setblocking(False)
        yield ours, theirs


def test_a_job_comes_with_its_connection(pair: Pair) -> None:
    job = ReadJob(Events(1, 9, follow=True, agent="a1", since=0.5), "1.1")
    peer, connection = socket.socketpair()
    with peer, connection:
        send(pair[0], job, connection.fileno())
    received = receive(pair[1])
    assert received is not None
    assert received[0] == job
    assert received[1] is not None
    with received[1] as taken:
        assert taken.fileno() not in (-1, connection.fileno())
        assert not os.get_inheritable(taken.fileno())


def test_a_message_of_any_length_comes_whole_and_in_order(pair: Pair) -> None:
    before = open_files()
    for text in ("short", "x" * MESSAGE_BYTES, "x" * 10_000_000):
        send(pair[0], text)
    for length in (5, MESSAGE_BYTES, 10_000_000):
        received = receive(pair[1])
        assert received is not None
        assert len(received[0]) == length
    assert open_files() == before


def test_nobody_waits_for_the_other_end(pair: Pair) -> None:
    with pytest.raises(BlockingIOError):
        receive(pair[1])
    sent = taken = 0
    with suppress(BlockingIOError):
        for sent in range(1_000_000):  # noqa: B007 - how far it came is what is asked
            send(pair[0], FileProgress(1, 1))
    assert 10 < sent < 999_999
    pair[0].close()
    while receive(pair[1]) is not None:
        taken += 1
    assert taken == sent


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))
