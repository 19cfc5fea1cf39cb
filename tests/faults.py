"""A disk that fails when a test says so, and else is the real one."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from host.durable import RealDisk

Mode = Literal["once", "dead"]


class FaultyDisk(RealDisk):
    """Counts its operations and makes one of them fail.

    It does not wait for the disk when it syncs: no test cuts the power, and many sync a thousand times.

    Args:
        fail_at: Which operation fails, from 1; 0 for none.
        code: With what.
        mode: `once` fails that one only; `dead` fails all from it on, which is what a killed process leaves behind.
        landed: Share of the failing write's bytes that still get into the file.
    """

    def __init__(self, fail_at: int = 0, code: int = errno.EIO, *, mode: Mode = "once", landed: float = 0.0) -> None:
        self.fail_at, self.code, self.mode, self.landed = fail_at, code, mode, landed
        self.operations = 0
        self.full = False
        """While set, nothing can be written or allocated, as on a full disk."""
        self.fired = ""
        """Name of the operation that failed first; empty while none has."""

    def _count(self, name: str) -> None:
        self.operations += 1
        if self.operations == self.fail_at:
            self.fired = name
        elif not (self.fired and self.mode == "dead"):
            return
        raise OSError(self.code, os.strerror(self.code))

    def _need_room(self) -> None:
        if self.full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def open(self, path: Path, flags: int, mode: int = 0o600) -> int:
        self._count("open")
        return super().open(path, flags, mode)

    def write(self, fd: int, data: bytes | memoryview) -> int:
        self._need_room()
        alive = not self.fired
        try:
            self._count("write")
        except OSError:
            if alive:
                os.write(fd, bytes(data)[: int(len(data) * self.landed)])
            raise
        return super().write(fd, data)

    def truncate(self, fd: int, size: int) -> None:
        self._count("truncate")
        super().truncate(fd, size)

    def allocate(self, fd: int, size: int) -> None:
        self._need_room()
        self._count("allocate")
        super().allocate(fd, size)

    def sync(self, fd: int) -> None:
        self._count("sync")
        os.fstat(fd)  # a wrong descriptor is still an error

    def rename(self, source: Path, target: Path) -> None:
        self._count("rename")
        super().rename(source, target)

    def unlink(self, path: Path) -> None:
        self._count("unlink")
        super().unlink(path)

    def make_directory(self, path: Path) -> None:
        self._count("make_directory")
        super().make_directory(path)

    def sync_directory(self, path: Path) -> None:
        self._count("sync_directory")
        path.stat()


def every_fault(code: int, mode: Mode, landed: float = 0.0) -> Iterator[FaultyDisk]:
    """Yield a disk that fails at its first operation, then one that fails at its second, until none fails any more."""
    for fail_at in range(1, 1000):
        disk = FaultyDisk(fail_at, code, mode=mode, landed=landed)
        yield disk
        if not disk.fired:
            assert fail_at > 3, "nothing was ever asked of the disk"
            return
    raise AssertionError("a thousand operations were not enough")
