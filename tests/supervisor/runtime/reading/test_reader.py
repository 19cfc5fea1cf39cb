"""The daemon's side of reading, in a whole daemon."""

import os
import signal
from contextlib import suppress
from pathlib import Path

import anyio
import httpx
import psutil
import pytest

from supervisor.runtime.reading import reader
from tests.stages.daemon import Base, client_on, lines, served, until
from tests.stages.read_forked import _as_a_program  # noqa: F401 - a fixture

pytestmark = pytest.mark.slow


def reading_processes() -> list[psutil.Process]:
    found = []
    for each in psutil.Process().children():
        with suppress(psutil.NoSuchProcess):  # one that has just ended, too
            if reader.PROGRAM in each.cmdline():
                found.append(each)
    return found


async def test_the_process_is_started_by_the_first_who_asks_and_gone_with_the_daemon(tmp_path: Path) -> None:
    async with served(Base(tmp_path)) as (_, client):
        await client.get("/v1/health")
        assert reading_processes() == []
        assert await lines(client, "/v1/events")
        (process,) = reading_processes()
    assert not process.is_running()


async def test_where_much_has_no_index_it_is_made_before_anybody_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "UNINDEXED_BYTES", 1)
    base = Base(tmp_path)
    async with served(base, segment_bytes=100):
        pass
    journal = base.places.journal
    assert len(list(journal.glob("*.jsonl"))) > 1
    for index in journal.glob("*.index"):
        index.unlink()
    async with served(base, segment_bytes=100) as (_, client):
        await client.get("/v1/health")
        await until(lambda: list(journal.glob("*.index")) != [])


def test_a_file_that_is_dropped_while_its_bytes_are_counted_is_none(tmp_path: Path) -> None:
    (tmp_path / "00000000000000000001.jsonl").symlink_to(tmp_path / "dropped")
    (tmp_path / "00000000000000000009.jsonl").write_bytes(b"{}\n")
    assert reader._unindexed_bytes(tmp_path) == 3


async def test_one_that_is_killed_is_replaced_and_whoever_asks_then_is_answered(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with served(Base(tmp_path)) as (daemon, client):
        assert await lines(client, "/v1/events")
        (before,) = reading_processes()
        async with client.stream("GET", "/v1/events", params={"follow": True}) as response:
            following = response.aiter_lines()
            await anext(following)
            os.kill(before.pid, signal.SIGKILL)
            with pytest.raises(httpx.RemoteProtocolError):  # it is not told to be whole
                async for _ in following:
                    pass
        await until(lambda: "ended by itself" in caplog.text)
        assert len(await lines(client, "/v1/events")) == daemon.journal.last
        (after,) = reading_processes()
        assert after.pid != before.pid


async def test_one_that_stands_still_holds_up_nothing_else(tmp_path: Path) -> None:
    base = Base(tmp_path)
    async with served(base) as (_, client):
        assert await lines(client, "/v1/events")
        (process,) = reading_processes()
        process.suspend()
        answers = list[int]()

        async def ask() -> None:
            async with client_on(base.places.socket, timeout=60) as own:
                answers.append((await own.get("/v1/events")).status_code)

        async with anyio.create_task_group() as tasks:
            for _ in range(20):
                tasks.start_soon(ask)
            assert (await client.get("/v1/health")).status_code == 200
            process.resume()
        assert answers == [200] * 20


async def test_a_follower_sees_what_is_written_and_incidents_as_they_come(tmp_path: Path) -> None:
    base = Base(tmp_path)
    async with (
        served(base) as (daemon, client),
        client.stream("GET", "/v1/incidents", params={"follow": True}) as response,
    ):
        with anyio.fail_after(60):
            following = response.aiter_lines()
            daemon.fault("", "first", "One.")
            assert '"first"' in await anext(following)
            daemon.fault("", "second", "Two.")
            assert '"second"' in await anext(following)
