"""The check of the journal at a start: all whole records, and perhaps a tail that a crash tore.

A torn tail follows the last intact record, in the last file: half a line of a process that was killed, or blocks that
never reached the disk when the machine went down. It was never acknowledged as synced. It is set aside in a file of its
own and the journal goes on before it. A fault with an intact record behind it is no tail: it is damage, and the start
stops, because going on would mean to guess; unless all of it can be told to agents, as `mending` says.
"""

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from host.durable import Disk, replace_file
from supervisor.protocol import records
from supervisor.protocol.records import RecordError
from supervisor.runtime.journal.cutting import finish_cut
from supervisor.runtime.journal.mending import JournalDamage, mend
from supervisor.runtime.journal.reader import SUFFIX, Cursor, JournalDamagedError, list_segments
from supervisor.runtime.journal.signing import SigningKey


@dataclass(frozen=True, slots=True)
class TornTail:
    """Bytes that were set aside."""

    path: Path
    """The file that has them now; its name has the file and the byte that they came from."""
    size: int
    """How many, in bytes."""
    segment: Path
    """The file they were cut from."""
    offset: int
    """At which byte."""


@dataclass(frozen=True, slots=True)
class JournalRecovery:
    """The findings of a start."""

    records: int
    """How many records were checked: all, or those in the files from the trusted one on."""
    n: int
    """The number of the last record; 0 if there is none."""
    hash: str
    """The hash of the last line, header or record, to which the next chains."""
    segment: Path | None
    """The file to go on in; None if the next record begins one."""
    size: int
    """Its size in bytes."""
    torn: TornTail | None = None
    """The tail that was set aside, if there was one."""
    damage: tuple[JournalDamage, ...] = ()
    """Lines that were not what was written there, and were put aside."""
    marked: bool = False
    """Whether a line that was checked says that it is signed."""


def recover(
    directory: Path,
    disk: Disk,
    trusted: int = 0,
    look: Callable[[list[bytes]], object] | None = None,
    key: SigningKey | None = None,
) -> JournalRecovery:
    """Check the journal, set a torn tail aside, and say where to go on.

    Args:
        directory: The journal's directory; made where it is not there.
        disk: Where.
        trusted: The number of a record that is known by other means, a snapshot. Files that end before it are not
            read now, only on demand. A gigabyte takes some three seconds.
        look: Called with the lines that were checked, without their newlines, some at a time.
        key: The key that lines must be signed with; None if the journal is not signed.

    Raises:
        JournalDamagedError: A record is damaged, intact ones follow, and no agent can be told. Nothing was changed.
        OSError: The disk failed.
    """
    disk.make_directory(directory)
    finish_cut(directory, disk)
    _settle(directory, disk)
    cursor = Cursor(directory, trusted)
    before_first = None
    count, marked = 0, False
    try:
        while lines := cursor.pass_over():
            before_first = cursor.n - len(lines) if before_first is None else before_first
            count = cursor.n - before_first
            if key is not None:
                _check_signed(cursor, lines, key)
            marked = marked or records.is_marked(lines[-1])
            if look is not None:
                look(lines)
    except JournalDamagedError as error:
        if (damage := mend(error.path, disk, key)) is not None:
            again = recover(directory, disk, trusted, look, key)
            return replace(again, damage=(damage, *again.damage))
        return replace(_set_aside(cursor, count, error.path, error.offset, disk, error), marked=marked)
    if cursor.path is None:
        return JournalRecovery(0, 0, records.ORIGIN, None, 0)
    if cursor.path.stat().st_size > cursor.offset:
        return replace(_set_aside(cursor, count, cursor.path, cursor.offset, disk, None), marked=marked)
    return JournalRecovery(count, cursor.n, cursor.hash, cursor.path, cursor.offset, marked=marked)


def _check_signed(cursor: Cursor, lines: Sequence[bytes], key: SigningKey) -> None:
    """Check the lines that the cursor has just passed, which end where it stands."""
    first, offset = cursor.n - len(lines) + 1, cursor.offset - sum(map(len, lines)) - len(lines)
    for n, line in enumerate(lines, first):
        if n > key.since and not records.is_signed(line, key.key):
            assert cursor.path is not None
            expected, found = f"one by the key {key.id}", "another, or none"
            raise JournalDamagedError(
                cursor.path, cursor.line - (cursor.n - n) - 1, offset, "signature", expected, found
            )
        offset += len(line) + 1


def _settle(directory: Path, disk: Disk) -> None:
    """Make what is read what is on disk.

    A record that is found must stay found, so what the kernel still holds is synced first. And where an earlier sync
    failed, Linux keeps the pages as if they were clean: they are dropped, so that reading tells what the disk has.
    """
    for path in directory.glob("*.tmp"):
        disk.unlink(path)
    segments = list_segments(directory)
    if not segments:
        return
    fd = disk.open(segments[-1].path, os.O_RDWR)
    try:
        disk.sync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        disk.close(fd)
    disk.sync_directory(directory)


def _set_aside(
    cursor: Cursor, count: int, path: Path, offset: int, disk: Disk, error: JournalDamagedError | None
) -> JournalRecovery:
    tail = _read_from(path, offset)
    if error is not None and (path != list_segments(path.parent)[-1].path or _has_intact_line(tail)):
        raise error
    aside = _free_name(path, offset, tail)
    replace_file(aside, tail, disk=disk)
    _cut(path, offset, disk)
    torn = TornTail(aside, len(tail), path, offset)
    if offset == 0:  # the header itself: go on in the file before, whose last record is two before this one's second
        first = int(path.name.removesuffix(SUFFIX))
        return replace(recover(path.parent, disk, max(0, first - 2)), torn=torn)
    return JournalRecovery(count, cursor.n, cursor.hash, path, offset, torn)


def _read_from(path: Path, offset: int) -> bytes:
    with path.open("rb") as file:
        file.seek(offset)
        return file.read()


def _has_intact_line(tail: bytes) -> bool:
    """Whether a line stands whole in the tail, newline included, even where the newline before it is gone."""
    return any(
        _intact(line[start.start() :]) for line in tail.split(b"\n")[:-1] for start in _BEGINNINGS.finditer(line)
    )


_BEGINNINGS = re.compile(rb'\{"(?:n|first)":')


def _intact(line: bytes) -> bool:
    for check in (records.check, records.check_header):
        try:
            check(line)
        except RecordError:
            continue
        return True
    return False


def _free_name(path: Path, offset: int, tail: bytes) -> Path:
    """Name the file for the tail; the same one again where a crash came between writing it and cutting."""
    for attempt in range(1, 10_000):
        name = path.with_name(f"{path.name}.{offset}{f'-{attempt}' if attempt > 1 else ''}.torn")
        if not name.exists() or name.read_bytes() == tail:
            return name
    raise FileExistsError(f"{path}: 10,000 torn tails were set aside at byte {offset}; look into the disk first")


def _cut(path: Path, offset: int, disk: Disk) -> None:
    if offset == 0:
        disk.unlink(path)
        disk.sync_directory(path.parent)
        return
    fd = disk.open(path, os.O_WRONLY)
    try:
        disk.truncate(fd, offset)
        disk.sync(fd)
    finally:
        disk.close(fd)
