"""Connections to servers: those to the model are kept for a while after their answer, and used again.

A call that was sent is never sent again by itself, since the model may have answered it: before a kept connection is
used, a look says whether its server has closed it, and if so another is made.
"""

import re
import select
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any
from urllib.parse import SplitResult

import anyio
import anyio.abc
import h11
from anyio.abc import ByteStream
from anyio.streams.tls import TLSStream

from supervisor.runtime.gateway.outbound import DIRECT, Outbound, ProxyError, login_of, proxy_to

READ_BYTES = 65_536

CONNECT_SECONDS = 30.0
"""How long a connection may take to be made."""

TRUST_SECONDS = 600.0
"""How long the certificates of the machine are kept as they were read. To read them takes 20 ms and more, in which no
agent is answered; a gateway runs for months, and a person who changes them waits no longer than this."""

IDLE_SECONDS = 30.0
"""How long a connection without a call is kept, unless its server says less: an agent's tools take some seconds between
two calls. Servers of the web end them after 60 s and more; one that ends while a call is sent fails that call."""

MARGIN_SECONDS = 1.0
"""How long before the end that a server says a connection is not used any more."""

MOST_IDLE = 64
"""Connections without a call that are kept: a fleet of 200 agents has about so many calls at a time."""

MOST_ANSWER = 65_536
"""Bytes of a proxy's answer."""

GONE = anyio.BrokenResourceError, anyio.ClosedResourceError


class UpstreamConnection:
    """A connection to a server.

    Args:
        stream: Its bytes.
        place: Scheme, host, port and the way there; None for one that is not kept.
    """

    def __init__(self, stream: ByteStream, place: tuple[str, str, int, Outbound] | None = None) -> None:
        self.stream = stream
        self.place = place
        self.until = 0.0
        """When it is not used any more, by the loop's clock."""
        self._http = h11.Connection(h11.CLIENT)
        self._idle_seconds = IDLE_SECONDS
        self._ended = False

    async def write(self, event: h11.Event) -> None:
        """Send an event of HTTP.

        Raises:
            OSError: The server ended the connection.
        """
        if data := self._http.send(event):
            try:
                await self.stream.send(data)
            except GONE as error:
                raise ConnectionResetError("the server ended the connection") from error

    async def event(self) -> Any:
        """Receive an event of HTTP.

        Raises:
            OSError: The server ended the connection.
            h11.RemoteProtocolError: What it says is no HTTP, or has an end too early.
        """
        while (event := self._http.next_event()) is h11.NEED_DATA:
            try:
                data = await receive(self.stream)
                self._ended = not data
                self._http.receive_data(data)
            except GONE as error:
                raise ConnectionResetError("the server ended the connection") from error
        return event

    async def answer(self) -> h11.Response:
        """Receive the head of the answer.

        Raises:
            OSError: There is none.
        """
        try:
            while isinstance(event := await self.event(), h11.InformationalResponse):
                pass
        except h11.RemoteProtocolError as error:
            if self._ended:
                raise ConnectionResetError("the server ended the connection without an answer") from error
            raise OSError(f"the server gave no answer of HTTP: {error}") from error
        if not isinstance(event, h11.Response):
            raise ConnectionResetError("the server ended the connection without an answer")
        said = [value for name, value in event.headers if name == b"keep-alive"]
        if found := re.search(rb"timeout=(\d{1,6})", b",".join(said)):
            self._idle_seconds = min(IDLE_SECONDS, int(found[1]) - MARGIN_SECONDS)
        return event

    def ready_again(self, now: float) -> bool:
        """Whether it may be used again, as both sides have ended their messages; until when is kept."""
        if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
            return False
        if self._http.trailing_data[0]:
            return False
        self._http.start_next_cycle()
        self.until = now + self._idle_seconds
        return self.until > now

    @property
    def is_quiet(self) -> bool:
        """Whether its server has neither closed it nor sent anything unasked."""
        raw = self.stream.extra(anyio.abc.SocketAttribute.raw_socket)  # noqa: S610 - no query
        poll = select.poll()
        poll.register(raw.fileno(), select.POLLIN | select.POLLRDHUP)
        return not poll.poll(0)

    async def close(self) -> None:
        """End it."""
        await anyio.aclose_forcefully(self.stream)


class Connections:
    """The connections that are kept."""

    def __init__(self) -> None:
        self._idle: list[UpstreamConnection] = []

    async def begin(self, url: SplitResult, head: h11.Request, way: Outbound = DIRECT) -> UpstreamConnection:
        """Send the head of a request to a server, by a connection that is there or a new one; return that.

        Raises:
            OSError: The server is not reached.
        """
        place = (*_place(url), way)
        head = through(url, head, way)
        await self.prune()
        while known := next((each for each in reversed(self._idle) if each.place == place), None):
            self._idle.remove(known)
            if known.is_quiet:
                with suppress(OSError):  # closed by now, and nothing of the head was sent
                    await known.write(head)
                    return known
            await known.close()
        made = UpstreamConnection(await connect(url, way), place)
        try:
            await made.write(head)
        except BaseException:
            await made.close()
            raise
        return made

    async def end(self, connection: UpstreamConnection) -> None:
        """Keep a connection whose answer was read to its end; close another."""
        if len(self._idle) < MOST_IDLE and connection.ready_again(anyio.current_time()):
            self._idle.append(connection)
        else:
            await connection.close()

    async def prune(self) -> None:
        """Close those that were not used for long."""
        now = anyio.current_time()
        old = [each for each in self._idle if each.until <= now]
        self._idle = [each for each in self._idle if each.until > now]  # before a wait, in which others look too
        for each in old:
            await each.close()

    async def close(self) -> None:
        """Close all."""
        while self._idle:
            await self._idle.pop().close()


def trusting(now: float, way: Outbound = DIRECT) -> ssl.SSLContext:
    """Return what `trust` returned at most `TRUST_SECONDS` ago.

    Args:
        now: The time in seconds, by a clock that does not jump.
        way: Names the files of the environment.

    Raises:
        OSError: Such a file cannot be read, or has no certificate.
    """
    return _trusting(int(now // TRUST_SECONDS), way)


@lru_cache(maxsize=1)
def _trusting(_: int, way: Outbound) -> ssl.SSLContext:
    return trust(way)


def trust(way: Outbound) -> ssl.SSLContext:
    """Return what trusts the certificates of the machine, and those that the environment names.

    Raises:
        OSError: A file of the environment cannot be read, or has no certificate.
    """
    made = ssl.create_default_context()
    if way.certificates:
        made.load_verify_locations(way.certificates)
    if way.client_certificate:
        made.load_cert_chain(way.client_certificate, way.client_key or None, lambda: way.passphrase)
    return made


async def connect(url: SplitResult, way: Outbound) -> ByteStream:
    """Connect to a server, over TLS for https.

    Raises:
        OSError: It is not reached.
    """
    scheme, host, port = _place(url)
    with anyio.fail_after(CONNECT_SECONDS):
        proxy = proxy_to(host, port, way)
        if proxy is None:
            return await _connected(scheme, host, port, way)
        stream = await _connected(*_place(proxy), way)
        if scheme != "https":
            return stream  # it is asked for the address as a whole
        try:
            await _ask_through(stream, host, port, proxy)
            with _ended_early():
                return await TLSStream.wrap(stream, hostname=host, ssl_context=trusting(anyio.current_time(), way))
        except BaseException:
            await anyio.aclose_forcefully(stream)
            raise


async def tunnel(host: str, port: int, address: str, way: Outbound) -> ByteStream:
    """Connect to a host at one of its addresses, or through the person's proxy, which looks its name up itself.

    Raises:
        OSError: It is not reached.
    """
    with anyio.fail_after(CONNECT_SECONDS):
        proxy = proxy_to(host, port, way)
        if proxy is None:
            return await anyio.connect_tcp(address, port)
        stream = await _connected(*_place(proxy), way)
        try:
            await _ask_through(stream, host, port, proxy)
        except BaseException:
            await anyio.aclose_forcefully(stream)
            raise
        return stream


async def _connected(scheme: str, host: str, port: int, way: Outbound) -> ByteStream:
    if scheme == "https":
        context = trusting(anyio.current_time(), way)
        with _ended_early():
            return await anyio.connect_tcp(host, port, tls=True, ssl_context=context)
    return await anyio.connect_tcp(host, port)


@contextmanager
def _ended_early() -> Iterator[None]:
    """Have an end in the midst of TLS be an error of the server's, as which it is told and tried again."""
    try:
        yield
    except GONE as error:
        raise ConnectionResetError("the other side ended the connection before TLS was there") from error


async def _ask_through(stream: ByteStream, host: str, port: int, proxy: SplitResult) -> None:
    """Have a proxy lead on to a host.

    Raises:
        OSError: It does not.
    """
    place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    asked = h11.Request(method="CONNECT", target=place, headers=[("host", place), *login_of(proxy)])
    answer = bytearray()
    try:
        await stream.send(h11.Connection(h11.CLIENT).send(asked) or b"")
        while not answer.endswith(b"\r\n\r\n"):
            answer += await stream.receive(1)  # what follows is the host's, who may speak first
            if len(answer) > MOST_ANSWER:
                break
    except (anyio.EndOfStream, *GONE):
        pass
    told = re.match(rb"HTTP/1\.[01] (\d{3})", answer)
    if told is None or not told[1].startswith(b"2"):
        said = f"answered {int(told[1])}" if told else "gave no answer of HTTP"
        raise ProxyError(f"the proxy {proxy.hostname}, which the environment names, {said} for {place}")


def through(url: SplitResult, head: h11.Request, way: Outbound) -> h11.Request:
    """Return the head of a request as it is sent: a proxy is asked for a plain address as a whole.

    Raises:
        OSError: The proxy is none.
    """
    scheme, host, port = _place(url)
    if scheme == "https" or (proxy := proxy_to(host, port, way)) is None:
        return head
    target = f"{url.scheme}://{url.netloc.rpartition('@')[2]}{head.target.decode('latin-1')}"
    return h11.Request(method=head.method, target=target, headers=[*head.headers, *login_of(proxy)])


def _place(url: SplitResult) -> tuple[str, str, int]:
    return url.scheme, url.hostname or "", url.port or (443 if url.scheme == "https" else 80)


async def receive(stream: ByteStream) -> bytes:
    """Receive what comes; nothing at the other side's end."""
    try:
        return await stream.receive(READ_BYTES)
    except anyio.EndOfStream:
        return b""
