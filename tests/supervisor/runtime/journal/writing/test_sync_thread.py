"""The thread that syncs the journal's file."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from supervisor.runtime.clock import Clock
from supervisor.runtime.journal.writing.sync_thread import SyncJob, SyncThread

JOB = SyncJob(fd=7, n=3, written_bytes=300)


@contextmanager
def syncing(sync: Callable[[int], None], on_done: Callable[[], None] = lambda: None) -> Iterator[SyncThread]:
    thread = SyncThread(sync, Clock(), on_done)
    try:
        yield thread
    finally:
        thread.close()


def test_a_sync_is_done_once_and_elsewhere() -> None:
    seen: list[tuple[int, bool]] = []
    ours = threading.get_ident()
    with syncing(lambda fd: seen.append((fd, threading.get_ident() == ours))) as thread:
        assert thread.take(wait=True) is None, "none was begun"
        thread.begin(JOB)
        done = thread.take(wait=True)
        assert done is not None
        assert (done.job, done.error) == (JOB, None)
        assert thread.take() is None, "it was taken"
    assert seen == [(7, False)]


def test_one_that_is_under_way_is_not_waited_for_unless_that_is_asked() -> None:
    goes_on, told = threading.Event(), threading.Event()
    with syncing(lambda _: assert_waited(goes_on), told.set) as thread:
        thread.begin(JOB)
        assert thread.take() is None
        assert thread.busy
        goes_on.set()
        assert told.wait(60)
        assert thread.take() is not None
        assert not thread.busy


def test_what_it_failed_with_is_handed_over() -> None:
    def fail(_: int) -> None:
        raise OSError(5, "Input/output error")

    with syncing(fail) as thread:
        thread.begin(JOB)
        done = thread.take(wait=True)
        assert done is not None
        assert repr(done.error) == "OSError(5, 'Input/output error')"


def assert_waited(event: threading.Event) -> None:
    assert event.wait(60)
