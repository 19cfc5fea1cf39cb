"""Connecting to a Unix socket whose queue is full."""

import socket
import threading
from pathlib import Path

import pytest

from host import unix_sockets
from tests.support import full_queue


def test_who_connects_to_a_full_queue_is_taken_once_there_is_room(tmp_path: Path) -> None:
    with full_queue(tmp_path / "s") as listening, socket.socket(socket.AF_UNIX) as one:
        tried = threading.Thread(target=unix_sockets.connect, args=(one, str(tmp_path / "s"), 30.0))
        tried.start()
        while tried.is_alive():
            listening.accept()[0].close()
            tried.join(0.01)
        assert one.getpeername() == str(tmp_path / "s")


def test_a_queue_that_stays_full_is_not_waited_for_without_end(tmp_path: Path) -> None:
    with (
        full_queue(tmp_path / "s"),
        socket.socket(socket.AF_UNIX) as one,
        pytest.raises(TimeoutError, match="was full"),
    ):
        unix_sockets.connect(one, str(tmp_path / "s"), 0.05)


def test_where_nobody_listens_that_is_told_at_once(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one, pytest.raises(FileNotFoundError):
        unix_sockets.connect(one, str(tmp_path / "s"), 30.0)
