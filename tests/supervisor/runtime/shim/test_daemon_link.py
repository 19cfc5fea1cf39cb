"""What a daemon is sent, and in which order."""

import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from supervisor.runtime.shim import wire
from supervisor.runtime.shim.daemon_link import DaemonLink
from supervisor.runtime.shim.pipes import ErrorLog, OutputLog


@pytest.fixture
def log(tmp_path: Path) -> Iterator[OutputLog]:
    """Output of 100,000 bytes."""
    reading, writing = os.pipe()
    made = OutputLog(reading, str(tmp_path / "out.log"))
    for _ in range(10):
        os.write(writing, b"0123456789" * 1000)
        made.pump()
    os.close(writing)
    yield made
    os.close(reading)


@pytest.fixture
def errors(tmp_path: Path) -> Iterator[ErrorLog]:
    """Error output of three bytes."""
    reading, writing = os.pipe()
    made = ErrorLog(reading, str(tmp_path / "err.log"))
    os.write(writing, b"oh\n")
    made.pump()
    os.close(writing)
    yield made
    os.close(reading)


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    with ours, theirs:
        yield ours, theirs


def received(connection: socket.socket) -> list[tuple[int, bytes]]:
    data = b""
    try:
        while part := connection.recv(1 << 20):
            data += part
    except BlockingIOError:
        pass
    return list(wire.Frames().feed(data))


def test_facts_go_ahead_of_output_and_the_end_behind_all_of_it(
    log: OutputLog, errors: ErrorLog, ends: tuple[socket.socket, socket.socket]
) -> None:
    daemon = DaemonLink(ends[0], log, errors)
    daemon.offset = 20_000
    daemon.last_words = wire.fact(wire.EXITED)
    daemon.tell(wire.FROZEN, micros=1)
    while daemon.sendable:
        daemon.flush()
    frames = received(ends[1])
    assert [kind for kind, _ in frames] == [wire.FROZEN, wire.OUTPUT, wire.OUTPUT, wire.EXITED]
    assert wire.OFFSET.unpack_from(frames[1][1])[0] == 20_000
    assert sum(len(payload) - 8 for kind, payload in frames if kind == wire.OUTPUT) == 80_000
    assert not daemon.owed


def test_who_has_not_attached_gets_facts_and_is_owed_the_end(
    log: OutputLog, errors: ErrorLog, ends: tuple[socket.socket, socket.socket]
) -> None:
    daemon = DaemonLink(ends[0], log, errors)
    daemon.last_words = wire.fact(wire.EXITED)
    daemon.tell(wire.HELLO)
    daemon.flush()
    assert [kind for kind, _ in received(ends[1])] == [wire.HELLO]
    assert (daemon.sendable, daemon.owed) == (False, True)


def test_commands_come_whole_however_they_arrive(
    log: OutputLog, errors: ErrorLog, ends: tuple[socket.socket, socket.socket]
) -> None:
    daemon = DaemonLink(ends[0], log, errors)
    text = b"".join(json.dumps({"op": "thaw", "n": n}).encode() + b"\n" for n in range(3))
    found: list[bytes] = []
    for cut in range(len(text)):
        ends[1].send(text[cut : cut + 1])
        found += daemon.commands() or []
    assert [json.loads(line)["n"] for line in found] == [0, 1, 2]
    assert daemon.commands() == []
    ends[1].close()
    assert daemon.commands() is None


def test_a_daemon_that_takes_nothing_blocks_nobody(
    log: OutputLog, errors: ErrorLog, ends: tuple[socket.socket, socket.socket]
) -> None:
    daemon = DaemonLink(ends[0], log, errors)
    for _ in range(1000):
        daemon.tell(wire.FAULT, text="x" * 1000)
    for _ in range(100):
        daemon.flush()
    assert daemon.owed


def test_error_output_goes_to_who_asked_for_it_and_before_the_end(
    log: OutputLog, errors: ErrorLog, ends: tuple[socket.socket, socket.socket]
) -> None:
    daemon = DaemonLink(ends[0], log, errors)
    daemon.offset, daemon.errors_offset = log.size, 1
    daemon.last_words = wire.fact(wire.EXITED)
    while daemon.sendable:
        daemon.flush()
    assert received(ends[1]) == [
        (wire.ERRORS, wire.OFFSET.pack(1) + b"h\n"),
        (wire.EXITED, b"{}"),
    ]
    assert not daemon.owed


def test_a_daemon_that_does_not_know_of_error_output_is_sent_none(
    log: OutputLog, errors: ErrorLog, ends: tuple[socket.socket, socket.socket]
) -> None:
    daemon = DaemonLink(ends[0], log, errors)
    daemon.offset = log.size
    assert not daemon.sendable


def test_error_output_that_somebody_emptied_holds_nothing_up(
    log: OutputLog, errors: ErrorLog, ends: tuple[socket.socket, socket.socket], tmp_path: Path
) -> None:
    daemon = DaemonLink(ends[0], log, errors)
    daemon.offset, daemon.errors_offset = log.size, 0
    os.truncate(tmp_path / "err.log", 0)
    daemon.last_words = wire.fact(wire.EXITED)
    while daemon.sendable:
        daemon.flush()
    assert received(ends[1]) == [(wire.EXITED, b"{}")]
