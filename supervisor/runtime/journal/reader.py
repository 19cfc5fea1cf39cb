"""The journal's files, read: which there are, and their lines, each checked before it is handed out.

A file (a segment) is named by the number of its first record and begins with a header line that carries the chain
over from the file before. Nothing here writes.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple, Self

from monitors.contract.errors import ChaperonError
from supervisor.protocol import records
from supervisor.protocol.records import JournalRecord, RecordError
from supervisor.runtime.journal.base import read_base

SUFFIX = ".jsonl"

CHUNK_BYTES = 1024 * 1024
"""How much is read at a time: 1 MiB reads at the disk's speed, and bounds what a slow reader holds, but for a line that
is longer by itself."""


class JournalDamagedError(ChaperonError):
    """A line of the journal is not what was written there; nothing was changed on disk."""

    def __init__(self, path: Path, line: int, offset: int, problem: str, expected: str, found: str) -> None:
        """Name the place, what belongs there and what is there.

        Args:
            path: The journal's file.
            line: Which line, from 1, the header included.
            offset: Where the line begins, in bytes.
            problem: What is wrong. Example: `checksum`.
            expected: What would have been right.
            found: What is there.
        """
        super().__init__(
            f"The journal is damaged: {path}, line {line}, at byte {offset}: "
            f"the {problem} is wrong, expected {expected}, found {found}. Nothing was changed on disk.",
            way_out=(
                f"Restore that file from a copy. Without one, keep the whole directory {path.parent} as evidence under "
                "another name, and start anew."
            ),
        )
        self.path, self.line, self.offset = path, line, offset
        self.problem, self.expected, self.found = problem, expected, found


class StoredLine(NamedTuple):
    """One record as its bytes, checked but not parsed, with its place."""

    n: int
    data: bytes
    """The line with its newline."""
    path: Path
    line: int
    offset: int

    def record(self) -> JournalRecord:
        """Read the event.

        Raises:
            JournalDamagedError: A field of the event does not fit its kind.
        """
        try:
            return JournalRecord(self.n, records.read_event(self.data))
        except RecordError as error:
            raise JournalDamagedError(
                self.path, self.line, self.offset, error.problem, error.expected, error.found
            ) from None


class StoredLines(NamedTuple):
    """Lines that follow one another in a file, checked but not parsed; a start reads a million of them."""

    n: int
    """Number of the first."""
    lines: Sequence[bytes]
    """Without their newlines."""
    path: Path
    line: int
    offset: int
    """Position of the first, in bytes."""

    def stored(self, at: int) -> StoredLine:
        """Return one of them with its place."""
        offset = self.offset + sum(map(len, self.lines[:at])) + at
        return StoredLine(self.n + at, self.lines[at] + b"\n", self.path, self.line + at, offset)


@dataclass(frozen=True, slots=True)
class Segment:
    """One file of the journal."""

    first: int
    path: Path


class Mark(NamedTuple):
    """A place in a file between two lines."""

    n: int
    """Number of the line before."""
    offset: int
    """Position of the next line, in bytes."""
    hash: str = ""
    """Hash of the line before, which the next one names; empty if it is not known."""


def segment_path(directory: Path, first: int) -> Path:
    """Return the name of the file whose first record is `first`."""
    return directory / f"{first:020d}{SUFFIX}"


def list_segments(directory: Path) -> list[Segment]:
    """List the journal's files in order; none where the directory is not there."""
    paths = sorted(directory.glob("[0-9]" * 20 + SUFFIX))
    return [Segment(int(path.name.removesuffix(SUFFIX)), path) for path in paths]


class Cursor:
    """A place in the journal that moves on as lines are taken. Blocks, so it belongs in a thread or before the loop.

    It keeps no file open and holds no line, so it may rest as long as its owner likes.

    Args:
        directory: The journal's directory.
        after: The number of the last record not wanted; 0 begins with the first.

    Raises:
        JournalDamagedError: The record behind `after` must be in a file that is not there. If the journal has a base,
            reading begins there.
    """

    def __init__(self, directory: Path, after: int = 0) -> None:
        self._directory = directory
        self._after = after
        self.path: Path | None = None
        """The file in which it is; None before the journal has one."""
        self.offset = 0
        """Position of the next line, in bytes."""
        self.line = 1
        """Number of that line, from 1."""
        self.n = 0
        """The number of the last line passed."""
        self.hash = records.ORIGIN
        """Its hash, which the next line must name."""
        self._stays = False
        self._inode = 0
        """The file that was read last: one that took its place has the same lines, and may have others' lengths."""

    @classmethod
    def within(cls, segment: Segment) -> Self:
        """A cursor at the beginning of one file, at whose end it stays.

        Raises:
            JournalDamagedError: The file's header is damaged.
        """
        cursor = cls(segment.path.parent, segment.first - 1)
        cursor._enter(segment, previous=None)
        cursor._stays = True
        return cursor

    @classmethod
    def at(cls, segment: Segment, mark: Mark, after: int) -> Self:
        """A cursor at a place of a file, which goes on to the files behind it.

        Args:
            segment: The file.
            mark: The place, with the hash of the line before.
            after: The number of the last record not wanted.
        """
        cursor = cls(segment.path.parent, after)
        cursor.path, cursor.offset, cursor.line = segment.path, mark.offset, mark.n - segment.first + 3
        cursor.n, cursor.hash = mark.n, mark.hash
        return cursor

    @property
    def mark(self) -> Mark:
        """If it is."""
        return Mark(self.n, self.offset, self.hash)

    def take(self, upto: int | None = None) -> list[StoredLine]:
        """Take the next lines, as many as one read gives; none when all up to `upto` were taken, or written.

        Args:
            upto: The number of the last record to take; None takes what is there.

        Raises:
            JournalDamagedError: The next line is damaged. The lines before it were handed out.
        """
        while lines := self._pass(upto):
            first, line, offset = self.n - len(lines) + 1, self.line - len(lines), self.offset
            offset -= sum(map(len, lines)) + len(lines)
            assert self.path is not None
            taken: list[StoredLine] = []
            for n, data in enumerate(lines, first):
                if n > self._after:
                    taken.append(StoredLine(n, data + b"\n", self.path, line, offset))
                line += 1
                offset += len(data) + 1
            if taken:
                return taken
        return []

    def pass_over(self) -> list[bytes]:
        """Take the next lines as `take` does, without their places and newlines.

        Raises:
            JournalDamagedError: As `take`.
        """
        while lines := self._pass(None):
            if wanted := lines[max(0, self._after - (self.n - len(lines))) :]:
                return wanted
        return []

    def _pass(self, upto: int | None) -> list[bytes]:
        """Check the next lines of a file, and move behind them; return them without their newlines."""
        while upto is None or self.n < upto:
            if self.path is None and not self._enter_first():
                break
            # Listed before reading: a file that has a successor grows no more, so what is read then is all of it.
            following = self._following()
            if lines := self._whole_lines(upto):
                return lines
            if following is None or self._stays:
                break
            self._enter_next(following)
        return []

    def _enter_first(self) -> bool:
        segments = list_segments(self._directory)
        if not segments:
            return False
        base = read_base(self._directory) if segments[0].first != 1 else None
        if base is not None:
            self._after = max(self._after, base.first - 1)
        fitting = [segment for segment in segments if segment.first <= self._after + 1]
        if not fitting:
            raise JournalDamagedError(
                segments[0].path, 1, 0, "first file", f"a file with record {self._after + 1}", segments[0].path.name
            )
        known = records.ORIGIN if fitting[-1].first == 1 else None
        if base is not None and fitting[-1].first == base.first:
            known = base.hash
        self._enter(fitting[-1], previous=known)
        return True

    def _following(self) -> Segment | None:
        assert self.path is not None
        name = self.path.name
        return next((segment for segment in list_segments(self._directory) if segment.path.name > name), None)

    def _enter_next(self, following: Segment) -> None:
        """Go on in the file behind this one, which was taken to its end."""
        assert self.path is not None
        self._find_again(self.path)
        if (size := self.path.stat().st_size) != self.offset:
            raise self.damaged("end of the file", f"a whole line to byte {size}", "no newline")
        if following.first != self.n + 1:
            raise JournalDamagedError(
                following.path, 1, 0, "first sequence number", str(self.n + 1), str(following.first)
            )
        self._enter(following, previous=self.hash)

    def _enter(self, segment: Segment, previous: str | None) -> None:
        """Check the header before anything of the cursor changes, so that a damaged one can be looked at again."""
        with segment.path.open("rb") as file:
            header = file.readline()
        if not header.endswith(b"\n"):
            found = f"{len(header)} bytes without a newline"
            raise JournalDamagedError(segment.path, 1, 0, "header of the file", "a whole line", found)
        try:
            records.check_header(header, segment.first, previous)
        except RecordError as error:
            raise JournalDamagedError(segment.path, 1, 0, error.problem, error.expected, error.found) from None
        self.path, self.offset, self.line = segment.path, len(header), 2
        self._inode = 0
        self.n, self.hash = segment.first - 1, records.line_hash(header)

    def _whole_lines(self, upto: int | None) -> list[bytes]:
        """Check the lines of one chunk, or a longer single one, and move behind those that are in order."""
        assert self.path is not None
        self._find_again(self.path)
        with self.path.open("rb") as file:
            file.seek(self.offset)
            data = file.read(CHUNK_BYTES)
            if data and b"\n" not in data:
                data += file.readline()
        end = data.rfind(b"\n")
        if end < 0:
            return []
        lines = data[:end].split(b"\n")
        if upto is not None:
            del lines[upto - self.n :]
        if (last := records.check_all(lines, self.n + 1, self.hash)) is None:
            lines, last = self._until_damage(lines)
        elif lines:
            last = records.chain_hash(lines[-1])
        self.n, self.line, self.hash = self.n + len(lines), self.line + len(lines), last
        self.offset += sum(map(len, lines)) + len(lines)
        return lines

    def _find_again(self, path: Path) -> None:
        """Find the place in a file that was replaced since, as when an agent is forgotten. The chain is the same."""
        inode = path.stat().st_ino
        if self._inode not in (0, inode):
            with path.open("rb") as file:
                self.offset = sum(len(file.readline()) for _ in range(self.line - 1))
        self._inode = inode

    def _until_damage(self, lines: list[bytes]) -> tuple[list[bytes], str]:
        """Return the lines that are in order, and the hash of their last; raises if there are none."""
        last = self.hash
        for number, line in enumerate(lines):
            try:
                records.check(line, self.n + 1 + number, last)
            except RecordError as error:
                if not number:
                    raise self.damaged(error.problem, error.expected, error.found) from None
                return lines[:number], last
            last = records.chain_hash(line)
        return lines, last

    def damaged(self, problem: str, expected: str, found: str) -> JournalDamagedError:
        """Make the error for the line at which the cursor stands."""
        assert self.path is not None
        return JournalDamagedError(self.path, self.line, self.offset, problem, expected, found)


def read_lines(directory: Path, after: int = 0, upto: int | None = None) -> Iterator[StoredLine]:
    """Read the journal's lines, checked, in order. A line without its newline is not read: it may be under way.

    Args:
        directory: The journal's directory.
        after: The number of the last record not wanted.
        upto: The number of the last record wanted; None reads to the end.

    Raises:
        JournalDamagedError: A line is damaged; the lines before it were yielded.
    """
    cursor = Cursor(directory, after)
    while lines := cursor.take(upto):
        yield from lines


def read_again(directory: Path, after: int, upto: int) -> Iterator[StoredLines]:
    """Read lines that this process has just checked, some at a time; the first and the last are checked again.

    Args:
        directory: The journal's directory.
        after: The number of the last record not wanted.
        upto: The number of the last record wanted, which is there.

    Raises:
        JournalDamagedError: Something else is there now.
    """
    segments = list_segments(directory)
    for segment, following in zip_longest(segments, segments[1:]):
        if segment.first > upto or (following is not None and following.first <= after + 1):
            continue
        yield from _of_segment(segment, after, upto)


def _of_segment(segment: Segment, after: int, upto: int) -> Iterator[StoredLines]:
    with segment.path.open("rb") as file:
        offset, n, line = len(file.readline()), segment.first, 2
        while n <= upto and (data := file.read(CHUNK_BYTES)):
            if not data.endswith(b"\n"):
                data += file.readline()
            lines = data.removesuffix(b"\n").split(b"\n")
            for number, one in ((n, lines[0]), (n + len(lines) - 1, lines[-1])):
                if not one.startswith(b'{"n":%d,' % number):
                    at = line + number - n
                    raise JournalDamagedError(segment.path, at, offset, "number", str(number), repr(one[:32]))
            skip = min(len(lines), max(0, after + 1 - n))
            if wanted := lines[skip : upto + 1 - n]:
                before = sum(map(len, lines[:skip])) + skip
                yield StoredLines(n + skip, wanted, segment.path, line + skip, offset + before)
            n, line, offset = n + len(lines), line + len(lines), offset + len(data)


def read_records(
    directory: Path, after: int = 0, upto: int | None = None, opened: Callable[[bytes], bytes] = bytes
) -> Iterator[JournalRecord]:
    """Read the journal's records, as `read_lines` reads its lines, which `opened` gives in the clear.

    Raises:
        JournalDamagedError: A line is damaged, or its event does not fit its kind.
    """
    return (line._replace(data=opened(line.data)).record() for line in read_lines(directory, after, upto))
