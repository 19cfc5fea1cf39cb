"""Starting a program: what it is given, and what is left when it cannot be started."""

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from supervisor.runtime.shim import process_tree, spawn
from tests.sources import ROOT
from tests.support import AS_OTHERS, can_be_read


def descriptors() -> list[str]:
    return sorted(path.name for path in Path("/proc/self/fd").iterdir())


def test_a_started_program_is_spoken_with_through_its_input_and_outputs(tmp_path: Path) -> None:
    started = spawn.start(["/bin/sh", "-c", "read x; echo $x in $PWD; echo no >&2"], str(tmp_path), {}, spawn.Bounds())
    try:
        os.write(started.stdin, b"yes\n")
        assert os.waitpid(started.pid, 0)[1] == 0
        assert os.read(started.stdout, 1000) == f"yes in {tmp_path}\n".encode()
        assert os.read(started.stderr, 1000) == b"no\n"
        assert os.read(started.stdout, 1000) == b""
    finally:
        for fd in started[1:]:
            os.close(fd)


def test_a_started_program_and_what_it_starts_give_way_to_whoever_watches_over_it() -> None:
    ours = os.nice(0)
    started = spawn.start(["/bin/sh", "-c", "nice; sh -c nice"], "/", {"PATH": "/usr/bin:/bin"}, spawn.Bounds())
    try:
        assert os.waitpid(started.pid, 0)[1] == 0
        assert os.read(started.stdout, 1000) == f"{ours + spawn.NICENESS}\n".encode() * 2
        assert os.nice(0) == ours
    finally:
        for fd in started[1:]:
            os.close(fd)


def test_our_ends_of_the_pipes_never_block() -> None:
    started = spawn.start(["sleep", "300"], "/", {"PATH": "/usr/bin:/bin"}, spawn.Bounds())
    try:
        for fd in (started.stdout, started.stderr):
            with pytest.raises(BlockingIOError):
                os.read(fd, 1)
        assert os.write(started.stdin, b"x" * 10_000_000) < 10_000_000
    finally:
        process_tree.send(started.pid, 9)
        os.waitpid(started.pid, 0)
        for fd in started[1:]:
            os.close(fd)


@pytest.mark.parametrize("number", [0, 1])
def test_no_other_process_can_open_what_a_started_program_reads_or_what_it_writes(number: int) -> None:
    """What it reads are the answers of the gate: whoever can write there lets every call through."""
    started = spawn.start(["sleep", "300"], "/", {"PATH": "/usr/bin:/bin"}, spawn.Bounds())
    try:
        for mode in (os.O_WRONLY, os.O_RDONLY, os.O_RDWR):
            with pytest.raises(OSError) as refused:
                os.close(os.open(f"/proc/{started.pid}/fd/{number}", mode | os.O_NONBLOCK))
            assert refused.value.errno == errno.ENXIO
    finally:
        os.kill(started.pid, 9)
        os.waitpid(started.pid, 0)
        for fd in started[1:]:
            os.close(fd)


@pytest.mark.parametrize(("command", "said"), [("echo up >&0", b""), ("echo on; read x <&1; echo $x", b"on\n\n")])
def test_what_a_program_reads_takes_no_writing_and_what_it_writes_gives_nothing_to_read(
    command: str, said: bytes
) -> None:
    started = spawn.start(["/bin/sh", "-c", command], "/", {}, spawn.Bounds())
    try:
        os.waitpid(started.pid, 0)
        assert os.read(started.stdout, 1000) == said
    finally:
        for fd in started[1:]:
            os.close(fd)


def test_what_cannot_be_started_leaves_no_descriptor_and_no_child() -> None:
    before, children = descriptors(), process_tree.descendants(os.getpid())
    with pytest.raises(spawn.StartError, match=r"Could not run '/no/such' \(PATH is 'not set'\): No such file"):
        spawn.start(["/no/such"], "/", {}, spawn.Bounds())
    assert descriptors() == before
    assert set(process_tree.descendants(os.getpid())) <= set(children)


def test_a_property_that_the_kernel_does_not_know_is_an_error() -> None:
    with pytest.raises(OSError, match="prctl"):
        spawn.prctl(-1, 0)


@contextmanager
def program(code: str) -> Iterator[int]:
    """A Python program, with no right to trace everybody, that has said that it is ready."""
    command = [*AS_OTHERS, sys.executable, "-S", "-c", f"{code}\nprint('ready', flush=True)\ninput()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process.pid
        process.communicate("\n")


@pytest.mark.skipif(bool(AS_OTHERS) and not shutil.which("setpriv"), reason="needs setpriv to be less than root")
def test_a_process_that_refuses_tracers_is_read_by_no_program_of_its_user_and_what_it_starts_is() -> None:
    refuses = f"import sys; sys.path.append({str(ROOT)!r})\n"
    refuses += "from supervisor.runtime.shim.spawn import refuse_tracers; refuse_tracers()\n"
    starts = "import atexit, subprocess; started = subprocess.Popen(['sleep', '100']); atexit.register(started.kill)"
    with program("") as pid:
        assert can_be_read(pid), "the look itself works"
    with program(refuses + starts) as pid:
        assert not can_be_read(pid)
        (child,) = psutil.Process(pid).children()
        assert can_be_read(child.pid)
