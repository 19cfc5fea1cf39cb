"""The archive of ended agents: a summary a line, written once, so that no start reads their whole lives again.

The snapshot leans on it, and so does a start without a snapshot. It is never the truth: a line that is damaged is
passed over, and the journal alone gives the same. A line is written again if its agent changes after its end; the last
one counts. Nothing here knows what a summary is.
"""

import hashlib
import os
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from host.durable import REAL_DISK, Disk, write_all

ARCHIVE_NAME = "ended.jsonl"

_LINE = re.compile(
    rb'\{"ended":([0-9]{1,20}),"version":"([^"\\]*)","summary":(\{.*\}),"c":"([0-9a-f]{8})"\}\n', re.DOTALL
)


@dataclass(frozen=True, slots=True)
class ArchiveMark:
    """A place between two lines of the archive, and what is before it."""

    size: int
    """Bytes before it."""
    hash: str
    """SHA-256 of these bytes, in hexadecimal."""


@dataclass(frozen=True, slots=True)
class ArchivedSummary:
    """The summary of an agent, up to an event."""

    n: int
    """Number of the last event that is in it."""
    summary: bytes
    """The summary, as JSON."""


@dataclass(frozen=True, slots=True)
class ArchiveContents:
    """The lines of an archive that are whole and of one version, in the order in which they were written."""

    lines: list[ArchivedSummary]
    complete: bool
    """Whether all that was before the mark that was asked for is among them."""
    problem: str = ""
    """The fault in the middle of it, in a sentence; empty if there is none. A torn end is none: nothing leans on it."""


class SummaryArchive:
    """Reads and writes the archive of a state directory. Blocks; used by one thread at a time.

    Args:
        directory: The state directory.
        version: The version of the summaries that are read and written.
        disk: Another, in tests.
    """

    def __init__(self, directory: Path, version: str, disk: Disk = REAL_DISK) -> None:
        self.path = directory / ARCHIVE_NAME
        self._version = version
        self._disk = disk
        self._size = 0
        """Bytes from the beginning that are whole lines: what follows is cut off before more is written."""
        self._hash = hashlib.sha256()

    @property
    def mark(self) -> ArchiveMark:
        """The place of the next line."""
        return ArchiveMark(self._size, self._hash.hexdigest())

    def read(self, needed: ArchiveMark | None = None) -> ArchiveContents:
        """Read what there is.

        Args:
            needed: A mark that was given before; None needs nothing.

        Raises:
            OSError: It is there and cannot be read.
        """
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            data = b""
        lines, damaged, at, whole = list[ArchivedSummary](), 0, 0, 0
        while (end := data.find(b"\n", at) + 1) > 0:
            found = _read(data[at:end], self._version)
            if found is None:
                damaged += 1
            else:
                lines.append(found)
                whole = end if not damaged else whole
            at = end
        self._size, self._hash = whole, hashlib.sha256(memoryview(data)[:whole])
        complete = needed is None or (
            needed.size <= whole and hashlib.sha256(memoryview(data)[: needed.size]).hexdigest() == needed.hash
        )
        return ArchiveContents(lines, complete, self._damage(damaged))

    def append(self, n: int, summaries: Sequence[bytes]) -> ArchiveMark:
        """Write summaries behind those that are there, and bring them to the disk; return the mark behind them.

        Args:
            n: Number of the last event that is in them; it should be synced already.
            summaries: As JSON objects in one line each.

        Raises:
            OSError: They could not be written; what was there before stands.
        """
        if not summaries and self._size:
            return self.mark
        added = b"".join(self._line(n, each) for each in summaries)
        fd = self._disk.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            self._disk.truncate(fd, self._size)
            write_all(fd, added, disk=self._disk)
            self._disk.sync(fd)
        finally:
            self._disk.close(fd)
        self._size += len(added)
        self._hash.update(added)
        return self.mark

    def forget(self) -> None:
        """Begin anew: what is there is cut off before the next summaries are written."""
        self._size, self._hash = 0, hashlib.sha256()

    def _line(self, n: int, summary: bytes) -> bytes:
        unsealed = b'{"ended":%d,"version":"%b","summary":%b' % (n, self._version.encode(), summary)
        return b'%b,"c":"%08x"}\n' % (unsealed, zlib.crc32(unsealed))

    def _damage(self, damaged: int) -> str:
        if not damaged:
            return ""
        return (
            f"{damaged} lines of the archive {self.path} are damaged or of another version. They were passed over: "
            "the journal is read for these agents."
        )


def as_mark(kept: Mapping[str, object]) -> ArchiveMark:
    """Read a mark that was kept as JSON.

    Raises:
        KeyError, TypeError, ValueError: It is none.
    """
    return ArchiveMark(int(str(kept["size"])), str(kept["hash"]))


def _read(line: bytes, version: str) -> ArchivedSummary | None:
    """A whole line of the version; None if it is none."""
    found = _LINE.fullmatch(line)
    if found is None or found[2] != version.encode() or int(found[4], 16) != zlib.crc32(line[: found.end(3)]):
        return None
    return ArchivedSummary(int(found[1]), found[3])
