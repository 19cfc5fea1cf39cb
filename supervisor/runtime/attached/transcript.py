"""The session file of an attached CLI, followed as it grows: what its model says and uses is in no hook.

The file belongs to the CLI, and any program of the user may write there: a read is bounded, a line that is no JSON is
passed over, and a file that shrank, or that no longer has what was read last, is followed from its new end. A session
that is forked begins with the lines of the other one, times included (measured, 2.1.329): what is older than the first
look is passed over.
"""

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from host.plain_files import open_plain

MOST_AT_ONCE = 8 * 1024 * 1024
"""Bytes read at one hook; the rest comes with the next. A reply of the model has some kilobytes, an image in a result
some megabytes."""


TAIL = 64
"""Bytes in front of the offset by which the file is known again. A line has an id of 36 characters among its last."""


class Transcript:
    """One session file, from an offset on.

    Args:
        path: The file; it may not exist yet.
        offset: Where reading begins; None for its end at the first look.
        since: The time of the first look, as the CLI writes times; empty: of all times.
        tail: The last bytes in front of the offset; empty if they are not known.
    """

    def __init__(self, path: str, offset: int | None = None, since: str = "", tail: bytes = b"") -> None:
        self.path = path
        self.offset = offset
        self.since = since
        self.tail = tail

    def read(self) -> list[Mapping[str, Any]]:
        """Return the whole lines that came since. Blocks for as long as a read of the disk takes."""
        try:
            with open_plain(Path(self.path), links=False) as fd:
                size = os.fstat(fd).st_size
                if self.offset is None or size < self.offset or not self._is_the_same(fd, self.offset):
                    self.offset = size
                    self.tail = os.pread(fd, TAIL, max(size - TAIL, 0))[:size]
                    return []
                data = os.pread(fd, MOST_AT_ONCE, self.offset)
        except OSError:  # not written yet, or taken away
            self.offset = self.offset or 0
            return []
        whole = data.rfind(b"\n") + 1
        if not whole and len(data) == MOST_AT_ONCE:  # a line without end is not waited for
            whole = len(data)
        self.offset += whole
        self.tail = (self.tail + data[:whole])[-TAIL:]
        lines = [line for line in map(_decoded, data[:whole].splitlines()) if line is not None]
        return [line for line in lines if str(line.get("timestamp") or self.since) >= self.since]

    def _is_the_same(self, fd: int, offset: int) -> bool:
        """Whether the file still has what was read last."""
        return not self.tail or os.pread(fd, len(self.tail), offset - len(self.tail)) == self.tail


def timestamp(wall: float) -> str:
    """Return a time as the CLI writes it in session files, so that texts compare as times do."""
    return datetime.fromtimestamp(wall, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _decoded(line: bytes) -> Mapping[str, Any] | None:
    if b'"assistant"' not in line:  # nothing else is looked at, and results hold megabytes
        return None
    try:
        found = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict) else None
