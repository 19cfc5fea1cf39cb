import os
import socket
from pathlib import Path

import pytest

from supervisor.runtime.socket.listening import SocketTakenError, listen


def test_listening_twice_is_refused_and_the_first_goes_on(tmp_path: Path) -> None:
    with listen(tmp_path / "s"):
        with pytest.raises(SocketTakenError, match="already listens"):
            listen(tmp_path / "s")
        with socket.socket(socket.AF_UNIX) as peer:
            peer.connect(str(tmp_path / "s"))


@pytest.mark.parametrize("mode", [0o600, 0o660])
def test_the_mode_is_exact_whatever_the_umask(tmp_path: Path, mode: int) -> None:
    before = os.umask(0o077)
    try:
        with listen(tmp_path / "s", mode):
            assert (tmp_path / "s").stat().st_mode & 0o777 == mode
    finally:
        os.umask(before)
