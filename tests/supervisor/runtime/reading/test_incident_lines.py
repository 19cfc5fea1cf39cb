"""The incident log's lines as readers ask for them."""

from pathlib import Path

import anyio
import orjson
import pytest

from supervisor.runtime.reading.incident_lines import CHUNK_BYTES, incident_lines
from supervisor.runtime.reading.jobs import FileProgress
from supervisor.runtime.reading.progress import Follower


@pytest.fixture(autouse=True)
def _no_blocking_calls() -> None:
    """The reading process reads in its loop, and so do these tests."""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "incidents.jsonl"


async def read(log: Path) -> list[bytes]:
    return [part async for part in incident_lines(log, Follower(), follow=False)]


async def test_there_is_nothing_before_the_first_and_half_a_line_is_none(log: Path) -> None:
    assert await read(log) == []
    log.write_bytes(b'{"id":"one"}\n{"id":"tw')
    assert await read(log) == [b'{"id":"one"}\n']


async def test_a_line_longer_than_a_chunk_comes_whole(log: Path) -> None:
    given = [b'{"id":"%b"}\n' % (b"x" * length) for length in (CHUNK_BYTES * 2, 3, CHUNK_BYTES - 9, 5)]
    log.write_bytes(b"".join(given))
    parts = await read(log)
    assert all(part.endswith(b"\n") for part in parts)
    assert b"".join(parts).splitlines(keepends=True) == given


async def test_what_an_older_version_wrote_can_be_read_by_every_client(log: Path) -> None:
    log.write_bytes(b'{"summary":"\\ud83d"}\n')
    (part,) = await read(log)
    assert orjson.loads(part) == {"summary": "\ufffd\\ud83d"}


async def test_a_follower_gets_what_comes_and_ends_when_nothing_follows(log: Path) -> None:
    progress, got = Follower(), list[bytes]()

    async def follow() -> None:
        got.extend([part async for part in incident_lines(log, progress, follow=True)])

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(follow)
        await anyio.wait_all_tasks_blocked()
        for number in (1, 2):
            with log.open("ab") as file:
                file.write(b'{"id":%d}\n' % number)
            progress.tell(FileProgress(9, number))
            await anyio.wait_all_tasks_blocked()
        progress.tell(FileProgress(9, 2, over=True))
    assert got == [b'{"id":1}\n', b'{"id":2}\n']
