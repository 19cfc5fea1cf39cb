"""The session file of an attached CLI, followed as it grows: what its model says and uses is in no hook.

The file belongs to the CLI, and any program of the user may write there: a read is bounded, a line that is no JSON is
passed over, and a file that shrank or was replaced is followed from its new end.
"""

import os
import stat
from collections.abc import Mapping
from typing import Any

import orjson

MOST_AT_ONCE = 8 * 1024 * 1024
"""Bytes read at one hook; the rest comes with the next. A reply of the model has some kilobytes, an image in a result
some megabytes."""


class Transcript:
    """One session file, from an offset on.

    Args:
        path: The file; it may not exist yet.
        offset: Where reading begins; None for its end at the first look.
    """

    def __init__(self, path: str, offset: int | None = None) -> None:
        self.path = path
        self.offset = offset

    def read(self) -> list[Mapping[str, Any]]:
        """Return the whole lines that came since. Blocks for as long as a read of the disk takes."""
        try:
            fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
        except OSError:  # not written yet, or taken away
            self.offset = self.offset or 0
            return []
        try:
            status = os.fstat(fd)
            if not stat.S_ISREG(status.st_mode):
                return []
            if self.offset is None or status.st_size < self.offset:
                self.offset = status.st_size
                return []
            data = os.pread(fd, MOST_AT_ONCE, self.offset)
        except OSError:
            return []
        finally:
            os.close(fd)
        whole = data.rfind(b"\n") + 1
        if not whole and len(data) == MOST_AT_ONCE:  # a line without end is not waited for
            whole = len(data)
        self.offset += whole
        return [line for line in map(_decoded, data[:whole].splitlines()) if line is not None]


def _decoded(line: bytes) -> Mapping[str, Any] | None:
    if b'"assistant"' not in line:  # nothing else is looked at, and results hold megabytes
        return None
    try:
        found = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict) else None
