"""One daemon for one state directory."""

import errno
import fcntl
import os
from pathlib import Path
from types import TracebackType

from monitors.contract.errors import ChaperonError

LOCK_NAME = "lock"
"""The file that the owner holds locked; it has the owner's pid for people to read. The lock is the kernel's: it goes
with the process however that ends, and a file that is left over means nothing."""


class StateDirectoryError(ChaperonError):
    """The state directory cannot be used."""


class StateDirectoryTakenError(StateDirectoryError):
    """Another daemon has it; nothing was changed."""

    def __init__(self, path: Path, pid: int | None) -> None:
        """Name the directory and, where the lock file tells, the other daemon's process."""
        who = f"the daemon with pid {pid}" if pid else "another daemon"
        super().__init__(
            f"The state directory {path} is in use by {who}; nothing was changed.",
            way_out="Use that daemon, stop it first, or give this one another directory by STATE_DIRECTORY.",
        )
        self.path, self.pid = path, pid


class StateDirectory:
    """A state directory that is this process's own until it is released. Made by `take_state_directory`."""

    def __init__(self, path: Path, fd: int) -> None:
        self.path = path
        self._fd: int | None = fd

    def release(self) -> None:
        """Let others have it; nothing happens the second time."""
        fd, self._fd = self._fd, None
        if fd is not None:
            os.close(fd)

    def __enter__(self) -> "StateDirectory":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.release()


def take_state_directory(path: Path) -> StateDirectory:
    """Make the directory if it is missing, and take it for this process alone.

    Raises:
        StateDirectoryTakenError: A living daemon has it.
        StateDirectoryError: It cannot be made, written or locked; says why.
    """
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd = os.open(path / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise _unusable(path, error) from error
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _write_pid(fd)
    except BlockingIOError:
        taken = StateDirectoryTakenError(path, _read_pid(fd))
        os.close(fd)
        raise taken from None
    except OSError as error:
        os.close(fd)
        raise _unusable(path, error) from error
    return StateDirectory(path, fd)


def _write_pid(fd: int) -> None:
    """Write the pid for people; with a full disk the lock alone must do."""
    try:
        os.ftruncate(fd, 0)
        os.pwrite(fd, b"%d\n" % os.getpid(), 0)
    except OSError as error:
        if error.errno not in {errno.ENOSPC, errno.EDQUOT}:
            raise


def _read_pid(fd: int) -> int | None:
    text = os.pread(fd, 32, 0).strip()
    return int(text) if text.isdigit() else None


_WAYS_OUT = {
    errno.EROFS: "Mount it writable, or choose another directory by STATE_DIRECTORY.",
    errno.EACCES: "Make this user its owner, or choose another directory by STATE_DIRECTORY.",
    errno.EPERM: "Make this user its owner, or choose another directory by STATE_DIRECTORY.",
    errno.ENOTDIR: "Some part of the path is a file: move it away, or choose another directory by STATE_DIRECTORY.",
    errno.EEXIST: "Something there is no directory: move it away, or choose another directory by STATE_DIRECTORY.",
    errno.ENOSPC: "Make room on that disk.",
    errno.EDQUOT: "Make room in this user's quota.",
    errno.ELOOP: f"Remove the symbolic link {LOCK_NAME!r} in it.",
    errno.ENOLCK: "This file system cannot lock files: choose a directory on a local disk by STATE_DIRECTORY.",
    errno.EOPNOTSUPP: "This file system cannot lock files: choose a directory on a local disk by STATE_DIRECTORY.",
}


def _unusable(path: Path, error: OSError) -> StateDirectoryError:
    reason = os.strerror(error.errno) if error.errno else str(error)
    return StateDirectoryError(
        f"The state directory {path} cannot be used by user {os.geteuid()}: {reason} "
        f"({error.filename or path}). Nothing was started.",
        way_out=_WAYS_OUT.get(error.errno or 0, "Choose another directory by STATE_DIRECTORY."),
    )
