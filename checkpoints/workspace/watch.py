"""Changed paths of a workspace, from the kernel's notes (`checkpoints.workspace.notes`).

The library watchfiles was tried and does not serve here: it watches ignored folders, follows links out of the
workspace, stops for good at a name that is no UTF-8, and does not pass on that the kernel's queue ran over.

No cookie file is needed to know that all changes were seen. The kernel queues a note before the call that made the
change returns, so a reader that drained the queue has seen every change that was finished before.

Changes without a note: writes through a shared memory mapping while it is mapped, writes through a hard link outside
the workspace, and changes that another machine makes on a network file system. The full scan finds those.
"""

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from checkpoints.paths import join, self_and_above
from checkpoints.workspace.notes import (
    CLOSE_WRITE,
    DELETE,
    DELETE_SELF,
    ISDIR,
    MOVE_SELF,
    MOVED_FROM,
    MOVED_TO,
    NoteQueue,
    NoteQueues,
    refusal,
)

_OPERATIONS = CLOSE_WRITE | MOVED_TO | DELETE

MAX_CHANGED = 100_000
"""Changed paths remembered between captures, about 15 MB. Beyond it a full scan is cheaper than the list."""

MAX_NEW = 1_000
"""Changed paths remembered for the look after each step. A list of more would not be shown."""

_MANY_LEFT = 10_000


class Changes(NamedTuple):
    """Changes since the last call."""

    paths: frozenset[bytes]
    """Paths that may have changed: a file, a link, or a folder with all its content."""
    lost: str
    """Why more may have changed than is listed here; empty if nothing else did."""


@dataclass(slots=True)
class _Memory:
    paths: set[bytes] = field(default_factory=set)
    left: set[bytes] = field(default_factory=set)
    """Folders whose watches are to be dropped: they were moved away or removed."""
    lost: str = ""


class Watcher:
    """Watches the folders given to it. Safe between threads.

    Args:
        queues: The kernel's queues, shared with other workspaces.
    """

    def __init__(self, queues: NoteQueues | None = None) -> None:
        """Join a queue. If the kernel gives none, `problem` says why, and every capture is a full scan."""
        self._own_mutex = threading.RLock()
        self._memory = _Memory()
        self._new: set[bytes] = set()
        self._new_from = 0
        """Position in the queue's stream from which changes are new."""
        self._path_of: dict[int, bytes] = {}
        self._queues = queues if queues is not None else NoteQueues()
        self._queue: NoteQueue | None = None
        self.problem = ""
        """The reason why changes are not seen by notes; empty if they are."""
        self.operations = 0
        """Files written, moved or deleted in what is watched, each time counted."""
        try:
            self._queue = self._queues.join(self)
        except OSError as error:
            self.problem = refusal(error.errno or 0)

    @property
    def folders(self) -> int:
        """How many folders are watched."""
        return len(self._path_of)

    def watch(self, path: bytes, fd: int) -> None:
        """Watch an open folder that lies at this path."""
        queue = self._queue
        if queue is None:
            return
        try:
            with queue.mutex:
                self._path_of[queue.watch(self, fd, root=not path)] = path
        except OSError as error:
            self._give_up(refusal(error.errno or 0, len(self._path_of)))

    def take(self) -> Changes:
        """Return what changed since the last call, up to and including what was finished before this one."""
        self._read()
        with self._mutex:
            self._drop_left()
            memory, self._memory = self._memory, _Memory()
        return Changes(frozenset(memory.paths), self.problem or memory.lost)

    def pass_over(self) -> None:
        """Make `look` return only changes from now on.

        It is called in the event loop, so it takes a slice of the queue's notes at most. Later notes in the queue are
        recognised as old by their position. The kernel may only have merged the very last of them with one that
        follows.
        """
        queue = self._queue
        if queue is not None:
            with queue.mutex:
                queue.read_slice()
                self._new_from = queue.position
                self._new.clear()

    def look(self) -> frozenset[bytes]:
        """Return the changes since the last look, apart from captures'; empty if notes are not available."""
        self._read()
        with self._mutex:
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
            self._forget_too_many()

    def lose(self, why: str) -> None:
        """Count everything as changed: the next capture is a full scan."""
        with self._mutex:
            self._memory.lost = why

    def close(self) -> None:
        """Stop watching."""
        self._give_up("The watch was closed.")

    # ── what the queue tells, with its mutex held ─────────────────────────────────────────────────────────────────────

    def note(self, number: int, mask: int, name: bytes, position: int) -> None:
        """Note what changed in a watched folder."""
        folder = self._path_of.get(number)
        if folder is None:
            return
        if mask & (DELETE_SELF | MOVE_SELF):
            if not folder:
                self._memory.lost = "The workspace was moved or deleted."
            return
        if not name:
            return
        path = join(folder, name)
        self._memory.paths.add(path)
        if position >= self._new_from and len(self._new) < MAX_NEW:
            self._new.add(path)
        self.operations += bool(mask & _OPERATIONS and not mask & ISDIR)
        if mask & ISDIR and mask & (MOVED_FROM | DELETE):
            self._memory.left.add(path)
            if len(self._memory.left) > _MANY_LEFT:
                self._drop_left()
        self._forget_too_many()

    def ran_over(self) -> None:
        """Notes were lost, of this workspace or of another."""
        self._memory.lost = "The kernel's queue of changes ran over."

    def unwatched(self, number: int) -> None:
        """Forget a watch that the kernel dropped."""
        self._path_of.pop(number, None)

    # ── within ────────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def _mutex(self) -> threading.RLock:
        """The mutex under which the queue delivers notes; its own if it has no queue."""
        queue = self._queue
        return queue.mutex if queue is not None else self._own_mutex

    def _read(self) -> None:
        if self._queue is not None:
            self._queue.read_what_is_there()

    def _forget_too_many(self) -> None:
        if len(self._memory.paths) > MAX_CHANGED:
            self._memory.paths.clear()
            self._memory.lost = f"More than {MAX_CHANGED:,} paths changed."

    def _give_up(self, why: str) -> None:
        """Stop watching: a watch with gaps is worse than none. Watches are freed for others at once."""
        queue = self._queue
        if queue is None:
            return
        with queue.mutex:
            self.problem = self.problem or why
            numbers = list(self._path_of)
            self._path_of.clear()
            for number in numbers:
                queue.unwatch(self, number)
            self._queue = None
        self._queues.leave(queue, self)

    def _drop_left(self) -> None:
        """Drop the watches of folders that were moved away. At their new place they are scanned and watched anew."""
        left, self._memory.left = self._memory.left, set()
        queue = self._queue
        if not left or queue is None:
            return
        for number, path in list(self._path_of.items()):
            if any(above in left for above in self_and_above(path)):
                del self._path_of[number]
                queue.unwatch(self, number)
