"""The journal's lines as readers ask for them: behind a number, of an agent, from a time on, and as they come."""

import os
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import zip_longest

from monitors.contract import anyjson
from supervisor.protocol import records
from supervisor.protocol.records import RecordError
from supervisor.runtime.journal.index import FileIndex, JournalIndexes, Span
from supervisor.runtime.journal.reader import Cursor, Segment, list_segments
from supervisor.runtime.protection.seals import UNSEALED, RecordSeals
from supervisor.runtime.reading.jobs import Events
from supervisor.runtime.reading.progress import Follower

READ_BYTES = 256 * 1024
"""Most lines of an agent that are sent at once, in bytes, unless one is longer."""


class IndexWrongError(Exception):
    """The index leads to a place that is no line of the agent."""


class JournalLines:
    """Reads the journal for one request after another.

    Args:
        journal: The journal's indexes.
        list_files: Lists its files.
        seals: Opens lines that are sealed.
    """

    def __init__(
        self, indexes: JournalIndexes, list_files: Callable[[], list[Segment]], seals: RecordSeals = UNSEALED
    ) -> None:
        self._opened = seals.opened
        self._indexes = indexes
        self._list_files = list_files

    async def wanted(self, job: Events, progress: Follower) -> AsyncIterator[bytes]:
        """Yield what is asked for, many lines at a time.

        Raises:
            JournalDamagedError: A line is damaged; those before it were yielded.
        """
        passed = job.after
        upto = progress.written if job.follow else min(job.last, progress.written)
        if job.agent is not None:
            for part in self._of_agent(job.agent, passed, upto):
                if wanted := _joined(map(self._opened, part), job.since):
                    yield wanted
            passed = max(passed, upto)
        cursor = self._cursor_behind(passed)
        while True:
            while passed < upto and (lines := cursor.take(upto)):
                passed = lines[-1].n
                if wanted := _joined(
                    (self._opened(line.data) for line in lines if _is_of(line.data, job.agent)), job.since
                ):
                    yield wanted
            if not job.follow or progress.over:
                return
            await progress.reach(max(passed, upto) + 1)
            upto = progress.written

    def _cursor_behind(self, n: int) -> Cursor:
        """A cursor that comes upon the record behind `n` soon."""
        files = [each for each in self._list_files() if each.first <= n + 1]
        if not files:
            return Cursor(self._indexes.directory, n)
        index = self._index(files[-1])
        return Cursor.at(files[-1], index.mark_before(n + 1), n)

    def _of_agent(self, agent: str, after: int, upto: int) -> Iterator[list[bytes]]:
        """Yield the lines of an agent that are written, some at a time."""
        files = self._list_files()
        for segment, following in zip_longest(files, files[1:]):
            if segment.first > upto:
                return
            if following is None or following.first > after + 1:
                yield from self._of_agent_in(segment, agent, after, upto)

    def _of_agent_in(self, segment: Segment, agent: str, after: int, upto: int) -> Iterator[list[bytes]]:
        """Yield the same of one file.

        A wrong index is made anew, once, and lines are not yielded twice.
        """
        index = self._index(segment, upto)
        for again in (False, True):
            try:
                for lines in _lines_at(segment, index, agent, after, upto):
                    after = _number(lines[-1])
                    yield lines
            except IndexWrongError:
                if again:
                    raise
                index = self._indexes.make_anew(segment)
            else:
                return

    def _index(self, segment: Segment, upto: int | None = None) -> FileIndex:
        return self._indexes.of(segment, grows=segment == self._list_files()[-1], upto=upto)


def _lines_at(segment: Segment, index: FileIndex, agent: str, after: int, upto: int) -> Iterator[list[bytes]]:
    """Yield an agent's lines in a file by its index, each checked.

    Raises:
        IndexWrongError: Something else is there.
    """
    lines: list[bytes] = []
    size = 0
    with segment.path.open("rb") as file:
        for line in _read(file.fileno(), index.spans(agent)):
            n = _number(line)
            if _is_of(line, agent) and after < n <= upto:
                lines.append(line)
                size += len(line)
            elif not _is_of(line, agent):
                raise IndexWrongError
            if size >= READ_BYTES:
                yield lines
                lines, size = [], 0
    if lines:
        yield lines


def _read(fd: int, spans: Iterator[Span]) -> Iterator[bytes]:
    for span in spans:
        line = os.pread(fd, span.length, span.offset)
        if len(line) != span.length or not line.endswith(b"\n"):
            raise IndexWrongError
        yield line


def _number(line: bytes) -> int:
    """The number of a line, which is checked for it."""
    try:
        return records.check(line.removesuffix(b"\n"))
    except RecordError as error:
        raise IndexWrongError from error


def _is_of(line: bytes, agent: str | None) -> bool:
    return agent is None or records.whose_and_when(line)[0] == agent


def _joined(lines: Iterator[bytes], since: float) -> bytes:
    chosen = (line for line in lines if not since or records.whose_and_when(line)[1] >= since)
    return b"".join(map(anyjson.readable, chosen))


def files_of(indexes: JournalIndexes) -> Callable[[], list[Segment]]:
    """Lists the journal's files."""
    return lambda: list_segments(indexes.directory)
