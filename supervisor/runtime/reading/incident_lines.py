"""The incident log's lines as readers ask for them."""

from collections.abc import AsyncIterator
from pathlib import Path

from monitors.contract import anyjson
from supervisor.runtime.reading.progress import Follower

CHUNK_BYTES = 256 * 1024
"""How much is read at once, in bytes; bounds what a slow reader costs."""


async def incident_lines(log: Path, progress: Follower, *, follow: bool) -> AsyncIterator[bytes]:
    """Yield the log's whole lines from its beginning.

    Args:
        log: The log's file.
        progress: Tells when it has grown.
        follow: Whether to wait for more.
    """
    offset = 0
    while True:
        grown = progress.incidents
        while data := _whole_lines(log, offset):
            offset += len(data)
            yield b"".join(map(anyjson.readable, data.splitlines(keepends=True))) if b"\\ud" in data else data
        if not follow or progress.over:
            return
        while grown == progress.incidents and not progress.over:
            await progress.change()


def _whole_lines(path: Path, offset: int) -> bytes:
    """Read whole lines from the offset on: some, or one that is longer than a chunk, or nothing if there is none."""
    try:
        with path.open("rb") as file:
            file.seek(offset)
            data = file.read(CHUNK_BYTES)
            if b"\n" not in data:
                data += file.readline()
    except FileNotFoundError:
        return b""
    return data[: data.rfind(b"\n") + 1]
