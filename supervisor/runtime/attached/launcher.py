"""The compiled program of hooks: made of `hook.c` as hooks are attached, if this machine has a compiler.

A command hook starts a program for each call of a tool. This one starts in 0.5 ms, bash in 2, Python in 15 (measured
beside `/bin/sh -c`, by which the CLI starts it). It lies beside the relay's settings under a name that follows from its
source, so that hooks in settings files go on with the one that they were written with.
"""

import os
import shutil
import stat
from hashlib import sha256
from pathlib import Path

from host.children import ChildCommand, run_child
from supervisor.runtime.log import log

SOURCE = Path(__file__).with_name("hook.c")

NAME = "hook-"
"""How its name begins."""

COMPILERS = ("cc", "gcc", "clang", "tcc")

PLACES = "/usr/bin:/bin:/usr/local/bin"
"""The folders in which a compiler is looked for: no agent writes there."""

COMPILE_SECONDS = 20.0
"""Longest time of a compiler; gcc takes 0.2 s."""

WAYS = (("-static",), ())
"""Options that are tried in turn. Without a dynamic linker it starts in 0.2 ms less; not every machine has a libc for
that."""


def built(folder: Path) -> Path | None:
    """Return the program in this folder, compiled if it is not there; None if it cannot be had. Blocks for 0.2 s.

    Args:
        folder: The folder of the relay's settings.
    """
    try:
        path, compiler = _place(folder), _compiler()
        if is_ours(path) or (compiler is not None and _compiled(compiler, path)):
            return path
    except OSError as error:
        log.info("the program of hooks could not be compiled: %s", error)
    return None


def planned(folder: Path) -> Path | None:
    """Return the program that `built` would return, unless its compiler fails; nothing is written. Blocks."""
    path = _place(folder)
    return path if _compiler() is not None or is_ours(path) else None


def is_ours(path: Path) -> bool:
    """Whether a file is a program that this user alone can change, and it runs."""
    try:
        status = path.lstat()
    except OSError:
        return False
    private = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o022
    return private and _code([str(path), "--check"]) == 0


def _place(folder: Path) -> Path:
    return folder / f"{NAME}{sha256(SOURCE.read_bytes()).hexdigest()[:12]}"


def _compiler() -> str | None:
    return next(filter(None, (shutil.which(name, path=PLACES) for name in COMPILERS)), None)


def _compiled(compiler: str, path: Path) -> bool:
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        for options in WAYS:
            command = [compiler, "-O2", *options, "-o", str(new), str(SOURCE)]
            if _code(command) == 0:
                new.chmod(0o700)
                if is_ours(new):
                    new.replace(path)
                    return True
    finally:
        new.unlink(missing_ok=True)
    return False


def _code(command: list[str]) -> int | None:
    environment = {"PATH": PLACES, "LC_ALL": "C"}
    run = ChildCommand(argv=command, environment=environment, seconds=COMPILE_SECONDS, output_bytes=2_000, keep="end")
    try:
        return run_child(run).code
    except OSError:  # a file system that runs no programs
        return None
