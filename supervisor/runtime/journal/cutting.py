"""The journal kept short: whole files at its beginning are removed once a durable state takes their place. Blocks.

The state is written first, then the base, each on the disk before the next; only then are files removed, the oldest
first. A power cut leaves either the whole journal, or one that goes on from a state that is there; the next start
removes what such a cut has left.
"""

from collections.abc import Callable
from pathlib import Path

from host.durable import REAL_DISK, Disk
from supervisor.protocol import records
from supervisor.runtime.journal.base import JournalBase, read_base, write_base
from supervisor.runtime.journal.index import index_path
from supervisor.runtime.journal.reader import Segment, list_segments


def base_for(directory: Path, upto: int, before: float) -> JournalBase | None:
    """Return the base of the journal without files of before a time; None if none can go.

    Args:
        directory: The journal's directory.
        upto: The number of the last record that may go.
        before: Unix time in seconds: the record behind a file that goes is older.

    Raises:
        OSError: A file cannot be read.
        RecordError: The header of a file is damaged.
    """
    found = None
    for following in list_segments(directory)[1:]:
        if following.first - 1 > upto:
            break
        with following.path.open("rb") as file:
            header, line = file.readline(), file.readline()
        if not line.endswith(b"\n") or records.whose_and_when(line)[1] >= before:
            break
        found = JournalBase(*records.check_header(header, following.first))
    return found


def cut(directory: Path, base: JournalBase, write_state: Callable[[], object], disk: Disk = REAL_DISK) -> int:
    """Have the journal go on from a base; return how many files were removed.

    Args:
        directory: The journal's directory.
        base: Its new base.
        write_state: Writes the state that takes the place of what goes; on the disk when it returns.
        disk: Another, in tests.

    Raises:
        OSError: A step failed; the journal can be read all the same.
    """
    write_state()
    write_base(directory, base, disk)
    return remove_before(directory, base, disk)


def finish_cut(directory: Path, disk: Disk = REAL_DISK) -> None:
    """Remove files that a cut has left; for a start, which holds the state directory's lock.

    Raises:
        BaseDamagedError: The base is damaged; nothing was removed.
        OSError: A file could not be removed.
    """
    base = read_base(directory)
    if base is not None:
        remove_before(directory, base, disk)


def remove_before(directory: Path, base: JournalBase, disk: Disk) -> int:
    """Remove the files before a base, the oldest first. Nothing goes if the file that it names is not there."""
    segments = list_segments(directory)
    if all(segment.first != base.first for segment in segments):
        return 0
    old = [segment for segment in segments if segment.first < base.first]
    for segment in old:
        _remove(segment, disk)
    if old:
        disk.sync_directory(directory)
    return len(old)


def _remove(segment: Segment, disk: Disk) -> None:
    index = index_path(segment.path)
    if index.exists():
        disk.unlink(index)
    disk.unlink(segment.path)
