"""The relay's connections to the daemon, against a socket that answers as it is told."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from supervisor.runtime.attached import connections
from supervisor.runtime.attached.connections import DaemonConnection, DaemonConnections
from supervisor.runtime.attached.http_messages import HttpError


@pytest.fixture
def listening(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as found:
        found.bind(str(tmp_path / "s"))
        found.listen(64)
        yield found


def answered(listening: socket.socket, path: str, answer: bytes) -> tuple[int, bytes, bool]:
    connection = DaemonConnection(path)
    other = listening.accept()[0]
    with other:
        connection.ask(b"{}", {"chaperon-request": "r1"})
        assert other.recv(1_000).endswith(b"chaperon-request: r1\r\ncontent-length: 2\r\n\r\n{}")
        other.sendall(answer)
    try:
        return connection.answer()
    finally:
        connection.close()


def test_an_answer_has_its_status_its_body_and_whether_the_connection_stays(listening: socket.socket) -> None:
    path = listening.getsockname()
    assert answered(listening, path, b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}") == (200, b"{}", True)
    last = b"HTTP/1.1 409 Conflict\r\nconnection: close\r\ncontent-length: 3\r\n\r\nno."
    assert answered(listening, path, last) == (409, b"no.", False)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (b"", EOFError),
        (b"HTTP/1.1 200", EOFError),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\n{}", EOFError),
        (b"HTTP/1.1 200 OK\r\na: b\r\n\r\n{}", HttpError),
        (b"HTTP/1.1 OK 200\r\ncontent-length: 2\r\n\r\n{}", HttpError),
        (b"SSH-2.0-x\r\n\r\n", HttpError),
    ],
)
def test_an_answer_that_is_cut_or_none_is_told_of(listening: socket.socket, answer: bytes, error: type) -> None:
    with pytest.raises(error):
        answered(listening, listening.getsockname(), answer)


def test_one_that_a_hook_left_is_used_again_unless_the_daemon_closed_it_or_is_elsewhere(
    listening: socket.socket,
) -> None:
    path, kept = listening.getsockname(), DaemonConnections()
    first = kept.take(path)
    other = listening.accept()[0]
    kept.keep(first)
    assert kept.take(path) is first
    kept.keep(first)
    other.close()
    second = kept.take(path)
    assert second is not first
    assert first.sock.fileno() == -1
    with listening.accept()[0]:
        kept.keep(second)
        with pytest.raises(FileNotFoundError):
            kept.take(path + "-moved")
        assert second.sock.fileno() == -1


def test_no_more_are_kept_than_the_limit(listening: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MOST_IDLE", 2)
    path, kept = listening.getsockname(), DaemonConnections()
    made = [DaemonConnection(path) for _ in range(3)]
    for one in made:
        kept.keep(one)
    assert [one.sock.fileno() == -1 for one in made] == [True, False, False]
    for one in made:
        one.close()
