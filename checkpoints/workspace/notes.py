"""The kernel's notes of changes, inotify(7), read for many workspaces by a few threads.

An instance a workspace would use up what the kernel gives a user (`fs.inotify.max_user_instances`, 128 by default) at
128 agents. So a few instances serve all, and each reads for several workspaces what its queue holds, a slice at a time.
"""

import array
import ctypes
import errno
import fcntl
import os
import select
import struct
import termios
import threading
from typing import Protocol

_libc = ctypes.CDLL(None, use_errno=True)

MODIFY, ATTRIB, CLOSE_WRITE = 0x2, 0x4, 0x8
MOVED_FROM, MOVED_TO, CREATE, DELETE = 0x40, 0x80, 0x100, 0x200
DELETE_SELF, MOVE_SELF, OVERFLOW, IGNORED = 0x400, 0x800, 0x4000, 0x8000
ONLYDIR, MASK_ADD, ISDIR = 0x01000000, 0x20000000, 0x40000000

_MASK = MODIFY | ATTRIB | CLOSE_WRITE | MOVED_FROM | MOVED_TO | CREATE | DELETE | ONLYDIR | MASK_ADD
_ROOT_MASK = _MASK | DELETE_SELF | MOVE_SELF
_NOTE = struct.Struct("iIII")

SLICE_BYTES = 16 * 1024
"""Notes taken at once while others wait, in bytes: some 400 notes, about a millisecond. The event loop may be among
the others."""

MOST_QUEUES = 8
"""Instances for all workspaces. If a queue overflows, all its workspaces are scanned in full, so a few agents get
one each. The kernel gives a user 128 by default, and editors need some of them."""


class Listener(Protocol):
    """A receiver of notes. Called with the queue's mutex held."""

    def note(self, number: int, mask: int, name: bytes, position: int) -> None:
        """Something happened in the folder of this watch.

        Args:
            number: The watch.
            mask: What happened.
            name: Of what in the folder; empty if it was the folder itself.
            position: Where the note was in the queue's stream, in bytes.
        """
        ...

    def ran_over(self) -> None:
        """Notes were lost."""
        ...

    def unwatched(self, number: int) -> None:
        """The kernel dropped this watch: the folder is gone."""
        ...


class NoteQueue:
    """One inotify instance, and the thread that keeps its queue (16,384 notes by default) from running over.

    Raises:
        OSError: The kernel gives no instance.
    """

    def __init__(self) -> None:
        self.mutex = threading.RLock()
        """Held while anything of the queue or of its listeners changes."""
        self.listeners: set[Listener] = set()
        self._of: dict[int, tuple[Listener, ...]] = {}
        """The listeners of each watch: nearly always one; two if a workspace lies within another."""
        self._consumed = 0
        self._fd: int = _libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), "inotify_init1 failed")
        self._end_read, self._end_write = os.pipe2(os.O_CLOEXEC)
        self._thread = threading.Thread(target=self._keep_empty, name="checkpoint-watch", daemon=True)
        self._thread.start()

    def watch(self, listener: Listener, fd: int, *, root: bool) -> int:
        """Watch an open folder for a listener, and return the watch's number.

        Args:
            listener: The receiver of its notes.
            fd: The folder.
            root: Whether the folder's own end is noted as well.

        Raises:
            OSError: The kernel refuses.
        """
        with self.mutex:
            number: int = _libc.inotify_add_watch(self._fd, b"/proc/self/fd/%d" % fd, _ROOT_MASK if root else _MASK)
            if number < 0:
                raise OSError(ctypes.get_errno(), "inotify_add_watch failed")
            others = self._of.get(number, ())
            if listener not in others:
                self._of[number] = (*others, listener)
            return number

    def unwatch(self, listener: Listener, number: int) -> None:
        """Tell a listener no more of this watch; the kernel keeps it while another listens."""
        with self.mutex:
            others = tuple(one for one in self._of.get(number, ()) if one is not listener)
            if others:
                self._of[number] = others
            elif self._of.pop(number, None) is not None:
                _libc.inotify_rm_watch(self._fd, number)

    def read_slice(self) -> bool:
        """Hand on one slice of notes; False if there was none."""
        with self.mutex:
            if self._fd < 0:
                return False
            try:
                data = os.read(self._fd, SLICE_BYTES)
            except BlockingIOError:
                return False
            self._hand_on(data)
            self._consumed += len(data)
            return True

    def read_what_is_there(self) -> None:
        """Hand on all that was noted before this call; others get their turn between two slices."""
        upto = self.position
        while self._consumed < upto and self.read_slice():
            pass

    @property
    def position(self) -> int:
        """Position of the next note in the queue's stream, in bytes."""
        with self.mutex:
            if self._fd < 0:
                return self._consumed
            waiting = array.array("i", [0])
            fcntl.ioctl(self._fd, termios.FIONREAD, waiting)
            return self._consumed + waiting[0]

    def close(self) -> None:
        """Give the instance back, and with it all watches."""
        with self.mutex:
            fd, self._fd = self._fd, -1
            self._of.clear()
        if fd >= 0:
            os.write(self._end_write, b"x")
            self._thread.join()
            for each in (fd, self._end_read, self._end_write):
                os.close(each)

    def _keep_empty(self) -> None:
        poll = select.poll()
        poll.register(self._fd, select.POLLIN)
        poll.register(self._end_read, select.POLLIN)
        while True:
            ready = {fd for fd, _ in poll.poll()}
            if self._end_read in ready:
                return
            self.read_slice()

    def _hand_on(self, data: bytes) -> None:
        at = 0
        while at < len(data):
            begin = at
            number, mask, _, length = _NOTE.unpack_from(data, at)
            at += _NOTE.size
            name = data[at : at + length].rstrip(b"\0")
            at += length
            if mask & OVERFLOW:
                for listener in self.listeners:
                    listener.ran_over()
            elif mask & IGNORED:
                for listener in self._of.pop(number, ()):
                    listener.unwatched(number)
            else:
                for listener in self._of.get(number, ()):
                    listener.note(number, mask, name, self._consumed + begin)


class NoteQueues:
    """The instances that watchers share: one each while there are few, then the one with the fewest.

    Args:
        most: How many there may be.
    """

    def __init__(self, most: int = MOST_QUEUES) -> None:
        self._most = most
        self._mutex = threading.Lock()
        self._queues: list[NoteQueue] = []

    def join(self, listener: Listener) -> NoteQueue:
        """Return the queue for a new listener.

        Raises:
            OSError: The kernel gives no instance, and there is none to share.
        """
        with self._mutex:
            queue = self._made() or min(self._queues, key=lambda one: len(one.listeners))
            with queue.mutex:
                queue.listeners.add(listener)
            return queue

    def leave(self, queue: NoteQueue, listener: Listener) -> None:
        """Remove a listener, and close a queue without listeners. Blocks until its thread has ended."""
        with self._mutex:
            with queue.mutex:
                queue.listeners.discard(listener)
                idle = not queue.listeners
            if not idle or queue not in self._queues:
                return
            self._queues.remove(queue)
        queue.close()

    def __len__(self) -> int:
        """Return how many instances there are."""
        return len(self._queues)

    def _made(self) -> NoteQueue | None:
        """Return a new queue; None at the limit, or if the kernel refuses one and there are others."""
        if len(self._queues) >= self._most:
            return None
        try:
            queue = NoteQueue()
        except OSError:
            if not self._queues:
                raise
            return None
        self._queues.append(queue)
        return queue


def try_watching() -> str:
    """Watch the root for a moment, and return why the kernel refuses to; empty if it does not."""
    fd = _libc.inotify_init1(os.O_CLOEXEC)
    if fd < 0:
        return refusal(ctypes.get_errno())
    try:
        number = _libc.inotify_add_watch(fd, b"/", _MASK)
        return refusal(ctypes.get_errno()) if number < 0 else ""
    finally:
        os.close(fd)


def refusal(code: int, watched: int = 0) -> str:
    """Say why the kernel does not watch, and what a person can do.

    Args:
        code: The error's number.
        watched: How many folders are watched already.
    """
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
