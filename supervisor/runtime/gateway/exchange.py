"""One connection of an agent to the gateway: each request is forwarded with the real credential, or refused.

Requests are read and written anew by h11 on both sides, so that no two readers can disagree where one ends; one whose
length is said in two ways is refused.
"""

import json
import os
import re
import ssl
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from traceback import extract_tb
from typing import Any
from urllib.parse import SplitResult, urlsplit

import anyio
import anyio.to_thread
import h11
from anyio.abc import ByteStream

from monitors.contract.errors import ChaperonError
from supervisor.runtime.clock import Clock
from supervisor.runtime.gateway import git_remotes
from supervisor.runtime.gateway.credential import Credential
from supervisor.runtime.gateway.git_remotes import GitLogins, GitRemoteError
from supervisor.runtime.gateway.hosts import HostError, Hosts
from supervisor.runtime.gateway.messages import GatewaySettings, GrantedHost, ModelUse, Refused
from supervisor.runtime.log import log

MODEL_CALLS = frozenset({("POST", "/v1/messages"), ("POST", "/v1/messages/count_tokens"), ("GET", "/v1/models")})
"""Calls of the model, exactly so: `/v1/messages/../files` is another path for a server that normalises it."""

READ_BYTES = 65_536
MOST_HEAD = 65_536
"""Bytes of a request's head, at most; the CLI's has some two thousand."""

DRAIN_SECONDS = 1.0
"""How long the rest of a refused request is read: a socket that is closed with unread bytes takes the answer away."""

CONNECT_SECONDS = 30.0
"""How long a connection may take to be made."""

TRUST_SECONDS = 600.0
"""How long the certificates of the machine are kept as they were read. To read them takes 20 ms and more, in which no
agent is answered; a gateway runs for months, and a person who changes them waits no longer than this."""

MOST_REFUSALS = 50
"""Refusals that are kept for the daemon, of each agent; further ones are counted alone."""

LONGEST_REASON = 1_000
"""Characters of why a request was refused, as the daemon is told it."""

LONGEST_HOST = 253
"""Characters of a name in DNS (RFC 1035)."""

PER_HOP = frozenset(
    {
        b"accept-encoding", b"authorization", b"connection", b"cookie", b"forwarded", b"host", b"keep-alive",
        b"proxy-authenticate", b"proxy-authorization", b"proxy-connection", b"te", b"trailer", b"upgrade", b"x-api-key",
    }
)  # fmt: skip
"""Headers of an agent that are not forwarded: those of the connection, all that identifies, and the wish for
compression, in which the use of tokens could not be read."""

NOT_RETURNED = frozenset({b"connection", b"keep-alive", b"set-cookie", b"transfer-encoding"})

USE = re.compile(rb'"((?:cache_creation_|cache_read_)?input_tokens|output_tokens)": ?(\d{1,12})')
"""The use of tokens in an answer of the model. Within text of the model the quotes are escaped, and do not fit."""

LONGEST_USE = 64
"""Bytes that one such entry may have: so many are looked at again with the next piece."""


@dataclass(slots=True)
class AgentSite:
    """One agent at the gateway."""

    agent: str
    settings: GatewaySettings
    credential: Credential
    hosts: Hosts
    logins: GitLogins = field(default_factory=lambda: GitLogins(os.environ, Clock()))
    most_tokens: int | None = None
    spent: ModelUse = field(default_factory=ModelUse)
    refused: list[Refused] = field(default_factory=list)
    reached: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Hosts that the agent was connected to, with ports, by which allowance, and how often since that was told."""
    granted: list[tuple[GrantedHost, float | None]] = field(default_factory=list)
    """Hosts that a person opened for this agent alone, and until when."""

    def grant(self, hosts: Iterable[GrantedHost]) -> None:
        """Take in what is granted now; uses that no daemon was told of yet are taken off."""
        told = Counter[str]()
        for (_, allowance), times in self.reached.items():
            told[allowance] += times
        now = anyio.current_time()
        self.granted = [
            (
                replace(each, uses=None if each.uses is None else each.uses - told[each.id]),
                None if each.seconds is None else now + each.seconds,
            )
            for each in hosts
        ]

    def take_grant(self, host: str, port: int) -> GrantedHost | None:
        """Use up one use of a grant that fits; None if there is none."""
        now = anyio.current_time()
        for at, (each, until) in enumerate(self.granted):
            if (each.uses is None or each.uses > 0) and (until is None or now < until):
                with suppress(HostError):
                    Hosts((each.host,)).check(host, port)
                    left = None if each.uses is None else each.uses - 1
                    self.granted[at] = (replace(each, uses=left), until)
                    return each
        return None

    def refuse(self, what: str, why: str) -> None:
        """Note a refusal for the daemon."""
        self.spent.refused += 1
        known = any(each.what == what for each in self.refused)
        if not known and len(self.refused) < MOST_REFUSALS:
            self.refused.append(Refused(self.agent, what, why[:LONGEST_REASON]))


class _RefusalError(Exception):
    """A request that is answered by the gateway itself."""

    def __init__(self, status: int, text: str, kind: str = "permission_error") -> None:
        super().__init__(text)
        self.status, self.kind = status, kind


class Exchange:
    """The requests of one connection, one after the other.

    Args:
        stream: The agent's connection.
        site: The agent.
    """

    def __init__(self, stream: ByteStream, site: AgentSite) -> None:
        self._stream = stream
        self._site = site
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=MOST_HEAD)

    async def serve(self) -> None:
        """Answer until either side ends the connection."""
        gone = anyio.BrokenResourceError, anyio.ClosedResourceError, h11.RemoteProtocolError, h11.LocalProtocolError
        try:
            while isinstance(head := await self._next(), h11.Request):
                if not await self._answer(head):
                    return
                if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
                    return
                self._http.start_next_cycle()
        except gone:
            await self._try_to_say(400, "This is no HTTP request that the gateway could read.")
        except Exception as error:  # noqa: BLE001 - whatever it is, it ends this connection, and not those of other agents
            place = extract_tb(error.__traceback__)[-1]
            what = type(error).__name__, place.filename, place.lineno  # what it says may have the credential
            log.error("a request of agent %s could not be served: %s at %s:%d", self._site.agent, *what)
            await self._try_to_say(500, f"The gateway failed at this request ({what[0]}), and lives on.", "api_error")
        finally:
            with anyio.move_on_after(DRAIN_SECONDS):
                await _drain(self._stream)
            await anyio.aclose_forcefully(self._stream)

    async def _answer(self, head: h11.Request) -> bool:
        """Answer one request; whether the connection may go on."""
        target = head.target.decode("latin-1")
        what = f"{head.method.decode('latin-1')} {target}"[:200]
        try:
            _unambiguous(head)
            if head.method == b"CONNECT":
                await self._tunnel(target)
                return False
            if target.startswith(git_remotes.PREFIX):
                await self._forward_git(head, target)
            elif target.startswith("http://"):
                await self._forward_plain(head, _url(target))
            else:
                await self._forward_call(head, target)
        except _RefusalError as refusal:
            self._site.refuse(what, str(refusal))
            await self._say(refusal.status, str(refusal), refusal.kind)
            return False
        except HostError as error:
            text = str(error).replace("chaperon allow AGENT", f"chaperon allow {self._site.agent}")
            self._site.refuse(what, text)
            await self._say(403, text)
            return False
        except GitRemoteError as error:
            self._site.refuse(what, str(error))
            await self._tell_git(str(error))
            return False
        except ChaperonError as error:
            if target.startswith(git_remotes.PREFIX):
                self._site.refuse(what, str(error))
                await self._tell_git(str(error))
            else:
                await self._say(401, str(error), "authentication_error")
            return False
        except OSError as error:
            await self._try_to_say(502, f"{what} could not be forwarded: {error.strerror or error}.", "api_error")
            return False
        return True

    # ── the model ──

    async def _forward_call(self, head: h11.Request, target: str) -> None:
        site = self._site
        if (head.method.decode("latin-1"), target.partition("?")[0]) not in MODEL_CALLS:
            raise _RefusalError(403, f"{target[:100]} is no call that agents may make; calls of the model are.")
        spent = site.spent.input_tokens + site.spent.output_tokens
        if site.most_tokens is not None and spent >= site.most_tokens:
            raise _RefusalError(403, f"This agent has used {spent:,} tokens, of {site.most_tokens:,} that it may.")
        credential = await anyio.to_thread.run_sync(site.credential.header)
        upstream = urlsplit(site.settings.upstream)
        own = [(name.lower(), value) for name, value in site.settings.headers] + [credential]
        site.spent.calls += 1
        use: dict[bytes, int] = {}
        tail = b""

        def watch(data: bytes) -> None:
            nonlocal tail
            text = tail + data
            for name, number in USE.findall(text):
                use[name] = max(use.get(name, 0), int(number))
            tail = text[-LONGEST_USE:]

        stream = await _connect(upstream)
        try:
            path = upstream.path.rstrip("/") + target
            status = await self._relay(stream, head, path, upstream.netloc.rpartition("@")[2], own, watch)
        finally:
            await anyio.aclose_forcefully(stream)
            site.spent.output_tokens += use.pop(b"output_tokens", 0)
            site.spent.input_tokens += sum(use.values())
        if status == 401:
            site.credential.refused()

    # ── remotes of git ──

    async def _forward_git(self, head: h11.Request, target: str) -> None:
        site = self._site
        asked = git_remotes.request_of(target, head.method.decode("latin-1"), site.settings.git_remotes)
        login = await anyio.to_thread.run_sync(site.logins.header, asked.remote)
        stream = await _connect(urlsplit(asked.remote))
        site.reached[_told(*_host_and_port(asked.host, 443)), ""] += 1
        own = [("authorization", login), ("accept-encoding", "identity")]
        try:
            head = h11.Request(
                method=head.method,
                target=head.target,
                headers=[(name, value) for name, value in head.headers if name in git_remotes.FORWARDED],
            )
            status = await self._relay(stream, head, asked.path, asked.host, own, lambda _: None, refused=401)
        finally:
            await anyio.aclose_forcefully(stream)
        if status == 401:
            site.logins.refused(asked.remote)
            raise GitRemoteError(f"{asked.remote} refused the login that the credential helper of git has for it.")

    async def _tell_git(self, text: str) -> None:
        """Answer so that git shows it: it prints plain text of a refusal, and asks for no login at this code."""
        body = f"chaperon: {text}\n".encode()
        headers = [("content-type", "text/plain"), ("content-length", str(len(body))), ("connection", "close")]
        await self._send(h11.Response(status_code=403, headers=headers))
        await self._send(h11.Data(body))
        await self._send(h11.EndOfMessage())

    # ── other hosts ──

    async def _forward_plain(self, head: h11.Request, url: SplitResult) -> None:
        host, port = _host_and_port(url.netloc, 80)
        stream = await self._reach(host, port)
        try:
            path = (url.path or "/") + (f"?{url.query}" if url.query else "")
            await self._relay(stream, head, path, url.netloc.rpartition("@")[2], [], lambda _: None)
        finally:
            await anyio.aclose_forcefully(stream)

    async def _tunnel(self, target: str) -> None:
        host, port = _host_and_port(target, None)
        stream = await self._reach(host, port)
        try:
            await self._next()
            await self._send(h11.Response(status_code=200, headers=[]))
            early, _ = self._http.trailing_data
            if early:
                await stream.send(bytes(early))
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_pump, self._stream, stream)
                await _pump(stream, self._stream)
                tasks.cancel_scope.cancel()
        finally:
            await anyio.aclose_forcefully(stream)

    async def _reach(self, host: str, port: int) -> ByteStream:
        site, grant = self._site, None
        try:
            site.hosts.check(host, port)
        except HostError:
            if (grant := site.take_grant(host, port)) is None:
                raise
            site.reached[_told(host, port), grant.id] += 1  # a use counts even if the host is not there
        addresses = await (Hosts((grant.host,)) if grant else site.hosts).addresses(host, port)
        if grant is None:
            site.reached[_told(host, port), ""] += 1
        with anyio.fail_after(CONNECT_SECONDS):
            return await anyio.connect_tcp(addresses[0], port)

    # ── both sides ──

    async def _relay(
        self,
        stream: ByteStream,
        head: h11.Request,
        path: str,
        host: str,
        own: Iterable[tuple[str, str]],
        watch: Callable[[bytes], None],
        refused: int = 0,
    ) -> int:
        """Send a request on and its answer back; return the answer's status. One of status `refused` is kept back."""
        there = h11.Connection(h11.CLIENT)
        named = {
            each.strip().lower() for name, value in head.headers if name == b"connection" for each in value.split(b",")
        }
        replaced = PER_HOP | named | {name.encode() for name, _ in own}
        kept = [(name, value) for name, value in head.headers if name not in replaced]
        headers: list[tuple[Any, Any]] = [("host", host), *own, ("connection", "close"), *kept]
        await _write(there, stream, h11.Request(method=head.method, target=path, headers=headers))
        while isinstance(piece := await self._next(), h11.Data):
            await _write(there, stream, h11.Data(bytes(piece.data)))
        await _write(there, stream, h11.EndOfMessage())
        answer = await _event(there, stream)
        while isinstance(answer, h11.InformationalResponse):
            answer = await _event(there, stream)
        if not isinstance(answer, h11.Response):
            raise OSError("the server ended the connection without an answer")
        if answer.status_code == refused:
            return refused
        returned = [(name, value) for name, value in answer.headers if name not in NOT_RETURNED]
        await self._send(h11.Response(status_code=answer.status_code, headers=returned, reason=answer.reason))
        try:
            while isinstance(piece := await _event(there, stream), h11.Data):
                watch(bytes(piece.data))
                await self._send(h11.Data(bytes(piece.data)))
        except h11.RemoteProtocolError:  # cut off in the middle: so is the agent's
            await anyio.aclose_forcefully(self._stream)
            raise
        await self._send(h11.EndOfMessage())
        return answer.status_code

    async def _next(self) -> Any:
        while (event := self._http.next_event()) is h11.NEED_DATA:
            if self._http.they_are_waiting_for_100_continue:
                await self._send(h11.InformationalResponse(status_code=100, headers=[]))
            self._http.receive_data(await _receive(self._stream))
        return event

    async def _send(self, event: h11.Event) -> None:
        if data := self._http.send(event):
            await self._stream.send(data)

    async def _say(self, status: int, text: str, kind: str = "permission_error") -> None:
        body = json.dumps({"type": "error", "error": {"type": kind, "message": f"chaperon: {text}"}}).encode()
        headers = [("content-type", "application/json"), ("content-length", str(len(body))), ("connection", "close")]
        await self._send(h11.Response(status_code=status, headers=headers))
        await self._send(h11.Data(body))
        await self._send(h11.EndOfMessage())

    async def _try_to_say(self, status: int, text: str, kind: str = "invalid_request_error") -> None:
        """Say why, if an answer has not begun and the agent is still there."""
        if self._http.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            return
        try:
            await self._say(status, text, kind)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, h11.LocalProtocolError):
            return


def _unambiguous(head: h11.Request) -> None:
    names = [name for name, _ in head.headers]
    lengths = names.count(b"content-length") + names.count(b"transfer-encoding")
    if lengths > 1:
        raise _RefusalError(400, "The request says its length in two ways.", "invalid_request_error")


def _url(target: str) -> SplitResult:
    try:
        return urlsplit(target)
    except ValueError as error:
        raise _RefusalError(400, f"{target[:100]!r} is no address: {error}.", "invalid_request_error") from None


def _host_and_port(text: str, usual: int | None) -> tuple[str, int]:
    """Return host and port of an authority.

    Raises:
        _RefusalError: It is none, or has a user's name.
    """
    host, colon, port = text.rpartition(":")
    if not colon or text.endswith("]"):
        host, port = text, str(usual or "")
    if not re.fullmatch(rf"[A-Za-z0-9._-]{{1,{LONGEST_HOST}}}|\[[0-9A-Fa-f:.]+\]", host) or not re.fullmatch(
        r"[0-9]{1,5}", port
    ):
        raise _RefusalError(400, f"{text[:100]!r} is no host with a port.", "invalid_request_error")
    return host.strip("[]"), int(port)


def trusting(now: float) -> ssl.SSLContext:
    """Return what trusts the certificates of the machine as they were at most `TRUST_SECONDS` ago.

    Args:
        now: The time in seconds, by a clock that does not jump.
    """
    return _trusting(int(now // TRUST_SECONDS))


@lru_cache(maxsize=1)
def _trusting(_: int) -> ssl.SSLContext:
    return ssl.create_default_context()


async def _connect(url: SplitResult) -> ByteStream:
    secure = url.scheme == "https"
    host, port = url.hostname or "", url.port or (443 if secure else 80)
    with anyio.fail_after(CONNECT_SECONDS):
        if secure:
            return await anyio.connect_tcp(host, port, tls=True, ssl_context=trusting(anyio.current_time()))
        return await anyio.connect_tcp(host, port)


async def _write(there: h11.Connection, stream: ByteStream, event: h11.Event) -> None:
    if data := there.send(event):
        await stream.send(data)


async def _event(there: h11.Connection, stream: ByteStream) -> Any:
    while (event := there.next_event()) is h11.NEED_DATA:
        there.receive_data(await _receive(stream))
    return event


async def _receive(stream: ByteStream) -> bytes:
    try:
        return await stream.receive(READ_BYTES)
    except anyio.EndOfStream:
        return b""


async def _drain(stream: ByteStream) -> None:
    """Say that nothing follows, and read what comes until the other side ends."""
    try:
        await stream.send_eof()
        while await _receive(stream):
            pass
    except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        return


async def _pump(source: ByteStream, target: ByteStream) -> None:
    """Hand on what comes, until one side ends."""
    try:
        while True:
            await target.send(await source.receive(READ_BYTES))
    except anyio.EndOfStream:
        send_eof: Callable[[], Awaitable[None]] = target.send_eof
        await send_eof()
    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
        return


def _told(host: str, port: int) -> str:
    return f"{host.lower().rstrip('.')}:{port}"
