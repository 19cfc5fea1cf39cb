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
from collections.abc import Mapping
from pathlib import Path

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["supervisor.runtime.service", "tests.stages.daemon"])


def run(module: str, *arguments: object, seconds: float) -> subprocess.CompletedProcess[str]:
    """Run a module as a program would be, to its end.

    Raises:
        subprocess.TimeoutExpired: It took longer than so many seconds, and was killed.
    """
    argv = [module, *map(str, arguments)]
    with tempfile.TemporaryDirectory() as folder:
        out, err = Path(folder, "out"), Path(folder, "err")
        process = FORKS.Process(target=_be, args=(argv, dict(os.environ), out, err))
        process.start()
        process.join(seconds)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired(argv, seconds, out.read_bytes(), err.read_bytes())
        return subprocess.CompletedProcess(argv, process.exitcode, out.read_text(), err.read_text())


def _be(argv: list[str], environ: Mapping[str, str], out: Path, err: Path) -> None:
    for path, fd in ((out, 1), (err, 2)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), fd)
    os.environ.clear()
    os.environ.update(environ)
    sys.argv = argv
    runpy.run_module(argv[0], run_name="__main__")
