"""Processes that begin with the daemon's modules read: reading them is more than half of a short daemon's work.

A server process reads them once and forks, as `multiprocessing` has it; nothing else runs in it. Each process is killed
and ends like one of `python -m MODULE`.
"""

import fcntl
import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Mapping
from multiprocessing.process import BaseProcess, _children  # type: ignore[attr-defined]
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import Any

FORKS = multiprocessing.get_context("forkserver")
DAEMONS = ("daemon", "merge_daemon", "project_daemon", "rollback_daemon")
FORKS.set_forkserver_preload(
    [
        "pytest",
        "anyio._backends._asyncio",
        "supervisor.cli.__main__",
        "supervisor.cli.commands.policy.replay",
        "supervisor.cli.commands.work.run",
        "supervisor.panel.command",
        "supervisor.runtime.attached.door",
        "supervisor.runtime.reading.process",
        "supervisor.runtime.sandbox.planted",
        "supervisor.runtime.service",
        "tests.stages.apart_program",
        *(f"tests.kill.{name}" for name in DAEMONS),
        "tests.stages.first_use",
    ]
)


class Program(subprocess.Popen[Any]):
    """A module as a program: `Program([MODULE, *arguments], ...)` for `Popen([sys.executable, "-m", MODULE, ...], ...)`.

    In a session of its own, it has its standard input for its terminal, if that is one.
    """

    _waitpid_lock: Any
    _close_pipe_fds: Any
    _process: BaseProcess

    def _execute_child(
        self, args: Any, executable: Any, preexec_fn: Any, _close_fds: Any, pass_fds: Any, cwd: Any, env: Any,
        _startupinfo: Any, _creationflags: Any, shell: Any, p2cread: int, p2cwrite: int, c2pread: int, c2pwrite: int,
        errread: int, errwrite: int, _restore_signals: Any, _gid: Any, _gids: Any, uid: Any, _umask: Any,
        start_new_session: bool, _process_group: Any,
    ) -> None:  # fmt: skip
        assert (executable, preexec_fn, pass_fds, shell, uid) == (None, None, (), False, None), "this is not done here"
        told, tells = os.pipe()
        streams = [_Fd(own if fd == -1 else fd) for own, fd in enumerate((p2cread, c2pwrite, errwrite))]
        given = (env if env is not None else os.environ).items()
        about = (list(map(str, args)), dict(given), cwd or Path.cwd(), streams, start_new_session, _Fd(tells))
        self._process = FORKS.Process(target=_be, args=about)
        self._process.start()
        _children.discard(self._process)  # else each later start asks for its end too, beside whoever waits for it
        os.close(tells)
        os.read(told, 1)  # until it is the program, as for one
        os.close(told)
        assert self._process.pid is not None
        self.pid, self._child_created = self._process.pid, True
        self._close_pipe_fds(p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite)

    def _internal_poll(self, _deadstate: object = None) -> int | None:
        if self._waitpid_lock.acquire(blocking=False):
            self._see(0)
        return self.returncode

    def _wait(self, timeout: float | None) -> int:
        if self._waitpid_lock.acquire(timeout=-1 if timeout is None else timeout):
            self._see(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        return self.returncode

    def _see(self, seconds: float | None) -> None:
        try:
            self._process.join(seconds)
            self.returncode = self._process.exitcode
        finally:
            self._waitpid_lock.release()


def run(
    module: str,
    *arguments: object,
    seconds: float,
    environ: Mapping[str, str] = os.environ,
    cwd: Path | None = None,
    given: bytes | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a module as a program to its end; what is given comes by a pipe.

    Raises:
        subprocess.TimeoutExpired: It took longer than so many seconds, and was killed.
    """
    argv = [module, *map(str, arguments)]
    stdin = subprocess.DEVNULL if given is None else subprocess.PIPE
    with (
        tempfile.TemporaryFile() as out,  # files: what it leaves behind may hold a pipe open
        tempfile.TemporaryFile() as err,
        Program(argv, env=environ, cwd=cwd, stdin=stdin, stdout=out, stderr=err) as process,
    ):
        try:
            process.communicate(given, seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        for file in (out, err):
            file.seek(0)
        return subprocess.CompletedProcess(argv, process.returncode, out.read().decode(), err.read().decode())


class _Fd:
    """A descriptor on its way to a process."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def __reduce__(self) -> tuple[Any, ...]:
        return _taken, (DupFd(self._fd),)


def _taken(way: Any) -> int:
    return int(way.detach())


def _be(argv: list[str], environ: Mapping[str, str], cwd: Path, streams: list[int], session: bool, tells: int) -> None:
    if session:
        os.setsid()
    for own, fd in enumerate(streams):
        os.dup2(fd, own)
        os.close(fd)
    if session and os.isatty(0):
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)  # noqa: SIM115 - as those of a program
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored, if the tests were started in the background
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environ)
    time.tzset()
    sys.argv = argv
    for name in (argv[0], f"{argv[0]}.__main__"):
        if name in sys.modules and not hasattr(sys.modules[name], "__path__"):
            del sys.modules[name]  # else it is warned of a program that was read before
    os.close(tells)
    runpy.run_module(argv[0], run_name="__main__")
