"""Real processes, looked at."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from supervisor.runtime.processes.bounds.resources import MIB, Sampler, size_of
from supervisor.runtime.shim import process_tree

CHILD_WITH_CHILD = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import sys; kept = bytearray(40 << 20); print('up', flush=True); sys.stdin.read()"],
                         stdin=sys.stdin, stdout=sys.stdout)
child.wait()
"""

BUSY = "import sys\nn = 0\nwhile n < 6_000_000: n += 1\nopen('/dev/null', 'w').write('x' * 3_000_000)\nprint('done', flush=True)\nsys.stdin.read()"


@contextmanager
def program(code: str) -> Iterator[subprocess.Popen[bytes]]:
    """A Python process that has said its first word; it ends when its input does."""
    process = subprocess.Popen([sys.executable, "-I", "-S", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdout.readline()
        yield process
    finally:
        process.stdin.close()
        process.stdout.close()
        process.wait(10)


def test_the_whole_tree_is_counted() -> None:
    with program(CHILD_WITH_CHILD) as process:
        figures = Sampler().sample(process.pid)
    assert figures.processes == 2
    assert figures.memory_mb > 45
    assert figures.open_files >= 6
    assert figures.disk_mb == 0


def test_the_whole_tree_is_counted_by_a_look_at_everybody_that_was_made_before() -> None:
    with program(CHILD_WITH_CHILD) as process:
        figures = Sampler().sample(process.pid, table=process_tree.all_children())
        without_root = Sampler().sample(process.pid, spare_root=True, table=process_tree.all_children())
    assert (figures.processes, without_root.processes) == (2, 1)
    assert figures.memory_mb > without_root.memory_mb > 40


def test_the_figures_are_those_that_psutil_gives() -> None:
    with program(BUSY) as process:
        figures, seen = Sampler().sample(process.pid), psutil.Process(process.pid)
        times = seen.cpu_times()
        assert figures.memory_mb == pytest.approx(seen.memory_info().rss / MIB, rel=0.1)
        assert figures.cpu_seconds == pytest.approx(times.user + times.system, abs=0.05)
        assert figures.open_files == seen.num_fds()
        assert figures.io_bytes == seen.io_counters().read_chars + seen.io_counters().write_chars


def test_used_time_and_bytes_are_counted_and_stay_counted_when_the_process_has_ended() -> None:
    sampler = Sampler()
    with program(BUSY) as process:
        running = sampler.sample(process.pid)
    ended = sampler.sample(process.pid)
    assert running.cpu_seconds > 0.05
    assert running.io_bytes >= 3_000_000
    assert (ended.processes, ended.memory_mb) == (0, 0)
    assert ended.cpu_seconds == running.cpu_seconds
    assert ended.io_bytes == running.io_bytes


def test_a_process_that_never_was_gives_nothing() -> None:
    gone = max(psutil.pids()) + 100_000
    assert Sampler().sample(gone).processes == 0


def test_a_zombie_holds_nothing() -> None:
    process = subprocess.Popen([sys.executable, "-I", "-S", "-c", ""])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    figures = Sampler().sample(process.pid)
    process.wait()
    assert figures.processes == 0


def test_a_cgroups_own_files_come_first(tmp_path: Path) -> None:
    """The files are written here; what they say is what a kernel writes into them."""
    (tmp_path / "memory.current").write_text(f"{300 * MIB}\n")
    (tmp_path / "cpu.stat").write_text("usage_usec 7500000\nuser_usec 7000000\nsystem_usec 500000\n")
    with program("import sys; print('up', flush=True); sys.stdin.read()") as process:
        (tmp_path / "cgroup.procs").write_text(f"{process.pid}\n{max(psutil.pids()) + 100_000}\n")
        figures = Sampler().sample(1, tmp_path)
    assert (figures.memory_mb, figures.cpu_seconds, figures.processes) == (300.0, 7.5, 1)


def test_a_cgroup_without_controllers_falls_back_to_the_processes(tmp_path: Path) -> None:
    with program("import sys; print('up', flush=True); sys.stdin.read()") as process:
        figures = Sampler().sample(process.pid, tmp_path / "gone")
    assert figures.processes == 1
    assert figures.memory_mb > 3


def test_the_size_of_a_workspace_leaves_out_gits_own_and_follows_no_link(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.bin").write_bytes(b"x" * (2 * MIB))
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "pack").write_bytes(b"x" * MIB)
    (tmp_path / "loop").symlink_to(tmp_path)
    assert 2 * MIB <= size_of(tmp_path) < 2 * MIB + 4096
    assert Sampler().sample(os.getpid(), None, tmp_path).disk_mb == pytest.approx(2, abs=0.01)
    assert size_of(tmp_path / "nowhere") == 0


def test_a_look_at_a_huge_workspace_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("supervisor.runtime.processes.bounds.resources.MAX_FILES", 10)
    for directory in range(10):
        (tmp_path / str(directory)).mkdir()
        for number in range(10):
            (tmp_path / str(directory) / str(number)).write_bytes(b"x")
    assert size_of(tmp_path) == 10
