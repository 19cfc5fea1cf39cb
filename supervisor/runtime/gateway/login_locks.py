"""The locks around the login of `claude`: folders, taken and kept as the CLI takes and keeps its own.

Measured on CLI 2.1.329 (tests/contract/test_login.py): who refreshes holds `.oauth_refresh.lock` in the CLI's folder,
and a folder beside it that earlier versions knew; who writes the login holds `.storage-write.lock`. A lock is a folder
that is there; its holder gives it the present time every five seconds, and one that was not touched for a minute (15
seconds, for the last) has no holder. Blocks.
"""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from supervisor.runtime.clock import Clock

TOUCH_SECONDS = 5.0
"""Between two touches, as in the CLI's own text (`update:5000`)."""

REFRESH_STALE_SECONDS = 60.0
"""From when on a lock of a refresh has no holder (`stale:60000`)."""

WRITE_STALE_SECONDS = 15.0
"""From when on a lock of a write has no holder (`stale:15000`)."""

POLL_SECONDS = 0.1
"""Between two tries to take a lock that is held."""

WRITE_WAIT_SECONDS = 20.0
"""How long a write waits for its lock: longer than one without a holder counts."""


class LockHeldError(Exception):
    """Another program holds the lock."""


class Held:
    """A lock that this process holds.

    Args:
        path: The folder that is the lock.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._touched = self._look()

    @property
    def is_ours(self) -> bool:
        """Whether it is: after this machine stood still for a minute, another program may have taken it over."""
        with suppress(OSError):
            return self._look() == self._touched
        return False

    def touch(self) -> None:
        """Say that there is a holder."""
        if self.is_ours:
            with suppress(OSError):
                os.utime(self._path)
                self._touched = self._look()

    def _look(self) -> tuple[int, int]:
        """Return what tells this folder from another program's: file systems give the number of a removed one again."""
        found = self._path.stat()
        return found.st_ino, found.st_mtime_ns

    def leave(self) -> None:
        """Let others take it."""
        if self.is_ours:
            with suppress(OSError):
                self._path.rmdir()


def take(path: Path, stale_seconds: float, clock: Clock) -> Held:
    """Take a lock.

    Raises:
        LockHeldError: Another program holds it.
        OSError: It cannot be made.
    """
    try:
        path.mkdir()
    except FileExistsError:
        with suppress(FileNotFoundError):
            if clock.wall() - path.stat().st_mtime <= stale_seconds:
                raise LockHeldError(str(path)) from None
            path.rmdir()
        try:
            path.mkdir()
        except FileExistsError:
            raise LockHeldError(str(path)) from None
    return Held(path)


@contextmanager
def refreshing(folder: Path, clock: Clock) -> Iterator[Held]:
    """Hold the locks of a refresh of the login in this folder.

    Raises:
        LockHeldError: Another program refreshes it.
        OSError: A lock cannot be made.
    """
    with ExitStack() as stack:
        held = [take(folder / ".oauth_refresh.lock", REFRESH_STALE_SECONDS, clock)]
        stack.callback(held[0].leave)
        real = folder.resolve()
        with suppress(OSError):  # a folder above that cannot be written: so does the CLI
            held.append(take(real.with_name(f"{real.name}.lock"), REFRESH_STALE_SECONDS, clock))
            stack.callback(held[1].leave)
        done = threading.Event()

        def touch() -> None:
            while not done.wait(TOUCH_SECONDS):
                for each in held:
                    each.touch()

        toucher = threading.Thread(target=touch, name="touches the locks of the login", daemon=True)
        toucher.start()
        stack.callback(toucher.join)
        stack.callback(done.set)
        yield held[0]


@contextmanager
def writing(folder: Path, clock: Clock) -> Iterator[None]:
    """Hold the lock of a write of the login in this folder; wait for it.

    Raises:
        LockHeldError: Another program holds it for longer than a write takes.
        OSError: It cannot be made.
    """
    until = clock.mono() + WRITE_WAIT_SECONDS
    while True:
        try:
            held = take(folder / ".storage-write.lock", WRITE_STALE_SECONDS, clock)
            break
        except LockHeldError:
            if clock.mono() > until:
                raise
            time.sleep(POLL_SECONDS)
    try:
        yield
    finally:
        held.leave()
