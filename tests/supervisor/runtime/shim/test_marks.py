"""The mark of an agent's processes: inherited by all, and nothing that an ordinary process can take off."""

import os
import resource
import subprocess
import sys

import pytest

from supervisor.runtime.shim import marks, process_tree

PUT = "from supervisor.runtime.shim import marks; import os, sys; marks.put(int(sys.argv[1])); "
CLEARED = PUT + "os.setsid(); os.execve('/bin/sleep', ['sleep', '300'], {})"
TAKEN_OFF = """
import resource, os
os.setgid(65534)
os.setuid(65534)
for limit in (resource.getrlimit(10)[1] + 1, resource.RLIM_INFINITY):
    try:
        resource.setrlimit(10, (limit, limit))
        print("taken off")
    except ValueError:
        print("kept")
"""


def test_a_mark_goes_with_a_process_that_cleared_all_else() -> None:
    mark = marks.draw()
    process = subprocess.Popen([sys.executable, "-c", CLEARED, str(mark)])
    try:
        while process_tree.name(process.pid) != "sleep":
            assert process.poll() is None, "it ended instead"
            process_tree.pause()
        assert marks.mark_of(process.pid) == mark
        assert marks.is_marked(process.pid)
    finally:
        process.kill()
        process.wait()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_no_ordinary_process_can_take_it_off() -> None:
    command = [sys.executable, "-c", PUT + TAKEN_OFF, str(marks.draw())]
    assert subprocess.run(command, check=True, capture_output=True).stdout == b"kept\nkept\n"


def test_nobody_else_is_marked() -> None:
    assert not marks.is_marked(os.getpid())
    assert not marks.is_marked(os.getppid())
    assert marks.mark_of(os.getpid()) == marks.own()


def test_who_has_gone_counts_as_marked() -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    assert marks.mark_of(process.pid) is None
    assert marks.is_marked(process.pid)


def test_marks_differ_and_leave_room_below_them_for_agents_of_agents() -> None:
    drawn = {marks.draw() for _ in range(1_000)}
    assert len(drawn) == 1_000
    assert all(marks.own() // 4 <= mark < marks.own() // 2 for mark in drawn)
    within = "from supervisor.runtime.shim import marks; print(0 < marks.draw() < marks.own() // 2)"
    done = subprocess.run([sys.executable, "-c", PUT + within, str(min(drawn))], check=True, capture_output=True)
    assert done.stdout == b"True\n"


def test_where_our_own_limit_is_too_low_no_mark_is_drawn() -> None:
    command = [sys.executable, "-c", PUT + "print(marks.draw())", str(marks.LEAST - 1)]
    assert subprocess.run(command, check=True, capture_output=True).stdout == b"0\n"


def test_the_limit_is_one_that_python_does_not_know_by_name() -> None:
    """If it did, its number could be compared here."""
    assert "RLIMIT_LOCKS" not in dir(resource)
