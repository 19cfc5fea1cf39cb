"""An index of a journal's file: where each agent's lines are, and places from which reading can begin.

    journal/00000000000000000001.jsonl     130,000 lines of many agents
    journal/00000000000000000001.index     which of them are whose

It is never the truth. One that is not there, that is damaged or that is of other bytes is made anew from the file, and
each line that it leads to is checked as every line is.
"""

import sys
import zlib
from array import array
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from supervisor.protocol import records
from supervisor.runtime.journal.reader import Cursor, Mark, Segment, StoredLine, list_segments

SUFFIX = ".index"

FORMAT = 1
"""The version of the file's make; one of another is made anew."""

MARK_BYTES = 512 * 1024
"""Between two places from which reading can begin: to pass over so much takes 5 ms."""

_WORD = "I"
"""Offsets and lengths take four bytes each: a file of the journal ends long before 4 GiB."""
_HASH_BYTES = 32


class Span(NamedTuple):
    """The place of a line."""

    offset: int
    length: int
    """With its newline."""


@dataclass(slots=True)
class FileIndex:
    """The index of one file of the journal, or of its beginning."""

    first: int
    """Number of its first record."""
    end: Mark
    """Behind the last line that is in the index."""
    words: dict[str, "array[int]"] = field(default_factory=dict)
    """By agent: offset and length of each line, in turns."""
    marks: list[Mark] = field(default_factory=list)

    @classmethod
    def of_none(cls, first: int, begin: Mark) -> "FileIndex":
        """The index of a file whose lines begin there and are yet to be added."""
        return cls(first, begin, {}, [begin])

    def add(self, lines: Iterable[StoredLine]) -> None:
        """Take in the next lines, which were checked."""
        for line in lines:
            agent, _ = records.whose_and_when(line.data)
            words = self.words.get(agent)
            if words is None:
                words = self.words[agent] = array(_WORD)
            words.append(line.offset)
            words.append(len(line.data))
            end = line.offset + len(line.data)
            self.end = Mark(line.n, end)
            if end - self.marks[-1].offset >= MARK_BYTES:
                self.marks.append(Mark(line.n, end, records.chain_hash(line.data)))

    def spans(self, agent: str) -> Iterator[Span]:
        """Yield the places of an agent's lines, in order."""
        words = self.words.get(agent, ())
        return (Span(words[at], words[at + 1]) for at in range(0, len(words), 2))

    def mark_before(self, n: int) -> Mark:
        """The last place from which reading comes upon the record `n`."""
        found = self.marks[0]
        for mark in self.marks:
            if mark.n >= n:
                break
            found = mark
        return found


def index_path(segment: Path) -> Path:
    """Return the path of a journal file's index."""
    return segment.with_suffix(SUFFIX)


def save(index: FileIndex, segment: Path) -> None:
    """Write the index of a file that grows no more; it is not synced, for it can be made anew.

    Raises:
        OSError: It could not be written; nothing depends on it.
    """
    body = bytearray()
    for words in index.words.values():
        body += _little(words).tobytes()
    for mark in index.marks:
        body += _little(array(_WORD, [mark.n - index.first + 1, mark.offset])).tobytes() + mark.hash.encode()
    head = {
        "format": FORMAT,
        "first": index.first,
        "last": index.end.n,
        "size": index.end.offset,
        "hash": _last_hash(segment, index),
        "agents": [[agent, len(words) // 2] for agent, words in index.words.items()],
        "marks": len(index.marks),
        "crc": zlib.crc32(body),
    }
    path = index_path(segment)
    new = path.with_suffix(f"{SUFFIX}.tmp")
    new.write_bytes(orjson.dumps(head, option=orjson.OPT_APPEND_NEWLINE) + body)
    new.replace(path)


def load(segment: Segment) -> FileIndex | None:
    """Read the index of a file that grows no more; None if there is none that fits it."""
    try:
        path, size = index_path(segment.path), segment.path.stat().st_size
        if path.stat().st_size > max(size, MARK_BYTES):  # eight bytes a line of a hundred and more
            return None
        data = path.read_bytes()
        head_bytes, _, body = data.partition(b"\n")
        head = orjson.loads(head_bytes)
        index = _read(head, memoryview(body))
        fits = index.first == segment.first and index.end.offset == size
        return index if fits and head["hash"] == _last_hash(segment.path, index) else None
    except (OSError, ValueError, KeyError, TypeError, OverflowError):
        return None


def build(segment: Segment) -> FileIndex:
    """Make the index of a file from its lines, each checked. Blocks: 64 MiB take a second.

    Raises:
        JournalDamagedError: A line is damaged.
    """
    cursor = Cursor.within(segment)
    index = FileIndex.of_none(segment.first, cursor.mark)
    while lines := cursor.take():
        index.add(lines)
    return index


def _read(head: dict[str, Any], body: memoryview) -> FileIndex:
    """Read what `save` wrote.

    Raises:
        ValueError, KeyError, TypeError: It is something else.
    """
    if head["format"] != FORMAT or head["crc"] != zlib.crc32(body):
        raise ValueError("It is of another make, or damaged.")
    first, size = int(head["first"]), int(head["size"])
    index = FileIndex(first, Mark(int(head["last"]), size))
    at = 0
    for agent, count in head["agents"]:
        words = array(_WORD)
        words.frombytes(body[at : at + 2 * count * words.itemsize])
        at += 2 * count * words.itemsize
        if len(words) != 2 * count or not isinstance(agent, str):
            raise ValueError("It was cut.")
        index.words[agent] = _little(words)
    for _ in range(head["marks"]):
        words = array(_WORD)
        words.frombytes(body[at : at + 2 * words.itemsize])
        at += 2 * words.itemsize
        passed, offset = _little(words)
        index.marks.append(Mark(first + passed - 1, offset, bytes(body[at : at + _HASH_BYTES]).decode("ascii")))
        at += _HASH_BYTES
    if at != len(body) or not index.marks:
        raise ValueError("It does not end where it should.")
    return index


def _last_hash(segment: Path, index: FileIndex) -> str:
    """Return the hash of the last line in the index, which detects an index of other bytes of the same length."""
    last = max((words[-2:] for words in index.words.values() if words), key=lambda span: span[0], default=None)
    if last is None:
        return ""
    with segment.open("rb") as file:
        file.seek(last[0])
        return records.line_hash(file.read(last[1]))


def _little(words: "array[int]") -> "array[int]":
    """The same numbers with the byte order of the file."""
    if sys.byteorder == "big":
        words = words[:]
        words.byteswap()
    return words


class JournalIndexes:
    """The indexes of a journal's files, each made on demand; that of the file being written is extended.

    Used by one thread at a time.

    Args:
        directory: The journal's directory.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._live: tuple[Segment, Cursor, FileIndex] | None = None

    def of(self, segment: Segment, *, grows: bool, upto: int | None = None) -> FileIndex:
        """The index of a file, up to a record at least. Blocks.

        Args:
            segment: The file.
            grows: Whether it is the last one.
            upto: The number of a record that is written; None takes what is there.

        Raises:
            JournalDamagedError: A line is damaged.
        """
        if not grows and (found := load(segment)) is not None:
            return found
        index = self._up_to_date(segment, upto if grows else None)
        if not grows:
            self._live = None
            self._save(index, segment)
        return index

    def maintain(self, upto: int) -> Iterator[None]:
        """Make the indexes that are not there, and keep up that of the last file; yields after every piece of work.

        Args:
            upto: The number of a record that is written.

        Raises:
            JournalDamagedError: A line is damaged.
        """
        segments = list_segments(self.directory)
        for segment in segments:
            grows = segment == segments[-1]
            if not grows and index_path(segment.path).exists():
                continue
            while self._add_to(segment, upto):
                yield
            if not grows:
                self.of(segment, grows=False)
                yield

    def make_anew(self, segment: Segment) -> FileIndex:
        """The index of a file of which a wrong one was found; raises like `of`."""
        index = build(segment)
        self._save(index, segment)
        return index

    def _up_to_date(self, segment: Segment, upto: int | None) -> FileIndex:
        while self._add_to(segment, upto):
            pass
        assert self._live is not None
        return self._live[2]

    def _add_to(self, segment: Segment, upto: int | None) -> bool:
        """Add the next lines of a file to its index; False if there are none."""
        if self._live is None or self._live[0] != segment:
            cursor = Cursor.within(segment)
            self._live = segment, cursor, FileIndex.of_none(segment.first, cursor.mark)
        _, cursor, index = self._live
        lines = cursor.take(upto)
        index.add(lines)
        return bool(lines)

    @staticmethod
    def _save(index: FileIndex, segment: Segment) -> None:
        try:
            save(index, segment.path)
        except OSError:  # a full disk, for one; it is made again when it is needed next
            with suppress(OSError):
                index_path(segment.path).unlink()
