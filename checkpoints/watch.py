"""Which paths changed: the kernel's own notes, read straight from inotify(7).

A library between (watchfiles) was tried and does not serve: it watches ignored folders, follows links out of the
workspace, stops for good at a name that is no UTF-8, and does not pass on that the kernel's queue ran over.

No cookie file is needed to know that all changes were seen. The kernel queues a note before the call that made the
change returns, so whoever reads the queue empty has seen every change that was finished before.

What has no note: writes through a shared memory mapping while it is mapped, writes through a hard link outside the
workspace, and changes that another machine makes on a network file system. The full scan finds those.
"""

import ctypes
import errno
import os
import select
import struct
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from checkpoints.paths import join, self_and_above

_libc = ctypes.CDLL(None, use_errno=True)

_MODIFY, _ATTRIB, _CLOSE_WRITE = 0x2, 0x4, 0x8
_MOVED_FROM, _MOVED_TO, _CREATE, _DELETE = 0x40, 0x80, 0x100, 0x200
_DELETE_SELF, _MOVE_SELF, _OVERFLOW, _IGNORED = 0x400, 0x800, 0x4000, 0x8000
_ONLYDIR, _ISDIR = 0x01000000, 0x40000000
_MASK = _MODIFY | _ATTRIB | _CLOSE_WRITE | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE | _ONLYDIR
_ROOT_MASK = _MASK | _DELETE_SELF | _MOVE_SELF
_OPERATIONS = _CLOSE_WRITE | _MOVED_TO | _DELETE
_NOTE = struct.Struct("iIII")
_READ_BYTES = 1 << 18

MAX_CHANGED = 100_000
"""Changed paths remembered between captures, about 15 MB. Beyond it a full scan is cheaper than the list."""


MAX_NEW = 1_000
"""Changed paths remembered for who looks after each step; what changes more did what nobody would list."""


class Changes(NamedTuple):
    """What happened since the last time somebody asked."""

    paths: frozenset[bytes]
    """What may be otherwise than it was: a file, a link, or a folder with all that is in it."""
    lost: str
    """Why more may have changed than is listed here; empty where nothing else did."""


@dataclass(slots=True)
class _Memory:
    paths: set[bytes] = field(default_factory=set)
    left: set[bytes] = field(default_factory=set)
    """Folders whose watches are to be dropped: they were moved away or removed."""
    lost: str = ""


class Watcher:
    """Watches the folders that it is told of. Safe between threads; a thread of its own empties the kernel's queue."""

    def __init__(self) -> None:
        """Ask the kernel for a queue; where that fails, `problem` says why, and every capture is a full scan."""
        self._mutex = threading.RLock()
        self._memory = _Memory()
        self._new: set[bytes] = set()
        self._path_of: dict[int, bytes] = {}
        self.problem = ""
        """Why changes cannot be told from notes; empty where they can."""
        self.operations = 0
        """Files written, moved or deleted in what is watched, each time counted."""
        self._fd = _libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        self._end_read, self._end_write = os.pipe2(os.O_CLOEXEC)
        self._thread: threading.Thread | None = None
        if self._fd < 0:
            self.problem = _refusal(ctypes.get_errno())
            return
        self._thread = threading.Thread(target=self._empty_queue, name="checkpoint-watch", daemon=True)
        self._thread.start()

    @property
    def folders(self) -> int:
        """How many folders are watched."""
        return len(self._path_of)

    def watch(self, path: bytes, fd: int) -> None:
        """Watch an open folder that lies at this path."""
        if self.problem:
            return
        mask = _MASK if path else _ROOT_MASK
        number = _libc.inotify_add_watch(self._fd, b"/proc/self/fd/%d" % fd, mask)
        if number < 0:
            self._give_up(_refusal(ctypes.get_errno(), len(self._path_of)))
            return
        with self._mutex:
            self._path_of[number] = path

    def _give_up(self, why: str) -> None:
        """Stop watching: a watch with gaps is worse than none. Watches are freed for others at once."""
        with self._mutex:
            if not self.problem:
                self.problem = why
                self._path_of.clear()
                self._stop_thread()
                os.close(self._fd)
                self._fd = -1

    def take(self) -> Changes:
        """Return what changed since the last call, up to and including what was finished before this one."""
        with self._mutex:
            self._read_queue()
            self._drop_left()
            memory, self._memory = self._memory, _Memory()
        return Changes(frozenset(memory.paths), self.problem or memory.lost)

    def look(self) -> frozenset[bytes]:
        """Return what changed since the last look, beside what captures take; empty where changes are not told."""
        with self._mutex:
            self._read_queue()
            new, self._new = self._new, set()
        return frozenset(new)

    def put_back(self, changes: Changes) -> None:
        """Take back what `take` gave: the capture it was for did not happen."""
        with self._mutex:
            self._memory.paths |= changes.paths
            self._memory.lost = self._memory.lost or changes.lost

    def add(self, paths: Iterable[bytes]) -> None:
        """Count these paths as changed."""
        with self._mutex:
            self._memory.paths.update(paths)

    def lose(self, why: str) -> None:
        """Count everything as changed: the next capture is a full scan."""
        with self._mutex:
            self._memory.lost = why

    def close(self) -> None:
        """Stop watching."""
        self._give_up("The watch was closed.")
        for fd in (self._end_read, self._end_write):
            if fd >= 0:
                os.close(fd)
        self._end_read = self._end_write = -1

    # ── the queue ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _stop_thread(self) -> None:
        os.write(self._end_write, b"x")
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            self._mutex.release()
            try:
                thread.join()
            finally:
                self._mutex.acquire()

    def _empty_queue(self) -> None:
        """Keep the kernel's queue (16,384 notes by default) from running over between captures."""
        poll = select.poll()
        poll.register(self._fd, select.POLLIN)
        poll.register(self._end_read, select.POLLIN)
        while True:
            ready = {fd for fd, _ in poll.poll()}
            if self._end_read in ready:
                return
            with self._mutex:
                if not self.problem:
                    self._read_queue()

    def _read_queue(self) -> None:
        while self._fd >= 0:
            try:
                data = os.read(self._fd, _READ_BYTES)
            except BlockingIOError:
                return
            self._take_notes(data)

    def _take_notes(self, data: bytes) -> None:
        at = 0
        while at < len(data):
            number, mask, _, length = _NOTE.unpack_from(data, at)
            at += _NOTE.size
            name = data[at : at + length].rstrip(b"\0")
            at += length
            if mask & _OVERFLOW:
                self._memory.lost = "The kernel's queue of changes ran over."
            elif mask & _IGNORED:
                self._path_of.pop(number, None)
            elif (folder := self._path_of.get(number)) is not None:
                self._take_note(folder, mask, name)
        if len(self._memory.paths) > MAX_CHANGED:
            self._memory.paths.clear()
            self._memory.lost = f"More than {MAX_CHANGED:,} paths changed."

    def _take_note(self, folder: bytes, mask: int, name: bytes) -> None:
        if mask & (_DELETE_SELF | _MOVE_SELF):
            if not folder:
                self._memory.lost = "The workspace was moved or deleted."
            return
        if not name:
            return
        path = join(folder, name)
        self._memory.paths.add(path)
        if len(self._new) < MAX_NEW:
            self._new.add(path)
        self.operations += bool(mask & _OPERATIONS and not mask & _ISDIR)
        if mask & _ISDIR and mask & (_MOVED_FROM | _DELETE):
            self._memory.left.add(path)
            if len(self._memory.left) > _MANY_LEFT:
                self._drop_left()

    def _drop_left(self) -> None:
        """Drop the watches of folders that were moved away: where they are now is looked at anew, and watched anew."""
        left, self._memory.left = self._memory.left, set()
        if not left:
            return
        for number, path in list(self._path_of.items()):
            if any(above in left for above in self_and_above(path)):
                del self._path_of[number]
                _libc.inotify_rm_watch(self._fd, number)


_MANY_LEFT = 10_000


def _refusal(code: int, watched: int = 0) -> str:
    if code == errno.ENOSPC:
        return (
            f"The kernel refuses to watch more than {watched} folders (fs.inotify.max_user_watches); every capture reads "
            "all files. Raise it with `sysctl fs.inotify.max_user_watches=1048576`."
        )
    if code == errno.EMFILE:
        return (
            "The kernel refuses another watcher (fs.inotify.max_user_instances); every capture reads all files. "
            "Raise it with `sysctl fs.inotify.max_user_instances=1024`."
        )
    return f"The kernel refuses to watch folders ({os.strerror(code)}); every capture reads all files."
