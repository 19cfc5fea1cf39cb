"""Who is at the other end of a socket, and whether that process still lives."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from supervisor.runtime.shim import credentials
from supervisor.runtime.shim.credentials import Handle, lineage_of, peer_of
from supervisor.runtime.socket.listening import listen


@pytest.fixture
def listening(tmp_path: Path) -> Iterator[socket.socket]:
    with listen(tmp_path / "socket") as found:
        yield found


def left_behind(listening: socket.socket) -> tuple[socket.socket, socket.socket, int]:
    """A connection of a child that has ended: the daemon's end, the one that we share with the child, and its pid."""
    theirs = socket.socket(socket.AF_UNIX)
    child = os.fork()
    if not child:
        theirs.connect(listening.getsockname())
        os._exit(0)
    os.waitpid(child, 0)
    return listening.accept()[0], theirs, child


def test_the_kernel_says_who_connected(listening: socket.socket) -> None:
    with socket.socket(socket.AF_UNIX) as theirs:
        theirs.connect(listening.getsockname())
        ours, _ = listening.accept()
        with ours:
            assert peer_of(ours) == (os.getpid(), os.geteuid())
            assert peer_of(theirs) == (os.getpid(), os.geteuid()), "and who listens"
            assert (lineage_of(ours) or [])[:2] == [os.getpid(), os.getppid()]


@pytest.mark.parametrize("option", [credentials.SO_PEERPIDFD, 9_999])
def test_of_a_process_that_has_ended_nothing_is_said(
    listening: socket.socket, option: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the handle of the connection, and as older kernels have it, with one made from the number."""
    monkeypatch.setattr(credentials, "SO_PEERPIDFD", option)
    ours, theirs, child = left_behind(listening)
    with ours, theirs:
        assert peer_of(ours).pid == child
        assert lineage_of(ours) is None


@pytest.mark.parametrize("option", [credentials.SO_PEERPIDFD, 9_999])
def test_a_handle_tells_a_process_that_lives(
    listening: socket.socket, option: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(credentials, "SO_PEERPIDFD", option)
    with socket.socket(socket.AF_UNIX) as theirs:
        theirs.connect(listening.getsockname())
        ours, _ = listening.accept()
        with ours, Handle(ours) as handle:
            assert not handle.has_ended()
