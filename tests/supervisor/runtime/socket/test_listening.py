import os
import shutil
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from supervisor.runtime.socket.listening import SocketTakenError, listen


def test_listening_twice_is_refused_and_the_first_goes_on(tmp_path: Path) -> None:
    with listen(tmp_path / "s"):
        with pytest.raises(SocketTakenError, match="already listens"):
            listen(tmp_path / "s")
        with socket.socket(socket.AF_UNIX) as peer:
            peer.connect(str(tmp_path / "s"))


def test_an_error_of_listening_names_the_path(tmp_path: Path) -> None:
    """Where there was no room for the socket, the command said that its output could not be written."""
    with pytest.raises(FileNotFoundError) as failed:
        listen(tmp_path / "none/s")
    assert failed.value.filename == str(tmp_path / "none/s")


def test_a_path_that_was_taken_away_is_listened_on_anew_with_its_directory(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    with listen(folder / "s", 0o660, folder.mkdir) as ours:
        number = ours.fileno()
        assert not ours.regain(), "it is there"
        shutil.rmtree(folder)
        assert ours.regain()
        assert (ours.fileno(), (folder / "s").stat().st_mode & 0o777) == (number, 0o660)
        with socket.socket(socket.AF_UNIX) as peer:
            peer.connect(str(folder / "s"))
            ours.accept()[0].close()
        ours.leave()
        assert not (folder / "s").exists(), "the new path is its own"


def test_what_others_put_on_the_path_is_left_alone_and_a_directory_that_cannot_be_made_is_tried_again(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    with listen(folder / "s") as ours:
        (folder / "s").unlink()
        with listen(folder / "s") as theirs:
            assert not ours.regain()
            assert ours.lost == "something else is in its place"
            ours.leave()
            with socket.socket(socket.AF_UNIX) as peer:
                peer.connect(str(folder / "s"))
                theirs.accept()[0].close()
    (folder / "s").unlink()
    with listen(folder / "s") as ours:
        assert not ours.regain()
        assert not ours.lost
        shutil.rmtree(folder)
        assert not ours.regain()
        assert "could not be made again (" in ours.lost
        folder.write_text("no directory")
        assert not ours.regain()
        folder.unlink()
        folder.mkdir()
        assert ours.regain()
        assert not ours.lost


@pytest.mark.parametrize("mode", [0o600, 0o660])
def test_the_mode_is_exact_whatever_the_umask(tmp_path: Path, mode: int) -> None:
    before = os.umask(0o077)
    try:
        with listen(tmp_path / "s", mode):
            assert (tmp_path / "s").stat().st_mode & 0o777 == mode
    finally:
        os.umask(before)


def test_sockets_that_threads_make_at_once_leave_new_folders_as_they_are(tmp_path: Path) -> None:
    """Each set the umask of the whole process: a daemon that made two anew kept the other's."""

    def make(number: int) -> int:
        with listen(tmp_path / f"s{number}"):
            (tmp_path / f"f{number}").mkdir()
        return (tmp_path / f"f{number}").stat().st_mode & 0o777

    usual = tmp_path / "usual"
    usual.mkdir()
    with ThreadPoolExecutor(8) as threads:
        modes = set(threads.map(make, range(400)))
    last = tmp_path / "last"
    last.mkdir()
    assert {*modes, last.stat().st_mode & 0o777} == {usual.stat().st_mode & 0o777}
