"""The journal sent to a real server by a real daemon: at least once, in order, through failures, crashes and restarts."""

import os
import random
import select
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from host.durable import RealDisk
from monitors.contract.errors import UsageError
from monitors.contract.words import Severity
from supervisor.protocol import events
from supervisor.protocol.export import ExportRecord, RefusedRecordsError
from supervisor.runtime.daemon.daemon import Daemon
from supervisor.runtime.exporters import delivery
from supervisor.runtime.exporters.delivery import Exporting, ExportPosition, Positions, export_record
from supervisor.runtime.journal.journal import Journal
from supervisor.runtime.journal.reader import list_segments
from supervisor.runtime.metrics.exposition import text
from tests.faults import FaultyDisk
from tests.stages.daemon import Base, ended, served, until
from tests.supervisor.runtime.exporters.collector import Collector, collecting


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is waited for that a person would wait for."""
    monkeypatch.setattr(delivery, "GATHER_SECONDS", 0.01)
    monkeypatch.setattr(delivery, "FIRST_WAIT_SECONDS", 0.01)


def configured(base: Base, collector: Collector, **more: Any) -> None:
    base.config["audit"] = {
        "exporters": [{"name": "siem", "type": "http", "to": collector.url, "begin": "start", **more}]
    }


async def sent(daemon: Daemon) -> None:
    """Wait until the exporter has all of the journal, and its position is kept."""
    await until(lambda: daemon.exporting[0].position == daemon.journal.last)


@pytest.mark.slow
async def test_every_record_of_the_journal_is_sent_in_order_over_restarts(base: Base) -> None:
    with collecting() as collector:
        configured(base, collector)
        for number in (1, 2):
            async with served(base) as (daemon, _):
                await daemon.submit(base.submission(name=f"a{number}"), by="test")
                await ended(daemon, f"a{number}")
                await until(lambda: collector.numbers()[-1:] == [daemon.journal.last])
        async with served(base) as (daemon, _):
            await sent(daemon)
            assert collector.numbers()[-1] == daemon.journal.last
            metrics = await anyio.to_thread.run_sync(lambda: text(daemon.metrics))
            assert 'chaperon_exported_total{exporter="siem",result="sent"}' in metrics
        in_order = list(dict.fromkeys(collector.numbers()))  # what was under way as a daemon ended may come twice
        assert in_order == list(range(1, len(in_order) + 1))


async def test_incidents_alone_can_be_wanted(base: Base) -> None:
    base.cli("raise SystemExit(3)")
    with collecting() as collector:
        configured(base, collector, what="incidents")
        async with served(base) as (daemon, _):
            await daemon.submit(base.submission(), by="test")
            await ended(daemon)
            await sent(daemon)
        assert all(b'"summary":' in body for body in collector.bodies)
        known = {event.incident.id for event in base.events(events.IncidentOpened)}
        assert known
        assert any(id_.encode() in b"".join(collector.bodies) for id_ in known)


async def test_a_new_exporter_begins_with_what_comes_unless_it_wants_all(base: Base) -> None:
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="test")
        await ended(daemon)
    had = len(base.records())
    with collecting() as collector:
        configured(base, collector, begin="now")
        async with served(base) as (daemon, _):
            await until(lambda: bool(collector.numbers()))
        assert collector.numbers()[0] == had + 1


async def test_a_server_that_fails_is_tried_again_until_it_takes_all_and_a_person_is_told_once(base: Base) -> None:
    with collecting() as collector:
        collector.answers += [(503, b"")] * 6
        configured(base, collector)
        async with served(base) as (daemon, _):
            await sent(daemon)
        assert collector.numbers() == sorted(collector.numbers())
        told = [one for one in base.incidents() if one["type"] == "export_failing-siem"]
        assert len(told) == 1
        assert "503" in told[0]["summary"]


async def test_a_record_that_is_refused_for_good_is_passed_over_alone_and_told(base: Base) -> None:
    async with journal_of(base, 9) as journal:
        sent: list[int] = []

        class Picky:
            name = "picky"
            begins = "start"

            def send(self, records: Sequence[ExportRecord]) -> None:
                if 4 in (record.n for record in records):
                    raise RefusedRecordsError("4 is unlucky")
                sent.extend(record.n for record in records)

        faults = await exported(journal, Picky(), base.root, up_to=9)
        assert sent == [1, 2, 3, 5, 6, 7, 8, 9]
        assert [type_ for type_, _ in faults] == ["export_refused-picky"]
        assert "record 4" in faults[0][1]


async def test_of_a_batch_that_was_taken_in_part_nothing_is_sent_again(base: Base) -> None:
    async with journal_of(base, 9) as journal:
        sent: list[int] = []

        class Partial:
            name = "partial"
            begins = "start"

            def send(self, records: Sequence[ExportRecord]) -> None:
                sent.extend(record.n for record in records)
                raise RefusedRecordsError("too old", of_taken=2)

        faults = await exported(journal, Partial(), base.root, up_to=9)
        assert sent == list(range(1, 10))
        assert [type_ for type_, _ in faults] == ["export_refused-partial"]
        assert "2 of the records 1 to 9" in faults[0][1]


async def test_nothing_is_sent_that_the_machines_end_could_take_back(base: Base) -> None:
    may_sync = threading.Event()
    may_sync.set()

    class HeldDisk(RealDisk):
        def sync(self, fd: int) -> None:
            may_sync.wait(20)
            super().sync(fd)

    journal, _ = await anyio.to_thread.run_sync(lambda: Journal.open(base.places.journal, disk=HeldDisk()))
    journal.append(events.TimerFired(agent="a1", at=0.0, mono=0.0, name="t1"))
    await journal.synced(1)  # a new file is synced as it is made
    may_sync.clear()
    journal.append(events.TimerFired(agent="a1", at=0.0, mono=0.0, name="t2"))
    await journal.written(2)
    kept = Kept()
    made = await anyio.to_thread.run_sync(make, journal, kept, base.root, [])
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(made.run)
            for _ in range(30):
                await anyio.to_thread.run_sync(select.select, [], [], [], 0.005)
            assert (journal.last_synced, kept.numbers) == (1, [])
            may_sync.set()
            await until(lambda: kept.numbers == [1, 2])
            tasks.cancel_scope.cancel()
    finally:
        may_sync.set()
        await anyio.to_thread.run_sync(journal.close)


async def test_a_delivery_that_hangs_is_given_up_and_not_begun_beside_itself(base: Base) -> None:
    async with journal_of(base, 3) as journal:
        calls, let_go = [0], threading.Event()

        class Hangs:
            name = "hangs"
            begins = "start"
            timeout_seconds = 0.05

            def send(self, _records: Sequence[ExportRecord]) -> None:
                calls[0] += 1
                if calls[0] == 1:
                    let_go.wait(20)

        exporter = Hangs()
        faults: list[tuple[str, str]] = []
        made = await anyio.to_thread.run_sync(make, journal, exporter, base.root, faults)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(made.run)
            await until(lambda: bool(faults))
            assert calls == [1]
            let_go.set()
            await until(lambda: made.position == 3)
            tasks.cancel_scope.cancel()
        assert faults[0][0] == "export_failing-hangs"
        assert calls[0] >= 2


async def test_a_delivery_under_way_at_the_end_lets_go_of_its_connection_once_it_is_done(base: Base) -> None:
    async with journal_of(base, 3) as journal:
        sending, go_on, closed = threading.Event(), threading.Event(), threading.Event()

        class Slow:
            name = "slow"
            begins = "start"

            def send(self, _records: Sequence[ExportRecord]) -> None:
                sending.set()
                go_on.wait(20)

            def close(self) -> None:
                closed.set()

        made = await anyio.to_thread.run_sync(make, journal, Slow(), base.root, [])
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(made.run)
            await until(sending.is_set)
            tasks.cancel_scope.cancel()
        assert not closed.is_set(), "its thread still uses the connection"
        go_on.set()
        await until(closed.is_set)


async def test_an_exporter_that_breaks_ends_alone_and_is_told(base: Base) -> None:
    async with journal_of(base, 3) as journal:

        class Breaks:
            name = "breaks"
            begins = "start"

            @property
            def timeout_seconds(self) -> float:
                return 1.0

            def send(self, _records: Sequence[ExportRecord]) -> None:
                raise KeyError("my own mistake")

        faults: list[tuple[str, str]] = []
        made = await anyio.to_thread.run_sync(make, journal, Breaks(), base.root, faults)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(made.run)
            await until(lambda: bool(faults))
            tasks.cancel_scope.cancel()
        assert faults[0][0] == "export_failing-breaks"
        assert "my own mistake" in faults[0][1]


# ── positions ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@asynccontextmanager
async def journal_of(base: Base, count: int, agent: str = "a1") -> AsyncIterator[Journal]:
    """A journal with so many records."""
    journal, _ = await anyio.to_thread.run_sync(Journal.open, base.places.journal)
    for number in range(count):
        journal.append(events.TimerFired(agent=agent, at=float(number), mono=0.0, name=f"t{number}"))
    await journal.written(count)
    try:
        yield journal
    finally:
        await anyio.to_thread.run_sync(journal.close)


def make(journal: Journal, exporter: Any, state: Path, faults: list[tuple[str, str]]) -> Exporting:
    def fault(_agent: str, type_: str, what: str, _severity: Severity, _way_out: str) -> None:
        faults.append((type_, what))

    return Exporting(exporter, journal, Positions(state), fault, lambda *_: None, journal.last)


async def exported(journal: Journal, exporter: Any, state: Path, up_to: int) -> list[tuple[str, str]]:
    """Run an exporter until it has dealt with this record; what was told meanwhile."""
    faults: list[tuple[str, str]] = []
    made = await anyio.to_thread.run_sync(make, journal, exporter, state, faults)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(made.run)
        await until(lambda: made.position >= up_to)
        tasks.cancel_scope.cancel()
    return faults


class Kept:
    """An exporter that keeps the numbers in a list."""

    name = "kept"
    begins = "start"

    def __init__(self) -> None:
        self.numbers: list[int] = []

    def send(self, records: Sequence[ExportRecord]) -> None:
        self.numbers += [record.n for record in records]


async def test_a_journal_that_was_replaced_is_sent_from_its_beginning_and_told(base: Base) -> None:
    async with journal_of(base, 5) as journal:
        await exported(journal, Kept(), base.root, up_to=5)
    await anyio.to_thread.run_sync(shutil.rmtree, base.places.journal)
    kept = Kept()
    async with journal_of(base, 9, agent="a2") as journal:  # longer than the first: its number alone would not tell it
        faults = await exported(journal, kept, base.root, up_to=9)
    assert kept.numbers == list(range(1, 10))
    assert [type_ for type_, _ in faults] == ["export_restarted-kept"]


async def test_records_that_were_removed_from_the_journal_are_told_as_a_gap(base: Base) -> None:
    journal, _ = await anyio.to_thread.run_sync(lambda: Journal.open(base.places.journal, segment_bytes=400))
    for number in range(20):
        journal.append(events.TimerFired(agent="a1", at=float(number), mono=0.0, name=f"t{number}"))
        await journal.written(number + 1)
    oldest, *_ = await anyio.to_thread.run_sync(list_segments, base.places.journal)
    await anyio.Path(oldest.path).unlink()
    first = (await anyio.to_thread.run_sync(list_segments, base.places.journal))[0].first
    kept = Kept()
    faults = await exported(journal, kept, base.root, up_to=20)
    await anyio.to_thread.run_sync(journal.close)
    assert kept.numbers == list(range(first, 21))
    assert [type_ for type_, _ in faults] == ["export_gap-kept"]
    assert first > 1


def test_positions_outlive_a_restart_and_each_is_its_own(tmp_path: Path) -> None:
    positions = Positions(tmp_path)
    positions.note("one", ExportPosition(7, "abc"))
    positions.note("other", ExportPosition(9))
    again = Positions(tmp_path)
    assert (again.of("one"), again.of("other"), again.of("none")) == (ExportPosition(7, "abc"), ExportPosition(9), None)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"one": 7}', '{"one": {"n": "x"}}', '{"one": {"n": 1}}'])
def test_a_damaged_file_of_positions_makes_every_exporter_a_new_one(tmp_path: Path, text: str) -> None:
    (tmp_path / delivery.FILE_NAME).write_text(text)
    assert Positions(tmp_path).of("one") is None


async def test_a_disk_that_takes_no_position_stops_no_exporter(base: Base) -> None:
    kept = Kept()
    async with journal_of(base, 3) as journal:
        full = Positions(base.root, FaultyDisk(1, 28, mode="dead"))
        made = Exporting(kept, journal, full, lambda *_: None, lambda *_: None, 0)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(made.run)
            await until(lambda: kept.numbers == [1, 2, 3])
            tasks.cancel_scope.cancel()


# ── what is sent ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "line",
    [b"{}", b'{"kind":"fault_seen"}', b'{"kind":"fault_seen","incident":7,"at":"x"}', b'{"at":null,"agent":7}',
     b'{"kind":"fault_seen","incident":{"severity":"odd"}}'],
)  # fmt: skip
def test_lines_of_any_shape_become_records_or_nothing(line: bytes) -> None:
    record = export_record(1, line + b"\n", whole=True)
    assert record is not None
    assert record.line == line
    alone = export_record(1, line + b"\n", whole=False)
    assert alone is None or b"incident" not in alone.line


async def test_two_exporters_of_one_name_keep_the_daemon_from_starting(base: Base) -> None:
    with collecting() as collector:
        one = {"name": "siem", "type": "http", "to": collector.url}
        base.config["audit"] = {"exporters": [one, one]}
        with pytest.raises(UsageError, match="2 exporters are named 'siem'"):
            async with served(base):
                pytest.fail("it started")


async def test_an_exporter_of_a_plugin_is_fed_as_well(base: Base) -> None:
    plugin = base.root / "mine.py"
    plugin.write_text(
        "import json\n"
        "class Mine:\n"
        "    name = 'mine'\n"
        "    begins = 'start'\n"
        "    def send(self, records):\n"
        f"        with open({str(base.root / 'sent')!r}, 'ab') as file:\n"
        "            file.write(b''.join(record.line + b'\\n' for record in records))\n"
        "def make_exporter():\n"
        "    return Mine()\n"
    )
    base.config["plugins"] = {"exporters": [str(plugin)]}
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="test")
        await ended(daemon)
        await until(lambda: (base.root / "sent").exists() and b'"after":"done"' in (base.root / "sent").read_bytes())


# ── killed ────────────────────────────────────────────────────────────────────────────────────────────────────────────

SENDS = """
import sys, anyio
from pathlib import Path
from supervisor.config.sections.exporters import ExporterSettings
from supervisor.runtime.daemon.daemon import Daemon
from supervisor.runtime.exporters import delivery
from supervisor.runtime.exporters.http import HttpExporter
from supervisor.runtime.journal.journal import Journal
delivery.GATHER_SECONDS = delivery.FIRST_WAIT_SECONDS = 0.005
delivery.MOST_BATCH = 7
state, journal, url = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
async def main():
    opened, _ = Journal.open(journal)
    wanted = ExporterSettings.model_validate({"name": "siem", "type": "http", "to": url, "begin": "start"})
    made = delivery.Exporting(
        HttpExporter(wanted), opened, delivery.Positions(state), print, lambda *_: None, 0
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(made.run)
        while made.position < opened.last:
            await anyio.sleep(0.01)
        tasks.cancel_scope.cancel()
anyio.run(main)
"""


@pytest.mark.slow
async def test_killed_at_any_moment_nothing_is_lost_and_what_comes_twice_is_told_by_its_number(base: Base) -> None:
    chance = random.Random(7)
    async with journal_of(base, 300):
        pass
    with collecting() as collector:

        def run(most: int | None) -> int:
            """Run it, and kill it once so many records came in this run."""
            had = len(collector.numbers())
            process = subprocess.Popen(command, cwd=Path(__file__).parents[4])
            while process.poll() is None:
                if most is not None and len(collector.numbers()) - had >= most:
                    os.kill(process.pid, signal.SIGKILL)
                    break
                select.select([], [], [], 0.002)
            return process.wait(60)

        command = [sys.executable, "-c", SENDS, str(base.root), str(base.places.journal), collector.url]
        ends = [await anyio.to_thread.run_sync(run, chance.randrange(1, 60)) for _ in range(3)]
        assert -signal.SIGKILL in ends
        assert await anyio.to_thread.run_sync(run, None) == 0
        numbers = collector.numbers()
    assert sorted(set(numbers)) == list(range(1, 301))
    first_seen = list(dict.fromkeys(numbers))
    assert first_seen == sorted(first_seen)
