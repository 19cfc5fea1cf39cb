"""Files that others may have put there."""

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from host.plain_files import NotPlainError, TooLargeError, open_plain, read_path, read_plain, read_up_to


def pipe(path: Path) -> None:
    os.mkfifo(path)


def folder(path: Path) -> None:
    path.mkdir()


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize("stands", [pipe, folder, device])
def test_what_is_no_plain_file_is_refused_at_once_and_nothing_stays_open(
    tmp_path: Path, stands: Callable[[Path], None]
) -> None:
    stands(tmp_path / "it")
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(NotPlainError, match="no plain file"):
        read_plain(tmp_path / "it", 100)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_socket_is_no_plain_file(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "it"))
        with pytest.raises(NotPlainError, match="no plain file"):
            read_plain(tmp_path / "it", 100)


def test_a_pipe_is_not_opened_so_that_who_waits_for_its_reader_goes_on_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[object] = []
    real = os.open

    def noted(path: Any, flags: int, **more: Any) -> int:
        if not flags & os.O_PATH:
            opened.append(path)
        return real(path, flags, **more)

    pipe(tmp_path / "it")
    monkeypatch.setattr(os, "open", noted)
    with pytest.raises(NotPlainError):
        read_plain(tmp_path / "it", 100)
    assert opened == []


def test_a_file_is_read_whole_or_refused(tmp_path: Path) -> None:
    (tmp_path / "it").write_bytes(b"x" * 100)
    assert read_plain(tmp_path / "it", 100) == b"x" * 100
    with pytest.raises(TooLargeError, match="more than 99 bytes"):
        read_plain(tmp_path / "it", 99)
    with open_plain(tmp_path / "it") as fd:
        assert read_up_to(fd, 99) == b"x" * 99


def test_a_link_is_followed_only_if_that_was_said(tmp_path: Path) -> None:
    (tmp_path / "it").write_bytes(b"x")
    (tmp_path / "link").symlink_to("it")
    assert read_plain(tmp_path / "link", 1) == b"x"
    with pytest.raises(OSError, match="Too many levels"):
        read_plain(tmp_path / "link", 1, links=False)


def test_a_name_with_a_nul_is_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_plain(tmp_path / "a\0b", 1)


def test_a_file_is_opened_below_a_folder(tmp_path: Path) -> None:
    (tmp_path / "it").write_bytes(b"x")
    above = os.open(tmp_path, os.O_RDONLY)
    try:
        with open_plain(b"it", below=above) as fd:
            assert read_up_to(fd, 10) == b"x"
    finally:
        os.close(above)


def test_a_path_is_read_without_the_white_space_around_it_and_no_longer_than_a_path_can_be(tmp_path: Path) -> None:
    (tmp_path / "it").write_bytes(b"../a folder \xff\n")
    assert read_path(tmp_path / "it") == Path(os.fsdecode(b"../a folder \xff"))
    (tmp_path / "it").write_bytes(b"x" * 4097)
    with pytest.raises(TooLargeError, match="more than 4096 bytes"):
        read_path(tmp_path / "it")
