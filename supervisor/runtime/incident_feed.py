"""The incident log as the daemon uses it: written off the event loop, one at a time, and followed by readers."""

from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from supervisor.protocol import anyjson
from supervisor.protocol.errors import ChaperonError
from supervisor.protocol.interventions import Incident
from supervisor.runtime.incidents import IncidentLog
from supervisor.runtime.log import log

CHUNK_BYTES = 256 * 1024
"""How much is read at once, in bytes; bounds what a slow reader costs."""


class IncidentFeed:
    """Reports incidents, and tells followers that there is more to read.

    Args:
        written: The log and its reports.
        path: The log's file.
    """

    def __init__(self, written: IncidentLog, path: Path) -> None:
        self._written = written
        self._path = path
        self._one_at_a_time = anyio.Lock()
        self._grown = anyio.Event()
        self._closed = False

    def close(self) -> None:
        """End the streams of those who wait for more, once they have what is there."""
        self._closed = True
        self._grown.set()

    async def report(self, incident: Incident, report: Mapping[str, Any] | None) -> None:
        """Write an incident that is in the journal; one that was written before is not written twice.

        Where it cannot be written that is logged: the next start asks again for what the journal has.
        """
        async with self._one_at_a_time:
            try:
                await anyio.to_thread.run_sync(self._written.record, incident, report)
            except ChaperonError as error:
                log.error("%s", error)
                return
        grown, self._grown = self._grown, anyio.Event()
        grown.set()

    async def complete(self, incident: str, change: Callable[[dict[str, Any]], Mapping[str, Any]]) -> None:
        """Write the report of an incident anew; where that fails, it is logged, and the journal has what was to be added."""
        async with self._one_at_a_time:
            try:
                await anyio.to_thread.run_sync(self._written.complete, incident, change)
            except ChaperonError as error:
                log.error("%s", error)

    async def prune(self, now: float, days: float) -> None:
        """Remove the reports that are older than so many days; a failure is logged, and the next day tries again.

        Args:
            now: Unix time in seconds.
            days: How long a report is kept.
        """
        async with self._one_at_a_time:
            try:
                removed = await anyio.to_thread.run_sync(self._written.prune, now, days)
            except OSError as error:
                log.warning("old incident reports could not be removed (%s); it is tried again tomorrow", error)
                return
        if removed:
            log.info("removed the reports of %d incidents, older than %g days", len(removed), days)

    async def follow(self, *, live: bool) -> AsyncIterator[bytes]:
        """Yield the log's whole lines from its beginning; with `live`, wait for more."""
        offset = 0
        while True:
            grown = self._grown
            while data := await anyio.to_thread.run_sync(self._read_lines, offset):
                offset += len(data)
                yield b"".join(map(anyjson.readable, data.splitlines(keepends=True))) if b"\\ud" in data else data
            if not live or self._closed:
                return
            await grown.wait()

    def _read_lines(self, offset: int) -> bytes:
        """Read whole lines from the offset on: some, or one that is longer than a chunk, or nothing where there is none."""
        try:
            with self._path.open("rb") as file:
                file.seek(offset)
                data = file.read(CHUNK_BYTES)
                if b"\n" not in data:
                    data += file.readline()
        except FileNotFoundError:
            return b""
        return data[: data.rfind(b"\n") + 1]
