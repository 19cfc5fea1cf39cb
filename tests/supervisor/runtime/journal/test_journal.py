import errno
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from host.durable import Disk
from supervisor.protocol.events import LineReceived, TimerFired
from supervisor.runtime.journal.journal import (
    Journal,
    JournalClosedError,
    JournalError,
    JournalFullError,
    JournalPoisonedError,
    JournalState,
    JournalUnwrittenError,
)
from supervisor.runtime.journal.reader import list_segments, read_records
from supervisor.runtime.journal.writing import writer
from tests.faults import FaultyDisk, Mode, every_fault

SMALL = 700
"""Segment size in bytes at which some four small events begin a new file."""


@pytest.fixture(autouse=True)
def _no_blocking_calls() -> None:
    """Here the journal is opened and looked at in the loop, by the tests themselves and between two steps."""


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "journal"


def event(name: object) -> TimerFired:
    return TimerFired(agent="a1", at=1.5, mono=2.5, name=str(name))


@contextmanager
def opened(directory: Path, **options: Any) -> Iterator[Journal]:
    """Open a journal and close it however the test ends; a failure that the test provoked is not raised again."""
    journal, _ = Journal.open(directory, **options)
    try:
        yield journal
    finally:
        try:
            journal.close()
        except JournalError:
            if journal.state is not JournalState.POISONED:
                raise


def names(directory: Path) -> list[str]:
    return [record.event.name for record in read_records(directory) if isinstance(record.event, TimerFired)]


# ── writing ───────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_what_was_appended_is_there_after_reopening_in_the_order_of_the_calls(directory: Path) -> None:
    with opened(directory) as journal:
        assert [journal.append(event(i)) for i in range(500)] == list(range(1, 501))
    again, recovery = Journal.open(directory)
    assert (recovery.records, recovery.n, recovery.torn) == (500, 500, None)
    assert [record.event for record in again.read()] == [event(i) for i in range(500)]
    assert again.append(event("next")) == 501
    again.close()
    assert names(directory)[-1] == "next"


async def test_written_means_that_another_process_can_read_it(directory: Path) -> None:
    with opened(directory) as journal:
        for i in range(20):
            await journal.written(journal.append(event(i)))
            assert names(directory)[-1] == str(i)
            assert journal.last_written == journal.last == i + 1


async def test_synced_means_that_the_disk_was_told(directory: Path) -> None:
    synced: list[int] = []

    class Watched(FaultyDisk):
        def sync(self, fd: int) -> None:
            super().sync(fd)
            synced.append(os.fstat(fd).st_size)

    with opened(directory, disk=Watched()) as journal:
        n = journal.append(event("x"))
        await journal.synced(n)
        assert synced[-1] == list_segments(directory)[0].path.stat().st_size
        assert journal.last_synced == n


async def test_records_are_synced_soon_even_if_nobody_asks(directory: Path) -> None:
    done = threading.Event()

    class Watched(FaultyDisk):
        def sync(self, fd: int) -> None:
            super().sync(fd)
            if os.fstat(fd).st_size > 150:  # more than the header
                done.set()

    with opened(directory, disk=Watched()) as journal:
        journal.append(event("x"))
        assert await anyio.to_thread.run_sync(done.wait, 10)


class Hanging(FaultyDisk):
    """A disk whose syncs hang until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.hangs, self.goes_on = threading.Event(), threading.Event()
        self.lines = False
        """Whether it hangs: not while the journal is opened."""

    def sync(self, fd: int) -> None:
        if self.lines:
            self.hangs.set()
            self.goes_on.wait(60)
        super().sync(fd)


async def test_what_is_written_while_a_sync_hangs_is_acknowledged_and_synced_by_the_next(directory: Path) -> None:
    """Answers wait for the write alone: with 500 agents a sync took 60 ms, and the writes behind it as long."""
    disk = Hanging()
    with opened(directory, disk=disk) as journal:
        await journal.synced(journal.append(event("first")))
        disk.lines = True
        begun = journal.append(event("begun"))
        assert await anyio.to_thread.run_sync(disk.hangs.wait, 60)
        meanwhile = journal.append(event("meanwhile"))
        with anyio.fail_after(60):
            await journal.written(meanwhile)
        assert journal.last_synced < begun
        disk.goes_on.set()
        await journal.synced(meanwhile)
        assert journal.last_synced == meanwhile


async def test_a_sync_that_hangs_bounds_what_is_written_meanwhile(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "MOST_UNSYNCED_BYTES", 1_000)
    disk = Hanging()
    with opened(directory, disk=disk) as journal:
        await journal.synced(journal.append(event("first")))
        disk.lines = True
        await journal.written(journal.append(event("x" * 1_000)))
        assert await anyio.to_thread.run_sync(disk.hangs.wait, 60)
        waits = journal.append(event("it waits"))
        while journal._writer._queue.qsize():  # until the writer took it up
            await anyio.sleep(0)
        assert b"it waits" not in list_segments(directory)[0].path.read_bytes()
        disk.goes_on.set()
        await journal.written(waits)


async def test_many_records_share_one_write_and_one_sync(directory: Path) -> None:
    gate = threading.Event()

    class Slow(FaultyDisk):
        writes = syncs = 0

        def write(self, fd: int, data: bytes | memoryview) -> int:
            gate.wait(60)
            self.writes += 1
            return super().write(fd, data)

    disk = Slow()
    with opened(directory, disk=disk) as journal:
        for i in range(300):
            n = journal.append(event(i))
        gate.set()
        await journal.synced(n)
        assert disk.writes <= 3  # the header, the first record, all others


async def test_waiting_for_a_record_yet_to_come_ends_when_it_comes(directory: Path) -> None:
    with opened(directory) as journal:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(journal.written, 2)
            tasks.start_soon(journal.synced, 2)
            await anyio.lowlevel.checkpoint()
            journal.append(event(1))
            journal.append(event(2))
        assert journal.last_synced == 2


async def test_a_waiter_that_is_cancelled_disturbs_no_other(directory: Path) -> None:
    with opened(directory) as journal:
        with anyio.move_on_after(0):
            await journal.written(1)
        await journal.written(journal.append(event(1)))
        assert journal.last_written == 1


async def test_the_event_may_change_hands_after_append(directory: Path) -> None:
    frame = {"a": [1]}
    with opened(directory) as journal:
        journal.append(LineReceived(agent="a", at=1.0, mono=1.0, end=1, frame=frame))
        frame["a"].append(2)
    (record,) = read_records(directory)
    assert isinstance(record.event, LineReceived)
    assert record.event.frame == {"a": [1]}


async def test_a_new_file_begins_where_one_is_full_and_the_chain_goes_on(directory: Path) -> None:
    with opened(directory, segment_bytes=SMALL) as journal:
        for i in range(50):
            journal.append(event(i))
        journal.append(event("long" * 1000))
        journal.append(event("last"))
    segments = list_segments(directory)
    assert len(segments) > 5
    assert all(segment.path.stat().st_size <= SMALL for segment in segments[:-2])
    assert len(names(directory)) == 52
    _, recovery = Journal.open(directory)
    assert recovery.records == 52


async def test_a_closed_journal_takes_nothing_and_says_so(directory: Path) -> None:
    journal, _ = Journal.open(directory)
    journal.append(event(1))
    journal.close()
    journal.close()
    assert journal.state is JournalState.CLOSED
    with pytest.raises(JournalClosedError, match="closed"):
        journal.append(event(2))
    await journal.written(1)
    with pytest.raises(JournalClosedError):
        await journal.written(2)


# ── a disk that fails ─────────────────────────────────────────────────────────────────────────────────────────────────


async def run_against(disk: Disk, directory: Path) -> tuple[list[str], list[str]]:
    """Write twelve events to a journal on this disk; return the names appended, and those acknowledged."""
    appended: list[str] = []
    acknowledged: list[str] = []
    try:
        journal, _ = Journal.open(directory, disk=disk, segment_bytes=SMALL)
    except JournalPoisonedError:
        return appended, acknowledged
    try:
        for i in range(12):
            n = journal.append(event(i))
            appended.append(str(i))
            await (journal.synced(n) if i % 4 == 3 else journal.written(n))
            acknowledged.append(str(i))
    except JournalPoisonedError:
        assert journal.state is JournalState.POISONED
        with pytest.raises(JournalPoisonedError):
            journal.append(event("after"))
        with pytest.raises(JournalPoisonedError):
            await journal.written(journal.last)
        with pytest.raises(JournalPoisonedError):
            journal.close()
    else:
        with_suppressed_poison(journal)
    return appended, acknowledged


def with_suppressed_poison(journal: Journal) -> None:
    try:
        journal.close()
    except JournalPoisonedError:
        assert journal.state is JournalState.POISONED


@pytest.mark.parametrize("mode", ["once", "dead"])
@pytest.mark.parametrize("landed", [0.0, 0.5, 1.0])
async def test_whatever_operation_fails_all_that_was_acknowledged_is_there_once_and_in_order(
    tmp_path: Path, mode: Mode, landed: float
) -> None:
    for disk in every_fault(errno.EIO, mode, landed):
        directory = tmp_path / f"journal-{disk.fail_at}"
        appended, acknowledged = await run_against(disk, directory)
        journal, _ = Journal.open(directory, segment_bytes=SMALL)
        found = [record.event for record in journal.read()]
        assert found[: len(acknowledged)] == [event(name) for name in acknowledged]
        assert found == [event(name) for name in appended[: len(found)]]
        await journal.synced(journal.append(event("after")))
        journal.close()
        assert names(directory) == [*appended[: len(found)], "after"]
    assert len(acknowledged) == 12


async def test_no_room_for_one_operation_loses_nothing_and_stops_nothing_but_a_failed_sync(tmp_path: Path) -> None:
    for disk in every_fault(errno.ENOSPC, "once", 0.5):
        directory = tmp_path / f"journal-{disk.fail_at}"
        _, acknowledged = await run_against(disk, directory)
        if disk.fired in {"", "write", "allocate", "rename"}:
            assert len(acknowledged) == 12, disk.fired
            assert names(directory) == acknowledged


async def test_after_a_failed_sync_nothing_is_acknowledged_and_no_sync_is_tried_again(directory: Path) -> None:
    class BadSync(FaultyDisk):
        bad = False
        tried = 0

        def sync(self, fd: int) -> None:
            if self.bad:
                self.tried += 1
                raise OSError(errno.EIO, "bad disk")
            super().sync(fd)

    disk = BadSync()
    with opened(directory, disk=disk) as journal:
        await journal.synced(journal.append(event("good")))
        disk.bad = True
        n = journal.append(event("lost"))
        with pytest.raises(
            JournalPoisonedError, match=r"Input/output error \(errno 5\).*start the daemon again"
        ) as caught:
            await journal.synced(n)
        assert caught.value.errno == errno.EIO
        assert await journal.changed(JournalState.OPEN) is JournalState.POISONED
        with pytest.raises(JournalPoisonedError):
            journal.append(event("later"))
        with pytest.raises(JournalPoisonedError):
            await journal.room()
        await journal.synced(1)
        assert disk.tried == 1


async def test_all_who_wait_are_told_of_the_poison(directory: Path) -> None:
    told: list[int] = []
    disk = FaultyDisk()

    async def wait(journal: Journal, n: int) -> None:
        with pytest.raises(JournalPoisonedError):
            await journal.written(n)
        told.append(n)

    with opened(directory, disk=disk) as journal:
        await journal.written(journal.append(event(1)))
        async with anyio.create_task_group() as tasks:
            for n in range(2, 12):
                tasks.start_soon(wait, journal, n)
            await anyio.lowlevel.checkpoint()
            disk.fail_at = disk.operations + 1
            for n in range(2, 12):
                journal.append(event(n))
        assert sorted(told) == list(range(2, 12))


async def test_a_journal_that_cannot_be_opened_says_why(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(JournalPoisonedError, match="Not a directory"):
        Journal.open(tmp_path / "file" / "journal")


# ── a disk that is full ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def _retries_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "RETRY_SECONDS", 0.005)


@pytest.mark.usefixtures("_retries_at_once")
async def test_a_full_disk_is_waited_for_and_nothing_is_lost(directory: Path) -> None:
    disk = FaultyDisk()
    with opened(directory, disk=disk, segment_bytes=SMALL) as journal:
        await journal.written(journal.append(event(0)))
        disk.full = True
        for i in range(1, 30):
            n = journal.append(event(i))
        assert await journal.changed(JournalState.OPEN) is JournalState.FULL
        assert not journal.accepting
        assert not (directory / "reserve").exists()
        assert journal.append(event("emergency")) == n + 1
        with anyio.move_on_after(0.05) as waited:
            await journal.written(n)
        assert waited.cancelled_caught
        disk.full = False
        await journal.room()
        assert await journal.changed(JournalState.FULL) is JournalState.OPEN
        assert (directory / "reserve").exists()
        await journal.synced(n + 1)
    assert names(directory) == [*map(str, range(30)), "emergency"]


@pytest.mark.usefixtures("_retries_at_once")
async def test_the_reserve_takes_the_emergency_while_the_disk_stays_full(directory: Path) -> None:
    class RoomOfTheReserve(FaultyDisk):
        """Full but for what the reserve gave back."""

        def unlink(self, path: Path) -> None:
            if path.name == "reserve" and path.exists():
                self.room = True
            super().unlink(path)

        room = True

        def write(self, fd: int, data: bytes | memoryview) -> int:
            if self.full and not self.room:
                raise OSError(errno.ENOSPC, "full")
            return os.write(fd, data)

    disk = RoomOfTheReserve()
    with opened(directory, disk=disk) as journal:
        await journal.written(journal.append(event("before")))
        disk.full, disk.room = True, False
        await journal.written(journal.append(event("under way")))
        assert await journal.changed(JournalState.OPEN) is JournalState.FULL
        await journal.synced(journal.append(event("emergency")))
        assert names(directory) == ["before", "under way", "emergency"]
        disk.full = False
        await journal.room()


@pytest.mark.usefixtures("_retries_at_once")
async def test_more_than_may_wait_is_refused_by_size(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("supervisor.runtime.journal.journal.QUEUE_BYTES", 1000)
    disk = FaultyDisk()
    with opened(directory, disk=disk) as journal:
        await journal.written(journal.append(event(0)))
        disk.full = True
        taken: list[str] = []
        while journal.queued_bytes <= 1000:
            journal.append(event(len(taken) + 1))
            taken.append(str(len(taken) + 1))
        with pytest.raises(JournalFullError, match=r"The event was not taken\. Make room") as caught:
            journal.append(event("one too many"))
        assert caught.value.queued_bytes > 1000
        disk.full = False
        await journal.room()
        await journal.written(journal.last)
        assert journal.queued_bytes == 0
    assert names(directory) == ["0", *taken]


@pytest.mark.usefixtures("_retries_at_once")
async def test_closing_on_a_full_disk_says_that_not_all_was_written(directory: Path) -> None:
    disk = FaultyDisk()
    journal, _ = Journal.open(directory, disk=disk)
    await journal.synced(journal.append(event("kept")))
    disk.full = True
    n = journal.append(event("not kept"))
    with pytest.raises(JournalUnwrittenError):
        journal.close()
    with pytest.raises(JournalUnwrittenError):
        await journal.written(n)
    assert names(directory) == ["kept"]


async def test_a_disk_that_cannot_keep_up_is_seen_by_the_caller(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("supervisor.runtime.journal.journal.PRESSURE_BYTES", 2000)
    gate = threading.Event()

    class Slow(FaultyDisk):
        def write(self, fd: int, data: bytes | memoryview) -> int:
            gate.wait(60)
            return super().write(fd, data)

    with opened(directory, disk=Slow()) as journal:
        n = 0
        while journal.accepting:
            n = journal.append(event("x" * 100))
        assert journal.queued_bytes > 2000
        gate.set()
        await journal.room()
        await journal.written(n)
        assert journal.queued_bytes == 0


# ── readers ───────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_follower_sees_every_line_once_across_files_while_they_are_written(directory: Path) -> None:
    seen: list[int] = []
    with opened(directory, segment_bytes=SMALL) as journal:

        async def follow() -> None:
            async for line in journal.follow():
                assert line.data.endswith(b"}\n")
                assert line.record().n == line.n
                seen.append(line.n)
                if line.n == 200:
                    return

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(follow)
            for i in range(200):
                n = journal.append(event(i))
                if i % 7 == 0:
                    await journal.written(n)
    assert seen == list(range(1, 201))


async def test_a_slow_reader_stalls_no_writer_and_still_gets_all(directory: Path) -> None:
    with opened(directory, segment_bytes=SMALL) as journal:
        journal.append(event(0))
        await journal.written(1)
        follower = journal.follow()
        assert (await anext(follower)).n == 1
        for i in range(1, 500):
            n = journal.append(event(i))
        await journal.synced(n)
        rest = [(await anext(follower)).n for _ in range(499)]
        assert rest == list(range(2, 501))
        await follower.aclose()


async def test_following_what_is_there_ends_with_it(directory: Path) -> None:
    with opened(directory) as journal:
        for i in range(10):
            n = journal.append(event(i))
        await journal.written(n)
        assert [line.n async for line in journal.follow(after=7, live=False)] == [8, 9, 10]
        assert [line.n async for line in journal.follow(after=10, live=False)] == []


async def test_a_live_follower_ends_when_the_journal_is_closed(directory: Path) -> None:
    seen: list[int] = []
    with opened(directory) as journal:

        async def follow() -> None:
            seen.extend([line.n async for line in journal.follow()])

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(follow)
            journal.append(event(1))
            journal.append(event(2))
            await anyio.lowlevel.checkpoint()
            await anyio.to_thread.run_sync(journal.close)
    assert seen == [1, 2]


async def test_reading_begins_behind_any_record(directory: Path) -> None:
    with opened(directory, segment_bytes=SMALL) as journal:
        for i in range(20):
            n = journal.append(event(i))
        await journal.written(n)
        for after in range(21):
            assert [record.n for record in journal.read(after)] == list(range(after + 1, 21))


# ── a daemon that is killed ───────────────────────────────────────────────────────────────────────────────────────────

CHILD = """
import sys, anyio
from pathlib import Path
from supervisor.protocol.events import TimerFired
from supervisor.runtime.journal.journal import Journal

async def main():
    journal, found = Journal.open(Path(sys.argv[1]), segment_bytes=20_000)
    n = found.n
    while True:
        for _ in range(n % 13 + 1):
            n = journal.append(TimerFired(agent="a1", at=1.0, mono=1.0, name=str(n + 1) + "x" * (n % 900)))
        await (journal.written(n) if n % 3 else journal.synced(n))
        print(n, flush=True)

anyio.run(main)
"""


@pytest.mark.parametrize("lines", [0, 1, 2, 17, 60, 150])
async def test_a_killed_writer_leaves_all_that_it_acknowledged(directory: Path, lines: int) -> None:
    acknowledged = 0
    for _ in range(2):
        child = subprocess.Popen([sys.executable, "-c", CHILD, str(directory)], stdout=subprocess.PIPE)
        assert child.stdout is not None
        try:
            for _ in range(lines):
                acknowledged = int(child.stdout.readline())
        finally:
            child.send_signal(signal.SIGKILL)
            rest = child.stdout.read().splitlines(keepends=True)
            child.stdout.close()
            child.wait()
        whole = [int(line) for line in rest if line.endswith(b"\n")]
        acknowledged = max([acknowledged, *whole])
        journal, recovery = Journal.open(directory)
        found = names(directory)
        journal.close()
        assert recovery.n >= acknowledged
        assert [name.rstrip("x") for name in found] == [str(n) for n in range(1, len(found) + 1)]
