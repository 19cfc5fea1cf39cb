"""The client of the daemon: requests over its socket, and its streams of lines.

It blocks, and uses h11 alone: a library for HTTP clients takes ten times as long to import as the daemon takes to
answer. Each request has a connection of its own, so none is found to have been closed meanwhile.
"""

import os
import select
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import h11

from host import unix_sockets
from monitors.contract import anyjson
from supervisor.cli.client_errors import DaemonGoneError, MisusedError, NoDaemonError, RefusedError, StrangerError
from supervisor.config.paths import hosts
from supervisor.protocol.lines import LineSplitter, OversizedLine
from supervisor.protocol.words import VERSION_HEADER
from supervisor.runtime.shim.credentials import stranger

CONNECT_SECONDS = 5.0
"""How long a daemon may take to accept: it does so at once, unless it has just been started."""

ANSWER_SECONDS = 30.0
"""How long an answer may take; the longest wait is for git to look at a repository."""

CHUNK_BYTES = 64 * 1024
"""How much is read at once."""

FIRST_NO_SUCCESS = 300
"""The first status of HTTP that is no success."""

MISUSES = (413, 422)
"""The statuses that say: the request asks for what cannot be, or is too long."""

MOST_QUOTED = 300
"""Characters of an answer that is none of ours that are shown."""


Wait = Callable[[socket.socket, float | None], None]
"""Waits until a connection can be read; raises TimeoutError after so many seconds, where any are given."""


def wait_for(connection: socket.socket, seconds: float | None) -> None:
    """Wait for one connection and nothing else.

    Raises:
        TimeoutError: Nothing came.
    """
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    if not poll.poll(None if seconds is None else seconds * 1000):
        raise TimeoutError


class Client:
    """Conversations with one daemon. Made by `connect`.

    Args:
        path: The socket on which it listens.
        trusted: The users who may.
        met: Told the daemon's version with each answer; empty if it does not say, as those before 0.1.1.
    """

    def __init__(
        self, path: Path, trusted: frozenset[int], met: Callable[[str], object] = lambda _version: None
    ) -> None:
        self._path, self._trusted, self._met = path, trusted, met

    @property
    def socket(self) -> Path:
        """The socket on which the daemon listens."""
        return self._path

    def get(self, path: str, **query: Any) -> Any:
        """Ask for something.

        Raises:
            RefusedError: The daemon says no, and why.
            DaemonGoneError: It went away, or does not answer.
        """
        return self.request("GET", _with_query(path, query))

    def post(
        self, path: str, body: Any = None, *, seconds: float | None = ANSWER_SECONDS, wait: Wait = wait_for
    ) -> Any:
        """Ask for something to be done; raises like `get`.

        Args:
            path: Of the daemon's API.
            body: What is sent, as JSON.
            seconds: How long the answer may take; None waits for ever.
            wait: How it is waited for. What it raises hangs up.
        """
        return self.request("POST", path, body, seconds=seconds, wait=wait)

    def delete(self, path: str) -> Any:
        """Ask for something to be taken back; raises like `get`."""
        return self.request("DELETE", path)

    def lines(self, path: str, *, wait: Wait = wait_for, **query: Any) -> Iterator[bytes]:
        """Yield the lines of a stream, without their newlines, until it ends; raises like `get`.

        A line too long to be kept is an object with `oversized`, its size in bytes, and `head`, how it began.
        """
        splitter = LineSplitter()
        with _Exchange(self._path, self._trusted, wait) as exchange:
            exchange.send("GET", _with_query(path, query), None)
            status = exchange.status(ANSWER_SECONDS)
            self._met(exchange.version)
            if status >= FIRST_NO_SUCCESS:
                _checked(status, b"".join(exchange.data(ANSWER_SECONDS)))
            for data in exchange.data(None):
                for line in splitter.feed(data):
                    if isinstance(line, OversizedLine):
                        head = line.head.decode(errors="replace")
                        yield anyjson.dumps({"oversized": line.end - line.start, "head": head})
                    else:
                        yield line.data

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, Any] | None = None,
        seconds: float | None = ANSWER_SECONDS,
        wait: Wait = wait_for,
    ) -> Any:
        """Send any request and return its answer; raises like `get`, and takes what `post` takes."""
        with _Exchange(self._path, self._trusted, wait) as exchange:
            exchange.send(method, _with_query(path, query or {}), None if body is None else anyjson.dumps(body))
            status = exchange.status(seconds)
            self._met(exchange.version)
            return _checked(status, b"".join(exchange.data(seconds)))


def connect(*sockets: Path, met: Callable[[str], object] = lambda _version: None) -> Client:
    """Return a client of the first daemon that listens on one of the sockets.

    Args:
        sockets: Where one may listen.
        met: Told the daemon's version; see `Client`.

    Raises:
        NoDaemonError: None does.
        PlaceError: Others could have put a socket there.
        StrangerError: Another user listens there.
        DaemonGoneError: One does, and does not take connections.
    """
    for path in sockets:
        trusted = hosts(path, os.geteuid())
        try:
            _open(path, trusted).close()
        except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError):
            continue
        return Client(path, trusted, met)
    raise NoDaemonError(sockets)


class _Exchange:
    """One request and its answer, on a connection of their own."""

    def __init__(self, path: Path, trusted: frozenset[int], wait: Wait) -> None:
        self._http = h11.Connection(h11.CLIENT)
        self._wait = wait
        self.version = ""
        """The version of the daemon, once it answered; empty if it does not say."""
        try:
            self._connection = _open(path, trusted)
        except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError) as error:
            raise _gone(error) from error

    def __enter__(self) -> "_Exchange":
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def send(self, method: str, path: str, body: bytes | None) -> None:
        """Send the request."""
        headers = [("host", "chaperon"), ("connection", "close")]
        if body is not None:
            headers += [("content-type", "application/json"), ("content-length", str(len(body)))]
        asked = self._http.send(h11.Request(method=method, target=path, headers=headers)) or b""
        asked += self._http.send(h11.Data(data=body)) or b"" if body else b""
        asked += self._http.send(h11.EndOfMessage()) or b""
        with _told_of_its_end():
            try:
                self._connection.sendall(asked)
            except BrokenPipeError:
                return  # what refuses a request before it is whole has said so by now

    def status(self, seconds: float | None) -> int:
        """The status of the answer."""
        event = self._next(seconds)
        if not isinstance(event, h11.Response):
            raise _gone("no answer")
        self.version = next((value.decode() for name, value in event.headers if name == VERSION_HEADER.encode()), "")
        return int(event.status_code)

    def data(self, seconds: float | None) -> Iterator[bytes]:
        """The body of the answer, as it comes; each piece may take so long."""
        while isinstance(event := self._next(seconds), h11.Data):
            yield bytes(event.data)

    def _next(self, seconds: float | None) -> h11.Event:
        while (event := self._read()) is h11.NEED_DATA:
            try:
                self._wait(self._connection, seconds)  # what else this raises is no word of the daemon's
            except TimeoutError as error:
                raise _silent(ANSWER_SECONDS if seconds is None else seconds) from error
            with _told_of_its_end():
                self._http.receive_data(self._connection.recv(CHUNK_BYTES))
        if isinstance(event, h11.InformationalResponse):
            return self._next(seconds)
        if isinstance(event, type | h11.ConnectionClosed):
            raise _gone("its answer ended early")
        return event

    def _read(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        with _told_of_its_end():
            return self._http.next_event()


def _open(path: Path, trusted: frozenset[int]) -> socket.socket:
    """Connect, and see who is there before anything is said."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    try:
        unix_sockets.connect(connection, str(path), CONNECT_SECONDS)
        connection.settimeout(ANSWER_SECONDS)  # for what is sent; what comes is waited for before it is read
        _refuse_stranger(connection, path, trusted)
    except TimeoutError as error:
        connection.close()
        raise _silent(CONNECT_SECONDS) from error
    except BaseException:
        connection.close()
        raise
    return connection


def _refuse_stranger(connection: socket.socket, path: Path, trusted: frozenset[int]) -> None:
    if why := stranger(connection, trusted):
        raise StrangerError(
            f"The socket {path} is not a daemon's of yours: {why}. Nothing was sent.",
            way_out="Look who that is (ss -xlp), and set XDG_RUNTIME_DIR to a directory of your own.",
        )


@contextmanager
def _told_of_its_end() -> Iterator[None]:
    """Give failures of the connection as what they mean."""
    try:
        yield
    except TimeoutError as error:  # of what is sent
        raise _silent(ANSWER_SECONDS) from error
    except (h11.RemoteProtocolError, ConnectionError) as error:
        # Of an end before the first byte h11 tells in terms of its own states, which say nothing to people.
        raise _gone("its connection ended" if "role=SERVER" in str(error) else error) from error


def _silent(seconds: float) -> DaemonGoneError:
    return DaemonGoneError(
        f"The daemon did not answer within {seconds:g} s; whether it does what was asked is not known.",
        way_out="chaperon doctor says more; what the daemon has taken is in its journal (chaperon tail).",
    )


def _gone(why: Exception | str) -> DaemonGoneError:
    return DaemonGoneError(
        f"The daemon went away in the middle of its answer ({str(why) or type(why).__name__}).",
        way_out="Agents wait for it at their next tool call: start it again with chaperon serve, or its service.",
    )


def _with_query(path: str, query: Mapping[str, Any]) -> str:
    if not query:
        return path
    spelled = {name: str(value).lower() if isinstance(value, bool) else value for name, value in query.items()}
    return f"{path}?{urlencode(spelled, doseq=True, errors='replace')}"


def _checked(status: int, body: bytes) -> Any:
    try:
        told = anyjson.decode(body)
        if status < FIRST_NO_SUCCESS:
            return told
        refusal = MisusedError if status in MISUSES else RefusedError
        error = refusal(told["what"], way_out=told.get("way_out", ""))
        if isinstance(error, MisusedError):
            error.faults = {int(number): str(says) for number, says in told.get("faults", {}).items()}
        raise error
    except (ValueError, KeyError, TypeError, AttributeError):
        shown = body[:MOST_QUOTED].decode(errors="replace")
        raise RefusedError(f"The daemon answered {status}: {shown}") from None
