import os
from pathlib import Path

import anyio
import anyio.to_thread
import orjson
import pytest

from interventions.decisions import Incident
from monitors.contract.words import Severity
from supervisor.runtime.incidents.feed import IncidentFeed
from supervisor.runtime.incidents.log import LOG_NAME, IncidentLog
from tests.faults import FaultyDisk


def incident(id_: str, summary: str = "x") -> Incident:
    return Incident(id_, 1.0, "a1", "agent_lost", Severity.HIGH, summary, "look")


async def feed_in(directory: Path) -> IncidentFeed:
    return IncidentFeed(await anyio.to_thread.run_sync(IncidentLog.open, directory))


def ids(directory: Path) -> list[str]:
    log = directory / LOG_NAME
    return [orjson.loads(line)["id"] for line in log.read_bytes().splitlines()] if log.exists() else []


async def test_what_was_reported_is_read_in_order_and_once(tmp_path: Path) -> None:
    feed = await feed_in(tmp_path)
    for id_ in ("one", "two", "one"):
        await feed.report(incident(id_), None)
    assert ids(tmp_path) == ["one", "two"]


async def test_an_incident_that_the_log_refuses_is_logged_and_ends_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    feed = await feed_in(tmp_path)
    await feed.report(incident("../../etc/passwd"), {"a": 1})
    assert "cannot name a file" in caplog.text
    assert ids(tmp_path) == []


async def test_reports_at_once_are_written_whole(tmp_path: Path) -> None:
    feed = await feed_in(tmp_path)
    async with anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(feed.report, incident(f"i{number}", "x" * 5000), None)
    assert sorted(ids(tmp_path)) == sorted(f"i{number}" for number in range(20))


async def test_reports_older_than_is_wanted_go_and_a_disk_that_fails_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    feed = await feed_in(tmp_path)
    for id_ in ("old", "new"):
        await feed.report(incident(id_), {"id": id_})
    os.utime(tmp_path / "incidents" / "old.json", (1_000.0, 1_000.0))
    now = (tmp_path / "incidents" / "new.json").stat().st_mtime
    await feed.prune(now, 30)
    assert [path.name for path in (tmp_path / "incidents").glob("*.json")] == ["new.json"]
    assert ids(tmp_path) == ["old", "new"], "the log's lines stay"
    os.utime(tmp_path / "incidents" / "new.json", (1_000.0, 1_000.0))
    broken = IncidentFeed(
        await anyio.to_thread.run_sync(lambda: IncidentLog.open(tmp_path, disk=FaultyDisk(2, mode="dead")))
    )
    await broken.prune(now, 30)
    assert "it is tried again tomorrow" in caplog.text


async def test_that_the_log_has_grown_is_said_after_each_report(tmp_path: Path) -> None:
    feed, grown = await feed_in(tmp_path), list[str]()
    for id_ in ("one", "two"):
        feed.on_growth = lambda id_=id_: grown.append(id_)  # type: ignore[misc]
        await feed.report(incident(id_), None)
    assert grown == ["one", "two"]


async def test_a_disk_that_fails_is_logged_and_the_daemon_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    feed = await feed_in(tmp_path)
    (tmp_path / LOG_NAME).mkdir()
    await feed.report(incident("one"), None)
    assert "could not be written" in caplog.text
