"""Whether a file was opened, or run, since somebody last asked: by any process, which inotify sees and no hook of Python would."""

import ctypes
import os
from contextlib import suppress
from pathlib import Path

IN_OPEN = 0x20
"""From <sys/inotify.h>; a program that is run is opened."""


class OpenWatch:
    """One file, watched from now on."""

    def __init__(self, path: Path) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self._fd = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._fd < 0 or libc.inotify_add_watch(self._fd, os.fsencode(path), IN_OPEN) < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(path))

    def take(self) -> bool:
        """Whether it was opened since the last look."""
        opened = False
        with suppress(BlockingIOError):
            while os.read(self._fd, 4096):
                opened = True
        return opened

    def close(self) -> None:
        os.close(self._fd)
