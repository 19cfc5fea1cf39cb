"""A process that ends what a fleet's rehearsal has started, if the rehearsal itself was killed.

The daemon of a fleet is killed and started again, so its agents outlive it; they must not outlive the rehearsal. The
rehearsal holds a pipe to this process: its end without a word means that the rehearsal has gone.
"""

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import psutil

WORD = b"over\n"
"""Said at the end of a rehearsal that ends what it started itself."""

LOOK_SECONDS = 0.2
"""Between two looks at what is left."""

QUIET_LOOKS = 5
"""How many looks in a row find nothing: a process may be started while others are ended."""

MOST_LOOKS = 300
"""Looks until it gives up, a minute: what it killed is gone within a second."""


def left_in(base: Path) -> list[psutil.Process]:
    """Return the processes that work below a folder, or are named by it in their command line. Blocks."""
    found, own = [], str(base)
    for process in psutil.process_iter(["cmdline"]):
        with contextlib.suppress(psutil.Error, OSError):
            below = _folder_of(process).is_relative_to(base)
            if process.pid != os.getpid() and (below or any(own in word for word in process.info["cmdline"] or ())):
                found.append(process)
    return found


def _folder_of(process: psutil.Process) -> Path:
    """Return the folder in which a process works; the root for one that does not tell, as the daemon and its shims."""
    try:
        return Path(process.cwd())
    except psutil.AccessDenied:
        return Path("/")


def end_all_in(base: Path) -> int:
    """Kill what is left of agents; returns how many processes there were. Blocks."""
    left = left_in(base)
    for process in left:
        with contextlib.suppress(psutil.Error):
            process.kill()
    return len(left)


@asynccontextmanager
async def ended_with_this_process(base: Path) -> AsyncIterator[None]:
    """Have a process that ends all that was started in a folder, if this one is killed before the block's end."""
    command = [sys.executable, "-m", "supervisor.rehearsal.fleets.leftovers"]
    nowhere = subprocess.DEVNULL
    watcher = await anyio.open_process(
        command, cwd="/", start_new_session=True, env=_environment(), stdout=nowhere, stderr=nowhere
    )
    assert watcher.stdin is not None
    await watcher.stdin.send(os.fsencode(base) + b"\n")
    try:
        yield
    finally:
        with anyio.CancelScope(shield=True):
            with contextlib.suppress(anyio.BrokenResourceError):
                await watcher.stdin.send(WORD)
            await watcher.stdin.aclose()
            await watcher.wait()


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, map(os.path.abspath, sys.path)))}


def main() -> None:
    """Wait for the end of the rehearsal, and end what it left. Blocks."""
    base, *word = sys.stdin.buffer.readlines()
    if word == [WORD]:
        return
    quiet, pause = 0, threading.Event()
    for _ in range(MOST_LOOKS):
        quiet = 0 if end_all_in(Path(os.fsdecode(base.rstrip(b"\n")))) else quiet + 1
        if quiet == QUIET_LOOKS:
            return
        pause.wait(LOOK_SECONDS)


if __name__ == "__main__":
    main()
