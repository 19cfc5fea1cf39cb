"""What the journal costs: per record, per wait, and against the plain way of doing the same."""

import asyncio
import json
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue

from supervisor.protocol import records
from supervisor.protocol.events import LineReceived
from supervisor.runtime.journal.journal import Journal
from supervisor.runtime.journal.reader import read_lines, read_records
from tests.bench.figures import Figure, middle, percentile

RECORDS = 20_000
WAITS = 2_000
GROUPS = (1, 10, 100, 1000)


def event(size: int) -> LineReceived:
    """Make an event whose line is about so many bytes."""
    frame = {
        "type": "assistant",
        "session_id": "5fadd9c6-8c1b-4a52-9d0e-1f6f0d7f6a11",
        "message": {
            "role": "assistant",
            "content": [{"type": "text", "text": "word " * (max(0, size - 420) // 5)}],
            "usage": {"input_tokens": 12, "output_tokens": 345, "cache_read_input_tokens": 23456},
        },
    }
    return LineReceived(agent="a3", at=1763712900.123, mono=81.25, end=123456, frame=frame)


def micros(work: Callable[[], object], times: int) -> float:
    """Run the work so often and return microseconds a time."""
    began = time.perf_counter()  # a figure of the bench itself, decided on by nobody
    for _ in range(times):
        work()
    return (time.perf_counter() - began) / times * 1e6


async def waits(work: Callable[[], Awaitable[object]], times: int) -> list[float]:
    """Run the work so often and return each one's microseconds."""
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        await work()
        taken.append((time.perf_counter() - began) * 1e6)
    return taken


def middle_and_99th(taken: list[float]) -> str:
    """Say the median and the 99th percentile."""
    return f"{statistics.median(taken):7.0f} µs, 99th percentile {statistics.quantiles(taken, n=100)[98]:7.0f} µs"


@contextmanager
def scratch() -> Iterator[Path]:
    """Give a directory on the disk that holds the temporary files."""
    with tempfile.TemporaryDirectory(prefix="chaperon-bench-") as name:
        yield Path(name)


def bench_codec() -> None:
    """Print what making and reading a line costs."""
    for size in (500, 1000, 4000):
        one = event(size)
        line, line_hash = records.encode(1, one, records.ORIGIN)
        encode = micros(lambda one=one: records.encode(1, one, records.ORIGIN), RECORDS)  # type: ignore[misc]
        check = micros(lambda line=line: records.check(line[:-1], 1, records.ORIGIN), RECORDS)  # type: ignore[misc]
        decode = micros(lambda line=line: records.decode(line, 1, records.ORIGIN), RECORDS)  # type: ignore[misc]
        assert line_hash
        print(
            f"  a line of {len(line):5} bytes: encode {encode:5.1f} µs, check {check:5.1f} µs, "
            f"decode {decode:5.1f} µs ({1e6 / decode:,.0f} a second)"
        )


def bench_plain(directory: Path) -> float:
    """Return microseconds a record of the plain way: json, write, fdatasync."""
    one = {"kind": "line_received", "frame": event(500).frame}
    fd = os.open(directory / "plain", os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def work() -> None:
        os.write(fd, json.dumps(one).encode() + b"\n")
        os.fdatasync(fd)

    try:
        return micros(work, WAITS)
    finally:
        os.close(fd)


async def bench_floor() -> list[float]:
    """Return what it takes to hand something to a thread and hear back, with no work in it."""
    queue: SimpleQueue[asyncio.Future[None] | None] = SimpleQueue()
    loop = asyncio.get_running_loop()

    def answer() -> None:
        while (future := queue.get()) is not None:
            loop.call_soon_threadsafe(future.set_result, None)

    thread = threading.Thread(target=answer)
    thread.start()

    async def ask() -> None:
        future: asyncio.Future[None] = loop.create_future()
        queue.put(future)
        await future

    taken = await waits(ask, WAITS)
    queue.put(None)
    thread.join()
    return taken


async def bench_waits(journal: Journal) -> list[float]:
    """Print what an agent waits for, one record at a time; return the microseconds of each wait for the write."""
    one = event(500)
    written = await waits(lambda: journal.written(journal.append(one)), WAITS)
    print(f"  hand-over to a thread and back:  {middle_and_99th(await bench_floor())}")
    print(f"  append, await written:           {middle_and_99th(written)}")
    print(
        f"  append, await synced:            {middle_and_99th(await waits(lambda: journal.synced(journal.append(one)), WAITS))}"
    )
    return written


async def bench_groups(journal: Journal, plain: float) -> None:
    """Print what a record costs when several are synced together, against the plain way."""
    one = event(500)

    async def group(size: int) -> None:
        for _ in range(size):
            n = journal.append(one)
        await journal.synced(n)

    for size in GROUPS:
        began = time.perf_counter()
        times = max(5, min(WAITS, RECORDS // size))
        for _ in range(times):
            await group(size)
        per_record = (time.perf_counter() - began) / times / size * 1e6
        print(
            f"  synced {size:4} at a time: {per_record:7.1f} µs a record, {plain / per_record:6.1f} times the plain way"
        )


def bench_reading(directory: Path) -> None:
    """Print how fast a journal is checked and read."""
    began = time.perf_counter()
    journal, found = Journal.open(directory)
    opened = time.perf_counter() - began
    journal.close()
    size = sum(path.stat().st_size for path in directory.glob("*.jsonl"))
    print(f"  open and check {found.records:,} records: {opened:.2f} s, {size / opened / 1e6:,.0f} MB/s")
    for name, read in (("lines", read_lines), ("records", read_records)):
        began = time.perf_counter()
        count = sum(1 for _ in read(directory))
        print(f"  read {name + ':':9} {count / (time.perf_counter() - began):10,.0f} a second")


def main() -> list[Figure]:
    """Print all figures; return the one that each answer waits for."""
    print("journal: making and reading lines")
    bench_codec()
    with scratch() as directory:
        plain = bench_plain(directory)
        print(f"journal: what one waits for (plain json, write and fdatasync: {plain:.0f} µs)")
        journal, _ = Journal.open(directory / "journal")
        written = asyncio.run(bench_waits(journal))
        print("journal: group commit")
        asyncio.run(bench_groups(journal, plain))
        journal.close()
        print("journal: reading")
        bench_reading(directory / "journal")
    return [
        Figure("an answer's wait for the journal, median", middle(written), "µs"),
        Figure("an answer's wait for the journal, 99th percentile", percentile(written, 0.99), "µs"),
    ]


if __name__ == "__main__":
    main()
