"""The start of the relay, and the daemon's care that it is there."""

import fcntl
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import anyio
import anyio.to_thread

from monitors.contract.errors import ChaperonError
from supervisor.runtime.attached import relay_settings
from supervisor.runtime.attached.hook import LAUNCHED
from supervisor.runtime.log import log

START_SECONDS = 30.0
"""How long the start may take; it takes 0.1 s."""

AGAIN_SECONDS = 5.0
"""Between two attempts to start one that does not start."""


class RelayError(ChaperonError):
    """The relay cannot be had; hooks by HTTP are blocked by the CLI itself."""


def start(folder: Path) -> None:
    """Start the relay if there is none; returns once it listens. Blocks for some 100 ms.

    Raises:
        RelayError: It does not start.
    """
    if LAUNCHED in os.environ:
        raise RelayError("An agent's own process may not start the relay of hooks.")
    try:
        done = subprocess.run(
            relay_settings.words(folder),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={},
            timeout=START_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise RelayError(f"The relay of hooks could not be started: {error}.") from error
    if done.returncode == relay_settings.PORT_TAKEN:
        raise RelayError(
            f"Another process has the port of hooks, and could answer them. {done.stderr.decode(errors='replace').strip()}",
            way_out="End that process, or: chaperon detach, and attach --by command.",
        )
    if done.returncode:
        what = done.stderr.decode(errors="replace").strip()[-500:]
        raise RelayError(f"The relay of hooks did not start (code {done.returncode}): {what}")


def process_of(folder: Path) -> int:
    """Return the process id of the relay, 0 if there is none. Blocks."""
    try:
        with (folder / relay_settings.LOCK).open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return int(file.read(20) or 0)
    except (OSError, ValueError):
        return 0
    return 0


async def keep(folder: Path, socket: Path, fault: Callable[[str], object]) -> None:
    """Keep a relay there for as long as there are settings of one, until cancelled.

    Args:
        folder: The folder of the settings.
        socket: The daemon's socket of hooks, which the relay is told.
        fault: Told why it cannot be had, once for each reason.
    """
    told = ""
    while await anyio.to_thread.run_sync(relay_settings.read, folder) is not None:
        try:
            await anyio.to_thread.run_sync(relay_settings.write, folder, socket)
            await anyio.to_thread.run_sync(start, folder)
            pid = await anyio.to_thread.run_sync(process_of, folder)
            await _gone(pid)
            log.info("the relay of hooks, process %d, has ended", pid)
        except (ChaperonError, OSError) as error:
            if str(error) != told:
                told = str(error)
                fault(told)
            await anyio.sleep(AGAIN_SECONDS)


async def _gone(pid: int) -> None:
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        await anyio.sleep(0.05)  # it has not said its number yet, or has gone
        return
    try:
        await anyio.wait_readable(handle)
    finally:
        os.close(handle)
