"""Speaking with the daemon: requests over its socket, and its streams of lines."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from supervisor.protocol.errors import ChaperonError, UsageError
from supervisor.protocol.lines import Line, LineSplitter

if TYPE_CHECKING:
    import httpx  # at run time only where a conversation begins: the daemon itself imports this module and has none

CONNECT_SECONDS = 5.0
"""How long a daemon may take to accept: it does so at once, unless it has just been started."""

UNPROCESSABLE = 422
"""The status that says: the request was understood and asks for what cannot be."""

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


class RefusedError(ChaperonError):
    """The daemon did not do what was asked; the sentence is its own."""


class MisusedError(RefusedError, UsageError):
    """The daemon was asked for what cannot be: the caller's mistake."""


class Client:
    """One conversation with a daemon. Made by `connect`."""

    def __init__(self, http: "httpx.AsyncClient") -> None:
        self._http = http

    async def get(self, path: str) -> Any:
        """Ask for something.

        Raises:
            RefusedError: The daemon says no, and why.
        """
        return await self._ask("GET", path, None)

    async def post(self, path: str, body: Any = None) -> Any:
        """Ask for something to be done; raises like `get`."""
        return await self._ask("POST", path, body)

    async def _ask(self, method: str, path: str, body: Any) -> Any:
        try:
            response = await self._http.request(method, path, json=body)
        except httpx.TimeoutException:
            raise RefusedError(
                f"The daemon did not answer within {ANSWER_SECONDS:g} s; whether it did what was asked is not known.",
                way_out="It may be waiting for room on its disk: see incidents.jsonl in its state directory.",
            ) from None
        except httpx.TransportError as error:
            raise RefusedError(
                f"The daemon went away before it answered ({error!r}); whether it did what was asked is not known.",
                way_out="Start it again, and look with chaperon ps.",
            ) from None
        return _checked(response)

    async def lines(self, path: str, **query: Any) -> AsyncIterator[bytes]:
        """Yield the lines of a stream, without their newlines, until it ends."""
        splitter = LineSplitter()
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
    """
    import httpx

    for path in sockets:
        transport = httpx.AsyncHTTPTransport(uds=str(path))
        timeout = httpx.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS)
        async with httpx.AsyncClient(transport=transport, base_url="http://chaperon", timeout=timeout) as http:
            try:
                await http.get("/v1/health")
            except (httpx.ConnectError, httpx.RemoteProtocolError, httpx.ReadError):
                continue
            yield Client(http)
            return
    raise NoDaemonError(sockets)


def _checked(response: "httpx.Response") -> Any:
    if response.is_success:
        return orjson.loads(response.content)
    try:
        problem = orjson.loads(response.content)
        refusal = MisusedError if response.status_code == UNPROCESSABLE else RefusedError
        raise refusal(problem["what"], way_out=problem.get("way_out", ""))
    except (orjson.JSONDecodeError, KeyError, TypeError):
        raise RefusedError(f"The daemon answered {response.status_code}: {response.text[:300]}") from None
