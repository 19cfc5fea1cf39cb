"""The thread that syncs the journal's file, so that no write waits for a sync: on a busy disk one takes 60 ms and more.

The writer's thread owns everything else. It begins a sync, is notified of its end, and takes its result.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from queue import SimpleQueue

from supervisor.runtime.clock import Clock


@dataclass(frozen=True, slots=True)
class SyncJob:
    """Records that are on the disk once a sync has ended."""

    fd: int
    n: int
    """Number of the last record that was written before."""
    written_bytes: int
    """Bytes written before, since the start."""


@dataclass(frozen=True, slots=True)
class Done:
    """The result of a sync."""

    job: SyncJob
    seconds: float
    error: BaseException | None


class SyncThread:
    """One sync at a time. Used from one thread, the writer's.

    Args:
        sync: Brings a file's bytes to the disk. Blocks.
        clock: Only for how long it took.
        on_done: Called in this thread once a sync has ended.
    """

    def __init__(self, sync: Callable[[int], None], clock: Clock, on_done: Callable[[], None]) -> None:
        self._sync, self._clock, self._on_done = sync, clock, on_done
        self._jobs: SimpleQueue[SyncJob | None] = SimpleQueue()
        self._ended = threading.Event()
        self._done: Done | None = None
        self.busy = False
        """Whether one was begun that was not taken."""
        self._thread = threading.Thread(target=self._run, name="journal-sync", daemon=True)
        self._thread.start()

    def begin(self, job: SyncJob) -> None:
        """Begin a sync, none being under way; what is written meanwhile is not in it."""
        assert not self.busy
        self.busy = True
        self._ended.clear()
        self._jobs.put(job)

    def take(self, *, wait: bool = False) -> Done | None:
        """Return the result of the sync that was begun, once.

        None if there is none, or if it has not ended and `wait` is off.
        """
        if not self.busy or not (wait or self._ended.is_set()):
            return None
        self._ended.wait()
        self.busy = False
        return self._done

    def close(self) -> None:
        """End the thread, once the sync under way has ended."""
        self._jobs.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            began, error = self._clock.mono(), None
            try:
                self._sync(job.fd)
            except BaseException as failure:  # noqa: BLE001 - whatever it is, the writer must know
                error = failure
            self._done = Done(job, self._clock.mono() - began, error)
            self._ended.set()
            self._on_done()
