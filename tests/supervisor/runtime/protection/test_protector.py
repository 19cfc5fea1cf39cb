"""Records are masked, and what going on needs is kept for its owner until that has ended."""

from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import orjson
import pytest

from monitors.masking import Masker
from supervisor.protocol import events, records
from supervisor.protocol.records import JournalRecord, UnknownEvent
from supervisor.runtime.journal.journal import Journal, JournalState
from supervisor.runtime.protection.protector import UNPROTECTED, Protector
from supervisor.runtime.protection.vault import Vault
from tests.faults import FaultyDisk

STAMP: dict[str, Any] = {"agent": "a1", "at": 1763712900.5, "mono": 81.2}
ANNA = "anna.schmidt@firma.de"


def made(state: Path, **options: Any) -> Protector:
    vault = Vault(state, b"k" * 32, b"names", **options)
    vault.load()
    return Protector(Masker(b"k" * 32), vault)


def line(text: str, agent: str = "a1") -> events.LineReceived:
    return events.LineReceived(**{**STAMP, "agent": agent}, end=1, frame={"text": text})


def written(state: Path, *happened: events.AnyEvent, protector: Protector | None = None) -> list[bytes]:
    """The lines of a journal in which this happened."""
    journal, _ = Journal.open(state / "journal", protector=protector or made(state))
    for event in happened:
        journal.append(event)
    journal.close()
    return [line for path in sorted((state / "journal").glob("*.jsonl")) for line in path.read_bytes().splitlines()[1:]]


def read_back(state: Path, lines: list[bytes]) -> list[events.AnyEvent | UnknownEvent]:
    restore = made(state).restore()
    return [records.read_event(restore(line)) for line in lines]


def test_the_journal_has_marks_and_a_start_has_the_values_of_those_who_go_on(tmp_path: Path) -> None:
    happened = [line(f"write to {ANNA}"), line(f"and {ANNA}"), line("otto@firma.de", "a2"), line("nothing")]
    lines = written(tmp_path, *happened)
    assert ANNA.encode() not in b"".join(lines)
    assert lines[0].count(b"[mail:") == 1
    assert lines[0].split(b"[mail:")[1][:16] == lines[1].split(b"[mail:")[1][:16]
    assert read_back(tmp_path, lines) == happened
    assert made(tmp_path).forget_ended(["a2"], []) == ["agent:a1"]
    again = read_back(tmp_path, lines)
    assert again[2:] == happened[2:]
    assert again[0] != happened[0]


def test_a_journal_is_checked_as_it_is_written(tmp_path: Path) -> None:
    for encoded in written(tmp_path, line(ANNA), line("b")):
        assert isinstance(records.decode(encoded), JournalRecord)


def test_values_are_on_the_disk_before_the_line_that_has_their_mark(tmp_path: Path) -> None:
    class Watched(FaultyDisk):
        """Says whether a value was sealed when the journal's line was written."""

        sealed_first: bool | None = None

        def write(self, fd: int, data: bytes | memoryview) -> int:
            if b"[mail:" in bytes(data):
                self.sealed_first = any((tmp_path / "sealed").iterdir())
            return super().write(fd, data)

    disk = Watched()
    journal, _ = Journal.open(tmp_path / "journal", disk=disk, protector=made(tmp_path, disk=disk))
    journal.append(line(ANNA))
    journal.close()
    assert disk.sealed_first


async def test_a_full_disk_under_the_sealed_values_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("supervisor.runtime.journal.writing.writer.RETRY_SECONDS", 0.01)
    disk = FaultyDisk()
    protector = await anyio.to_thread.run_sync(lambda: made(tmp_path, disk=disk))
    journal, _ = await anyio.to_thread.run_sync(
        lambda: Journal.open(tmp_path / "journal", disk=disk, protector=protector)
    )
    await journal.written(journal.append(line("before")))
    disk.full = True
    last = journal.append(line(ANNA))
    assert await journal.changed(JournalState.OPEN) is JournalState.FULL
    disk.full = False
    await journal.synced(last)
    assert journal.queued_bytes == 0
    await anyio.to_thread.run_sync(journal.close)
    [path] = await anyio.to_thread.run_sync(lambda: list((tmp_path / "journal").glob("*.jsonl")))
    lines = (await anyio.Path(path).read_bytes()).splitlines()[1:]
    assert await anyio.to_thread.run_sync(read_back, tmp_path, lines) == [line("before"), line(ANNA)]


def test_a_stored_task_is_whole_until_it_is_done(tmp_path: Path) -> None:
    from tests.supervisor.core.tasks.conftest import spec

    added = events.TasksAdded(
        **{**STAMP, "agent": ""}, request_id="r", tasks=(spec("t1", prompt=f"ask {ANNA}"), spec("t2")), by=ANNA
    )
    lines = written(tmp_path, added)
    assert ANNA.encode() not in lines[0]
    assert made(tmp_path).forget_ended([], ["t1"]) == []
    assert read_back(tmp_path, lines) == [added]
    assert made(tmp_path).forget_ended([], ["t2"]) == ["task:t1"]


def test_the_place_of_work_stays_for_those_who_come_after_the_end(tmp_path: Path) -> None:
    closed = events.WorkspaceClosed(**STAMP, workspace=f"/srv/{ANNA}/shop", removed=False, why=f"{ANNA} works there")
    read = orjson.loads(written(tmp_path, closed)[0])
    assert read["workspace"] == f"/srv/{ANNA}/shop"
    assert ANNA not in read["why"]
    token = "ghp_" + "a1B2" * 9
    named = events.WorkspaceClosed(**STAMP, workspace=f"/srv/{token}", removed=False, why="")
    assert token.encode() not in b"".join(written(tmp_path / "other", named))
    said = events.LineReceived(**STAMP, end=1, frame={"workspace": ANNA})
    assert ANNA.encode() not in b"".join(written(tmp_path / "third", said))


def test_a_report_is_masked_and_whole_for_the_way_back_until_it_goes(tmp_path: Path) -> None:
    protector = made(tmp_path)
    data = orjson.dumps({"prompt": f"ask {ANNA}"})
    masked = protector.report("i1", data)
    assert ANNA.encode() not in masked
    assert made(tmp_path).whole_report("i1", masked) == data
    assert made(tmp_path).whole_report("i2", masked) == masked
    assert made(tmp_path).forget_ended([], []) == []
    protector.forget_reports(["i1"])
    assert made(tmp_path).whole_report("i1", masked) == masked


def test_nothing_is_masked_if_the_configuration_says_so(tmp_path: Path) -> None:
    assert ANNA.encode() in b"".join(written(tmp_path, line(ANNA), protector=UNPROTECTED))
    assert UNPROTECTED.text(ANNA) == ANNA
    assert not UNPROTECTED.masks
