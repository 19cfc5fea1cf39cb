"""Processes that begin with the daemon's modules read: reading them is more than half of a short daemon's work.

A server process reads them once and forks, as `multiprocessing` has it; nothing else runs in it. Each process is killed
and ends like one of `python -m MODULE`.
"""

import multiprocessing
import os
import runpy
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from multiprocessing.process import BaseProcess
from pathlib import Path

FORKS = multiprocessing.get_context("forkserver")
WRITTEN = os.O_WRONLY | os.O_CREAT | os.O_APPEND
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
        *(f"tests.kill.{name}" for name in DAEMONS),
        "tests.stages.first_use",
    ]
)


def start(
    module: str, *arguments: object, environ: Mapping[str, str], out: Path, err: Path, cwd: Path | None = None
) -> BaseProcess:
    """Start a module as a program would be, which has nothing to read and writes to these files."""
    argv = [module, *map(str, arguments)]
    process = FORKS.Process(target=_be, args=(argv, dict(environ), out, err, cwd or Path.cwd()))
    process.start()
    return process


def run(
    module: str,
    *arguments: object,
    seconds: float,
    environ: Mapping[str, str] = os.environ,
    cwd: Path | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a module as a program would be, to its end.

    Raises:
        subprocess.TimeoutExpired: It took longer than so many seconds, and was killed.
    """
    with tempfile.TemporaryDirectory() as folder:
        out, err = Path(folder, "out"), Path(folder, "err")
        process = start(module, *arguments, environ=environ, out=out, err=err, cwd=cwd)
        process.join(seconds)
        argv = [module, *map(str, arguments)]
        if process.exitcode is None:
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired(argv, seconds, out.read_bytes(), err.read_bytes())
        return subprocess.CompletedProcess(argv, process.exitcode, out.read_text(), err.read_text())


def _be(argv: list[str], environ: Mapping[str, str], out: Path, err: Path, cwd: Path) -> None:
    for path, fd, how in ((Path(os.devnull), 0, os.O_RDONLY), (out, 1, WRITTEN), (err, 2, WRITTEN)):
        os.dup2(os.open(path, how), fd)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environ)
    time.tzset()
    sys.argv = argv
    runpy.run_module(argv[0], run_name="__main__")
