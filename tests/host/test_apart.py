"""Functions in a process of their own."""

import os
import pickle
import signal
import struct
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pygit2
import pytest

from host import apart
from host.apart import ApartError, run_apart
from host.children import ChildCommand, run_child
from monitors.contract.errors import UsageError
from tests.stages.read_forked import _as_a_program  # noqa: F401 - a fixture
from tests.support import alive


def test_the_result_of_a_function_comes_from_another_process() -> None:
    assert run_apart(os.getpid) != os.getpid()
    assert run_apart(sorted, {3, 1, 2}, reverse=True) == [3, 2, 1]


def test_a_process_is_kept_for_the_next_function_until_it_ends_or_the_environment_is_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = run_apart(os.getpid)
    assert run_apart(os.getpid) == first
    os.kill(first, signal.SIGKILL)
    while alive(first):
        os.sched_yield()
    second = run_apart(os.getpid)
    assert second != first
    monkeypatch.setenv("HOME", "/nowhere")
    assert run_apart(os.getenv, "HOME") == "/nowhere"
    assert not alive(second)


@pytest.mark.slow
def test_functions_at_once_have_processes_of_their_own_and_few_are_kept() -> None:
    with ThreadPoolExecutor(4) as threads:
        found = set(threads.map(lambda _: run_apart(_sleep_and_say), range(4)))
    assert len(found) == 4
    assert sum(alive(pid) for pid in found) == apart.MOST_KEPT


def _sleep_and_say() -> int:
    run_child(ChildCommand(argv=["sleep", "0.3"], environment=dict(os.environ), seconds=5, output_bytes=1))
    return os.getpid()


def test_a_copy_of_a_process_has_none_of_its_own_and_leaves_the_others_alone() -> None:
    first = run_apart(os.getpid)
    copy = os.fork()
    if not copy:
        os._exit(apart._kept != [])
    assert os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1]) == 0
    assert run_apart(os.getpid) == first


def test_a_process_without_work_ends_by_itself_and_with_its_pipe() -> None:
    program = "from host import apart; apart.IDLE_SECONDS = 0.05; apart.serve()"
    theirs, ours = os.pipe()
    for requests in (theirs, subprocess.DEVNULL):
        subprocess.run([sys.executable, "-c", program], stdin=requests, check=True, timeout=30)
    os.close(theirs)
    os.close(ours)


def test_work_that_comes_as_a_process_was_ended_is_done_by_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart._Apart, "is_ready", lambda _: True)  # as in the moment before its end is seen
    first = run_apart(os.getpid)
    os.kill(first, signal.SIGKILL)
    assert run_apart(os.getpid) not in (first, os.getpid())


def test_work_that_comes_as_a_process_ends_for_want_of_any_is_done_by_another(monkeypatch: pytest.MonkeyPatch) -> None:
    first = run_apart(os.getpid)
    (kept,) = [each for each in apart._kept if each.process.pid == first]
    theirs, ours = os.pipe()
    os.dup2(ours, kept._takes.fileno())  # its own pipe ends, by which it ends, and this one takes what is written
    monkeypatch.setattr(apart._Apart, "is_ready", lambda _: True)
    assert run_apart(os.getpid) not in (first, os.getpid())
    os.close(theirs)
    os.close(ours)


def test_work_without_end_ends_too_if_whoever_asked_for_it_was_ended(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    program = "from host import apart; apart.ORPHAN_SECONDS = 1; apart.serve()"
    asked = pickle.dumps((Path.read_text, (tmp_path / "pipe",), {}))
    request = struct.pack("!Q", len(asked)) + asked
    done = subprocess.run([sys.executable, "-c", program], input=request, check=False, timeout=30)
    assert done.returncode == -signal.SIGALRM


def test_what_a_function_prints_is_no_result() -> None:
    assert run_apart(print, "no result") is None
    assert run_apart(sorted, "ba") == ["a", "b"]


def test_what_a_function_raises_is_raised_with_all_that_it_says() -> None:
    with pytest.raises(FileNotFoundError, match="No such file"):
        run_apart(os.stat, "/there/is/none")
    with pytest.raises(UsageError) as raised:
        run_apart(_refuse)
    assert (raised.value.what, raised.value.way_out) == ("It cannot be.", "Do something else.")


def _refuse() -> None:
    raise UsageError("It cannot be.", way_out="Do something else.")


def test_work_without_end_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart, "APART_SECONDS", 0.5)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ApartError, match=r"took longer than 0\.5 s"):
        run_apart(Path.read_text, tmp_path / "pipe")


def test_work_that_waits_for_a_pipe_in_a_repository_is_told_at_once(tmp_path: Path) -> None:
    pygit2.init_repository(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / ".git/config").write_text(f"[include]\n\tpath = {tmp_path / 'pipe'}\n")
    with pytest.raises(OSError, match="Interrupted system call"):
        run_apart(_open, tmp_path)


def _open(path: Path) -> None:
    pygit2.Repository(path)


def test_work_whose_process_ends_is_no_result() -> None:
    with pytest.raises(ApartError, match="ended with -9"):
        run_apart(_end_itself)


def _end_itself() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_large_request_and_a_large_result_come_through() -> None:
    assert run_apart(bytes.upper, b"a" * 3_000_000) == b"A" * 3_000_000


def test_an_error_that_cannot_be_passed_on_comes_with_its_words() -> None:
    with pytest.raises(ApartError, match="GitError: Repository not found at /nowhere"):
        run_apart(pygit2.Repository, "/nowhere")
