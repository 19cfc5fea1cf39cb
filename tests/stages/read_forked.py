"""Helpers of daemons that begin with their modules read: to read these took each 0.1 to 0.2 s of a processor.

They are the reading process, and the one for work that libgit2 does in one piece. The server of `tests.stages.forked`
forks them. All else is as it is: the channel, the answers, the end.
"""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from host import apart
from supervisor.runtime.reading import reader
from supervisor.runtime.reading.process import main
from tests.stages.forked import FORKS, Program

_start_a_program = reader.start_process
_start_apart = apart.start_process


class _Forked:
    """What a daemon asks of the process that it started."""

    def __init__(self, process: BaseProcess) -> None:
        self._process = process
        self.kill = process.kill

    async def wait(self) -> int | None:
        await anyio.wait_readable(self._process.sentinel)
        await anyio.to_thread.run_sync(self._process.join)
        return self._process.exitcode


async def _start(channel: socket.socket) -> _Forked:
    return _Forked(await anyio.to_thread.run_sync(_fork, channel))


def _fork(channel: socket.socket) -> BaseProcess:
    process = FORKS.Process(target=_be, args=(channel, dict(os.environ), Path.cwd()))
    process.start()
    return process


def _be(channel: socket.socket, environ: dict[str, str], cwd: Path) -> None:
    os.chdir(cwd)
    os.dup2(channel.detach(), 0)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - as that of a program
    os.environ.clear()
    os.environ.update(environ)
    main()


def _start_apart_forked() -> Program:
    return Program(
        ["tests.stages.apart_program"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
        bufsize=0,
    )


def _begin() -> None:
    setattr(reader, _start_a_program.__name__, _start)
    setattr(apart, _start_apart.__name__, _start_apart_forked)


def read_forked() -> None:
    """Have helpers of daemons forked, from here on in this process and in none that is forked of it."""
    _begin()
    os.register_at_fork(after_in_child=_as_daemons_do)  # else each would start a server of its own


def _as_daemons_do() -> None:
    setattr(reader, _start_a_program.__name__, _start_a_program)
    setattr(apart, _start_apart.__name__, _start_apart)


@pytest.fixture(autouse=True)
def _as_a_program() -> Iterator[None]:
    """For tests of the process itself: it is the program that a daemon starts, and its child."""
    _as_daemons_do()
    yield
    _begin()
