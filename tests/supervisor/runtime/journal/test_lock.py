import os
import subprocess
import sys
from pathlib import Path

import pytest

from supervisor.runtime.journal.lock import StateDirectoryError, StateDirectoryTakenError, take_state_directory

HOLD = """
import sys
from pathlib import Path
from supervisor.runtime.journal.lock import take_state_directory
held = take_state_directory(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""

TAKE_AS_NOBODY = """
import os, sys
from pathlib import Path
from supervisor.runtime.journal.lock import StateDirectoryError, take_state_directory
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
try:
    take_state_directory(Path(sys.argv[1]))
except StateDirectoryError as error:
    print(error)
"""


def test_it_is_made_for_its_owner_alone_and_names_the_owner(tmp_path: Path) -> None:
    with take_state_directory(tmp_path / "state" / "chaperon") as state:
        assert state.path.stat().st_mode & 0o777 == 0o700
        assert (state.path / "lock").read_text() == f"{os.getpid()}\n"


def test_a_second_daemon_is_refused_by_the_first_ones_pid_until_that_is_killed(tmp_path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stdin is not None
    try:
        assert child.stdout.readline() == b"held\n"
        with pytest.raises(StateDirectoryTakenError, match=f"pid {child.pid}; nothing was changed") as caught:
            take_state_directory(tmp_path)
        assert caught.value.pid == child.pid
        assert (tmp_path / "lock").read_text() == f"{child.pid}\n"
    finally:
        child.kill()
        child.wait()
        child.stdin.close()
        child.stdout.close()
    take_state_directory(tmp_path).release()


def test_a_program_started_meanwhile_does_not_keep_it(tmp_path: Path) -> None:
    state = take_state_directory(tmp_path)
    child = subprocess.Popen(["sleep", "60"])
    try:
        state.release()
        take_state_directory(tmp_path).release()
    finally:
        child.kill()
        child.wait()


def test_releasing_twice_takes_nothing_from_the_next_owner(tmp_path: Path) -> None:
    first = take_state_directory(tmp_path)
    first.release()
    with take_state_directory(tmp_path):
        first.release()
        with pytest.raises(StateDirectoryTakenError):
            take_state_directory(tmp_path)


def test_a_lock_file_that_was_left_over_means_nothing(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("1\nwhatever else, and much longer than a number")
    with take_state_directory(tmp_path):
        assert (tmp_path / "lock").read_text() == f"{os.getpid()}\n"


@pytest.fixture
def of_root(tmp_path: Path) -> Path:
    """A directory in which the child, which is nobody where we are root, may not write."""
    return Path("/usr") if os.geteuid() == 0 else tmp_path / "read-only"


def test_a_directory_that_the_user_may_not_write_is_an_exact_error(of_root: Path) -> None:
    of_root.mkdir(mode=0o555, exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-c", TAKE_AS_NOBODY, str(of_root)], capture_output=True, text=True, timeout=30, check=False
    )
    assert "cannot be used by user" in done.stdout, done.stderr
    assert "Permission denied" in done.stdout
    assert "Make this user its owner" in done.stdout


def test_a_path_through_a_file_is_an_exact_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StateDirectoryError, match=r"Not a directory .* Some part of the path is a file"):
        take_state_directory(tmp_path / "file" / "state")
    with pytest.raises(StateDirectoryError, match=r"File exists .* Something there is no directory"):
        take_state_directory(tmp_path / "file")


def test_a_lock_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("precious")
    (tmp_path / "lock").symlink_to(tmp_path / "target")
    with pytest.raises(StateDirectoryError, match="Remove the symbolic link 'lock'"):
        take_state_directory(tmp_path)
    assert (tmp_path / "target").read_text() == "precious"
