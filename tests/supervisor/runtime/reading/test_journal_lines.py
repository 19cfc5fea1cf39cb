"""The journal's lines as readers ask for them."""

from pathlib import Path

import anyio
import orjson
import pytest

from supervisor.protocol.events import TimerFired
from supervisor.runtime.journal.index import JournalIndexes, build, index_path, save
from supervisor.runtime.journal.journal import Journal
from supervisor.runtime.journal.reader import JournalDamagedError, list_segments
from supervisor.runtime.reading.jobs import Events, FileProgress
from supervisor.runtime.reading.journal_lines import JournalLines, files_of
from supervisor.runtime.reading.progress import Follower

COUNT = 2_000


@pytest.fixture(autouse=True)
def _no_blocking_calls() -> None:
    """The reading process reads in its loop, and so do these tests."""


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A journal of several files: every fifth event is of agent `few`, and its time is its number."""
    directory = tmp_path / "journal"
    append(directory, range(1, COUNT + 1))
    assert len(list_segments(directory)) > 3
    return directory


def append(directory: Path, numbers: range) -> None:
    journal, _ = Journal.open(directory, segment_bytes=60_000)
    for n in numbers:
        journal.append(TimerFired(agent="few" if n % 5 == 0 else "many", at=float(n), mono=0.0, name="t"))
    journal.close()


def asked(after: int = 0, last: int = COUNT, **more: object) -> Events:
    return Events(**{"after": after, "last": last, "follow": False, "agent": None, "since": 0.0, **more})  # type: ignore[arg-type]


def reading(directory: Path) -> JournalLines:
    indexes = JournalIndexes(directory)
    return JournalLines(indexes, files_of(indexes))


def at(written: int, *, over: bool = False) -> Follower:
    follower = Follower()
    follower.tell(FileProgress(written, 0, over))
    return follower


async def numbers(directory: Path, job: Events, progress: Follower | None = None) -> list[int]:
    parts = [part async for part in reading(directory).wanted(job, progress or at(COUNT))]
    return [orjson.loads(line)["n"] for part in parts for line in part.splitlines()]


@pytest.mark.parametrize("after", [0, 1, 499, 500, 501, 1_234, COUNT - 1, COUNT])
async def test_lines_behind_any_record_come_each_once_and_in_order(directory: Path, after: int) -> None:
    assert await numbers(directory, asked(after)) == list(range(after + 1, COUNT + 1))
    few = [n for n in range(after + 1, COUNT + 1) if n % 5 == 0]
    assert await numbers(directory, asked(after, agent="few")) == few


async def test_they_come_from_a_time_on_and_of_nobody_there_are_none(directory: Path) -> None:
    assert await numbers(directory, asked(since=1_990.0)) == list(range(1_990, COUNT + 1))
    assert await numbers(directory, asked(since=1_990.0, agent="few")) == [1_990, 1_995, 2_000]
    assert await numbers(directory, asked(agent="nobody")) == []


async def test_what_is_not_acknowledged_yet_is_not_shown(directory: Path) -> None:
    """It may be cut off again, if the disk is full."""
    assert (await numbers(directory, asked(last=1_500), at(1_500)))[-1] == 1_500
    assert (await numbers(directory, asked(last=1_500, agent="few"), at(1_500)))[-1] == 1_500


@pytest.mark.parametrize("agent", [None, "few"])
async def test_a_follower_gets_what_comes_across_files_and_ends_with_the_journal(
    directory: Path, agent: str | None
) -> None:
    progress, got = at(COUNT), list[int]()

    async def follow() -> None:
        async for part in reading(directory).wanted(asked(after=1_900, follow=True, agent=agent), progress):
            got.extend(orjson.loads(line)["n"] for line in part.splitlines())

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(follow)
        await anyio.wait_all_tasks_blocked()
        for more in range(COUNT, COUNT + 1_500, 500):
            append(directory, range(more + 1, more + 501))
            progress.tell(FileProgress(more + 500, 0))
            await anyio.wait_all_tasks_blocked()
        progress.tell(FileProgress(COUNT + 1_500, 0, over=True))
    assert got == [n for n in range(1_901, COUNT + 1_501) if agent is None or n % 5 == 0]


async def test_an_index_that_leads_elsewhere_is_made_anew_and_every_line_comes_once(directory: Path) -> None:
    """Whatever is in the file: its own checksums fit, as those of somebody who means it would."""
    segment = list_segments(directory)[1]
    good = build(segment)
    for hurt in ("others", "shifted", "beyond", "swapped"):
        index = build(segment)
        words = index.words["few"]
        if hurt == "others":
            index.words["few"][10:12] = index.words["many"][20:22]
        elif hurt == "shifted":
            words[10] += 1
        elif hurt == "beyond":
            words[10] = 2**31
        else:
            index.words["few"], index.words["many"] = index.words["many"], words
        save(index, segment.path)
        assert await numbers(directory, asked(agent="few")) == [n for n in range(1, COUNT + 1) if n % 5 == 0], hurt
    save(good, segment.path)
    index_path(segment.path).unlink()
    index_path(segment.path).mkdir()
    assert len(await numbers(directory, asked(agent="few"))) == COUNT / 5, "it cannot even be written"


async def test_a_damaged_line_ends_the_answer_behind_those_before_it(directory: Path) -> None:
    segment = list_segments(directory)[2]
    data = bytearray(segment.path.read_bytes())
    data[30_000] ^= 1
    segment.path.write_bytes(data)
    got = list[int]()
    try:
        async for part in reading(directory).wanted(asked(), at(COUNT)):
            got.extend(orjson.loads(line)["n"] for line in part.splitlines())
    except JournalDamagedError as error:
        assert error.path == segment.path  # noqa: PT017 - what came before it is what is asked
    assert got == list(range(1, len(got) + 1))
    assert segment.first < len(got) < COUNT
