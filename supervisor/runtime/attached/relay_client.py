"""The start of the relay, and the daemon's care that it is there."""

import fcntl
import os
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import anyio
import anyio.to_thread

from monitors.contract.errors import ChaperonError
from supervisor.runtime.attached import relay_settings
from supervisor.runtime.attached.hook import LAUNCHED
from supervisor.runtime.attached.relay_settings import HELD
from supervisor.runtime.log import log

START_SECONDS = 30.0
"""How long the start may take; it takes 0.1 s."""

AGAIN_SECONDS = 5.0
"""Between two attempts to start one that does not start."""


STARTED_SECONDS, STARTED_LOOKS = 0.05, 40
"""Between two looks for a relay that another starts, and how many there are: 2 s, of which a start takes 0.1."""


class RelayError(ChaperonError):
    """The relay cannot be had; hooks by HTTP are blocked by the CLI itself."""


def start(folder: Path, listening: socket.socket | None = None) -> None:
    """Start the relay if there is none; returns once it listens. Blocks for some 100 ms.

    Args:
        folder: The folder of its settings.
        listening: The socket at which it is to listen; None: it opens one.

    Raises:
        RelayError: It does not start.
    """
    if LAUNCHED in os.environ:
        raise RelayError("An agent's own process may not start the relay of hooks.")
    handed = [] if listening is None else [listening.fileno()]
    try:
        done = subprocess.run(
            [*relay_settings.words(folder), *(f"{HELD}{number}" for number in handed)],
            pass_fds=handed,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={},
            timeout=START_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise RelayError(f"The relay of hooks could not be started: {error}.") from error
    if done.returncode == relay_settings.PORT_TAKEN and not _is_started(folder):
        raise RelayError(
            f"Another process has the port of hooks, and could answer them. {done.stderr.decode(errors='replace').strip()}",
            way_out="End that process, or: chaperon detach, and attach --by command.",
        )
    if done.returncode not in (0, relay_settings.PORT_TAKEN):
        what = done.stderr.decode(errors="replace").strip()[-500:]
        raise RelayError(f"The relay of hooks did not start (code {done.returncode}): {what}")


def _is_started(folder: Path) -> bool:
    """Whether a daemon that holds the port has the relay there in a moment. Blocks for up to 2 s."""
    for _ in range(STARTED_LOOKS):
        if process_of(folder):
            return True
        time.sleep(STARTED_SECONDS)
    return False


def held(port: int, before: socket.socket | None) -> socket.socket | None:
    """Return a socket that listens at the port of hooks; None if another has the port: the relay, as it should.

    A daemon keeps it open beside the relay's own use, so that no other program gets the port if the relay dies, and a
    CLI that asks in that moment waits for the next one. Blocks for some microseconds.

    Args:
        port: The port.
        before: The one that was held until now, which is closed if it is for another port.
    """
    if before is not None:
        if before.getsockname()[1] == port:
            return before
        before.close()
    listening = socket.socket()
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((relay_settings.LOOPBACK, port))
        listening.listen(relay_settings.QUEUE)
    except OSError:
        listening.close()
        return None
    return listening


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


async def keep(folder: Path, path: Path, fault: Callable[[str], object]) -> None:
    """Keep a relay there for as long as there are settings of one, until cancelled.

    Args:
        folder: The folder of the settings.
        path: The daemon's socket of hooks, which the relay is told.
        fault: Told why it cannot be had, once for each reason.
    """
    told = ""
    listening: socket.socket | None = None
    try:
        while await anyio.to_thread.run_sync(relay_settings.read, folder) is not None:
            try:
                settings = await anyio.to_thread.run_sync(relay_settings.write, folder, path)
                listening = await anyio.to_thread.run_sync(held, settings.port, listening)
                await anyio.to_thread.run_sync(start, folder, listening)
                pid = await anyio.to_thread.run_sync(process_of, folder)
                await _gone(pid)
                log.info("the relay of hooks, process %d, has ended", pid)
            except (ChaperonError, OSError) as error:
                if str(error) != told:
                    told = str(error)
                    fault(told)
                await anyio.sleep(AGAIN_SECONDS)
    finally:
        if listening is not None:
            listening.close()


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
