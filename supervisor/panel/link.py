"""The panel's link to the daemon: the command line's client, in threads, since it blocks."""

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import anyio
import anyio.to_thread

from monitors.contract import anyjson
from monitors.contract.errors import ChaperonError
from supervisor.cli.client import Client, Wait
from supervisor.cli.client_errors import DaemonGoneError, NoDaemonError, StrangerError

T = TypeVar("T")

MOST_AT_ONCE = 16
"""Requests to the daemon at once; the rest waits. A page asks five things."""

UNREACHABLE = (NoDaemonError, DaemonGoneError, StrangerError)
"""Errors for a daemon that is away."""

Record = dict[str, Any]
"""An event of the journal."""

UNREADABLE = (LookupError, TypeError, AttributeError, ValueError, ArithmeticError)
"""Errors in making a page of an answer that is other than this version knows it."""


class UnreadableError(ChaperonError):
    """The daemon's answer is other than this panel knows it.

    Args:
        error: What was raised in showing it.
    """

    def __init__(self, error: Exception) -> None:
        super().__init__(
            f"The daemon's answer cannot be shown here ({type(error).__name__}: {str(error)[:200]}); nothing was changed.",
            way_out="If chaperon was updated while this panel ran, end the panel and start it anew.",
        )


class PanelLink:
    """Requests to the daemon.

    Args:
        connect: Returns a client of the daemon that there is. Raises like `supervisor.cli.client.connect`.
    """

    def __init__(self, connect: Callable[[], Client]) -> None:
        self._connect = connect
        self._client: Client | None = None
        self._limiter = anyio.CapacityLimiter(MOST_AT_ONCE)

    async def get(self, path: str, **query: Any) -> Any:
        """Ask for something; raises like `Client.get`, and NoDaemonError."""
        return await self.ask(lambda client: client.get(path, **query))

    async def post(self, path: str, body: Any = None, *, seconds: float | None = 30.0) -> Any:
        """Ask for something to be done; raises like `get`."""
        return await self.ask(lambda client: client.post(path, body, seconds=seconds))

    async def delete(self, path: str) -> Any:
        """Ask for something to be taken back; raises like `get`."""
        return await self.ask(lambda client: client.delete(path))

    async def records(self, path: str, **query: Any) -> list[Record]:
        """Return the objects of a stream that ends; a line that is none is left out. Raises like `get`."""
        return await self.ask(lambda client: list(decoded(client.lines(path, **query))))

    def client(self) -> Client:
        """Return a client, for use in a thread of one's own; raises like `connect`."""
        if self._client is None:
            self._client = self._connect()
        return self._client

    async def ask(self, work: Callable[[Client], T]) -> T:
        """Do some work with a client in a thread; raises what it raises, and NoDaemonError."""
        return await anyio.to_thread.run_sync(self._done, work, limiter=self._limiter, abandon_on_cancel=True)

    def _done(self, work: Callable[[Client], T]) -> T:
        try:
            return work(self.client())
        except UNREACHABLE:
            self._client = None  # the next daemon may listen on the other socket
            raise


def decoded(lines: Iterator[bytes]) -> Iterator[Record]:
    """Yield the objects among lines of JSON that have a number; a damaged line is the command line's to report."""
    for line in lines:
        try:
            record = anyjson.decode(line)
        except ValueError:
            continue
        if isinstance(record, dict) and "oversized" not in record:
            yield record


__all__ = ["UNREACHABLE", "PanelLink", "Record", "Wait", "decoded"]
