"""Speaking with the daemon: requests over its socket, and its streams of lines."""

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio.to_thread
import orjson

from supervisor.config.paths import hosts
from supervisor.protocol.errors import ChaperonError, UsageError
from supervisor.protocol.lines import Line, LineSplitter
from supervisor.runtime.credentials import stranger

if TYPE_CHECKING:
    import httpx  # at run time only where a conversation begins: the daemon itself imports this module and has none

CONNECT_SECONDS = 5.0
"""How long a daemon may take to accept: it does so at once, unless it has just been started."""

MISUSES = (413, 422)
"""The statuses that say: the request asks for what cannot be, or is too long."""

ANSWER_SECONDS = 30.0
"""How long an answer may take; the longest wait is for git to look at a repository."""


class NoDaemonError(ChaperonError):
    """Nobody listens on the socket."""

    def __init__(self, tried: tuple[Path, ...]) -> None:
        """Name the sockets that were tried."""
        super().__init__(
            f"No daemon listens on {' or '.join(map(str, tried))}.",
            way_out="Start one: chaperon serve, or systemctl --user start chaperon.",
        )


class StrangerError(ChaperonError):
    """Somebody listens on the socket whom this user may not trust; nothing was sent."""


class DaemonGoneError(ChaperonError):
    """The daemon went away in the middle of a conversation, or does not answer."""


class RefusedError(ChaperonError):
    """The daemon did not do what was asked; the sentence is its own."""


class MisusedError(RefusedError, UsageError):
    """The daemon was asked for what cannot be: the caller's mistake."""


class Client:
    """One conversation with a daemon. Made by `connect`."""

    def __init__(self, http: "httpx.AsyncClient") -> None:
        self._http = http

    async def get(self, path: str, **query: Any) -> Any:
        """Ask for something.

        Raises:
            RefusedError: The daemon says no, and why.
            DaemonGoneError: It went away, or does not answer.
        """
        with _told_of_its_end():
            return _checked(await self._http.get(path, params=query))

    async def post(self, path: str, body: Any = None, *, seconds: float | None = ANSWER_SECONDS) -> Any:
        """Ask for something to be done; raises like `get`.

        Args:
            path: Of the daemon's API.
            body: What is sent, as JSON.
            seconds: How long the answer may take; None waits for ever.
        """
        with _told_of_its_end(seconds):
            return _checked(await self._http.post(path, json=body, timeout=seconds))

    async def delete(self, path: str) -> Any:
        """Ask for something to be taken back; raises like `get`."""
        with _told_of_its_end():
            return _checked(await self._http.delete(path))

    async def lines(self, path: str, **query: Any) -> AsyncIterator[bytes]:
        """Yield the lines of a stream, without their newlines, until it ends; raises like `get`."""
        splitter = LineSplitter()
        with _told_of_its_end():
            async with self._http.stream("GET", path, params=query, timeout=None) as response:
                if response.is_error:
                    await response.aread()
                    _checked(response)
                async for data in response.aiter_raw():
                    for line in splitter.feed(data):
                        if isinstance(line, Line):
                            yield line.data


@asynccontextmanager
async def connect(*sockets: Path) -> AsyncIterator[Client]:
    """A conversation with the first daemon that listens on one of the sockets.

    Raises:
        NoDaemonError: None does.
        PlaceError: Others could have put a socket there.
        StrangerError: Another user listens there.
        RefusedError: One does, and will not speak with us.
        DaemonGoneError: One does, and does not answer.
    """
    import httpx

    for path in sockets:
        trusted = await anyio.to_thread.run_sync(hosts, path, os.getuid())
        transport = httpx.AsyncHTTPTransport(uds=str(path))
        timeout = httpx.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS)
        looks = {"request": [_looking(path, trusted)]}
        async with httpx.AsyncClient(
            transport=transport, base_url="http://chaperon", timeout=timeout, event_hooks=looks
        ) as http:
            try:
                with _told_of_its_end():
                    _checked(await http.get("/v1/health"))
            except DaemonGoneError as error:
                if isinstance(error.__cause__, httpx.ConnectError):
                    continue
                raise
            yield Client(http)
            return
    raise NoDaemonError(sockets)


def _looking(path: Path, trusted: frozenset[int]) -> Callable[["httpx.Request"], Awaitable[None]]:
    """What has each connection looked at once it stands, and before anything is sent by it."""

    async def look(event: str, info: Mapping[str, Any]) -> None:
        if not event.endswith("connect_unix_socket.complete"):
            return
        stream = info["return_value"]
        if why := stranger(stream.get_extra_info("socket"), trusted):
            await stream.aclose()
            raise StrangerError(
                f"The socket {path} is not a daemon's of yours: {why}. Nothing was sent.",
                way_out="Look who that is (ss -xlp), and set XDG_RUNTIME_DIR to a directory of your own.",
            )

    async def watch(request: "httpx.Request") -> None:
        request.extensions = {**request.extensions, "trace": look}

    return watch


@contextmanager
def _told_of_its_end(seconds: float | None = None) -> Iterator[None]:
    """Give failures of the conversation, in which an answer may take so long, as what they mean."""
    import httpx

    try:
        yield
    except httpx.TimeoutException as error:
        raise DaemonGoneError(
            f"The daemon did not answer within {seconds or ANSWER_SECONDS:g} s; whether it does what was asked is not known.",
            way_out="chaperon doctor says more; what the daemon has taken is in its journal (chaperon tail).",
        ) from error
    except httpx.TransportError as error:
        raise DaemonGoneError(
            f"The daemon went away in the middle of its answer ({str(error) or type(error).__name__}).",
            way_out="Agents wait for it at their next tool call: start it again with chaperon serve, or its service.",
        ) from error


def _checked(response: "httpx.Response") -> Any:
    if response.is_success:
        return orjson.loads(response.content)
    try:
        problem = orjson.loads(response.content)
        refusal = MisusedError if response.status_code in MISUSES else RefusedError
        raise refusal(problem["what"], way_out=problem.get("way_out", ""))
    except (orjson.JSONDecodeError, KeyError, TypeError):
        raise RefusedError(f"The daemon answered {response.status_code}: {response.text[:300]}") from None
