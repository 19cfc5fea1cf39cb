"""One connection of an agent to the gateway: each request is forwarded with the real credential, or refused.

Requests are read and written anew by h11 on both sides, so that no two readers can disagree where one ends; one whose
length is said in two ways is refused.
"""

import json
import re
from collections.abc import Awaitable, Callable, Sequence
from traceback import extract_tb
from typing import Any
from urllib.parse import SplitResult, urlsplit

import anyio
import anyio.to_thread
import h11
from anyio.abc import ByteStream

from monitors.contract.errors import ChaperonError
from supervisor.runtime.gateway import git_remotes
from supervisor.runtime.gateway.agent_site import AgentSite, refused_error
from supervisor.runtime.gateway.credential import OAUTH_BEGINNING, OAUTH_BETA, CredentialError
from supervisor.runtime.gateway.git_remotes import GitRemoteError
from supervisor.runtime.gateway.hosts import HostError, Hosts
from supervisor.runtime.gateway.outbound import proxy_to
from supervisor.runtime.gateway.upstream import READ_BYTES, UpstreamConnection, connect, receive, through, tunnel
from supervisor.runtime.log import log

MODEL_CALLS = frozenset({("POST", "/v1/messages"), ("POST", "/v1/messages/count_tokens"), ("GET", "/v1/models")})
"""Calls of the model, exactly so: `/v1/messages/../files` is another path for a server that normalises it."""

MOST_HEAD = 65_536
"""Bytes of a request's head, at most; the CLI's has some two thousand."""

DRAIN_SECONDS = 1.0
"""How long the rest of a refused request is read: a socket that is closed with unread bytes takes the answer away."""

REFUSED = 401
"""Status of an answer to a credential that is refused."""

TURNED_DOWN = 300
"""From this status on an answer that comes early ends the sending of the request's body."""

MOST_KEPT = 4 * 2**20
"""Bytes of a call that is sent again with another credential; one that is longer fails once. The model takes 32 MB, and
calls of agents have some hundred thousand."""

CLOSE = ("connection", "close")

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


class _Kept:
    """The body of a call, for as long as it may have to be sent again."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.is_whole = True
        self._size = 0

    def add(self, piece: bytes) -> None:
        """Keep a piece, unless the whole is too long."""
        self._size += len(piece)
        if self._size > MOST_KEPT:
            self.drop()
        elif self.is_whole:
            self.pieces.append(piece)

    def drop(self) -> None:
        """Keep it no more."""
        self.is_whole = False
        self.pieces.clear()


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
            self._site.refuse(what, text, error.host)
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
        kept = _Kept()
        header = await site.header()
        if await self._call(head, target, header, kept) != REFUSED:
            return
        again = await site.another_header(header)
        if not kept.is_whole:
            raise CredentialError("The credential was refused, and another one counts from the next call on.")
        if await self._call(head, target, again, kept) == REFUSED:
            site.credential.refused(again)
            site.failed(refused := refused_error())
            raise refused

    async def _call(self, head: h11.Request, target: str, credential: tuple[str, str], kept: "_Kept") -> int:
        """Forward a call; return the answer's status. That the credential is refused is not handed on."""
        site = self._site
        upstream = urlsplit(site.settings.upstream)
        own = [(name.lower(), value) for name, value in site.settings.headers] + [credential, *_betas(head, credential)]
        site.spent.calls += 1
        use: dict[bytes, int] = {}
        tail = b""

        def watch(data: bytes) -> None:
            nonlocal tail
            text = tail + data
            for name, number in USE.findall(text):
                use[name] = max(use.get(name, 0), int(number))
            tail = text[-LONGEST_USE:]

        path, host = upstream.path.rstrip("/") + target, upstream.netloc.rpartition("@")[2]
        connection = await site.connections.begin(upstream, _request(head, path, host, own), site.settings.outbound)
        try:
            status = await self._relay(connection, watch, kept, REFUSED)
            if head.method == b"POST":
                await site.connections.end(connection)
            else:  # of a GET some servers leave the body unread, which would begin the next call on the connection
                await connection.close()
        except BaseException:
            await connection.close()
            raise
        finally:
            site.spent.output_tokens += use.pop(b"output_tokens", 0)
            site.spent.input_tokens += sum(use.values())
            site.counted(site.spent)
        return status

    # ── remotes of git ──

    async def _forward_git(self, head: h11.Request, target: str) -> None:
        site = self._site
        asked = git_remotes.request_of(target, head.method.decode("latin-1"), site.settings.git_remotes)
        login = await anyio.to_thread.run_sync(site.logins.header, asked.remote)
        connection = UpstreamConnection(await connect(urlsplit(asked.remote), site.settings.outbound))
        site.reached[_authority(*_host_and_port(asked.host, 443)), ""] += 1
        own = [("authorization", login), ("accept-encoding", "identity")]
        try:
            head = h11.Request(
                method=head.method,
                target=head.target,
                headers=[(name, value) for name, value in head.headers if name in git_remotes.FORWARDED],
            )
            await connection.write(_request(head, asked.path, asked.host, [*own, CLOSE]))
            status = await self._relay(connection, refused=REFUSED)
        finally:
            await connection.close()
        if status == REFUSED:
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
        way, address = self._site.settings.outbound, await self._reachable(host, port)
        stream = await (anyio.connect_tcp(address, port) if proxy_to(host, port, way) is None else connect(url, way))
        connection = UpstreamConnection(stream)
        try:
            path = (url.path or "/") + (f"?{url.query}" if url.query else "")
            asked = _request(head, path, url.netloc.rpartition("@")[2], [CLOSE])
            await connection.write(through(url, asked, way))
            await self._relay(connection)
        finally:
            await connection.close()

    async def _tunnel(self, target: str) -> None:
        host, port = _host_and_port(target, None)
        stream = await tunnel(host, port, await self._reachable(host, port), self._site.settings.outbound)
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

    async def _reachable(self, host: str, port: int) -> str:
        """Return an address of a host that the agent may reach, or its name if a proxy alone knows it.

        Raises:
            HostError: It may not, or nothing leads there.
        """
        site, grant = self._site, None
        try:
            site.hosts.check(host, port)
        except HostError:
            if (grant := site.take_grant(host, port)) is None:
                raise
            site.reached[_authority(host, port), grant.id] += 1  # a use counts even if the host is not there
        is_proxied = proxy_to(host, port, site.settings.outbound) is not None
        hosts = Hosts((grant.host,)) if grant else site.hosts
        addresses = await hosts.addresses(host, port, proxied=is_proxied)
        if grant is None:
            site.reached[_authority(host, port), ""] += 1
        return addresses[0]

    # ── both sides ──

    async def _relay(
        self,
        connection: UpstreamConnection,
        watch: Callable[[bytes], None] = lambda _: None,
        kept: "_Kept | None" = None,
        refused: int = 0,
    ) -> int:
        """Send a request's body on and its answer back; return its status. An answer of status `refused` is held back.

        Args:
            connection: The server, which has the head.
            watch: Told of each piece of the answer.
            kept: The body as it was sent before, which is sent again, and what follows of it.
            refused: A status; 0 for none.
        """
        answer = await self._asked(connection, kept)
        if answer.status_code == refused:
            return refused
        if kept is not None:
            kept.drop()
        returned = [(name, value) for name, value in answer.headers if name not in NOT_RETURNED]
        await self._send(h11.Response(status_code=answer.status_code, headers=returned, reason=answer.reason))
        try:
            while isinstance(piece := await connection.event(), h11.Data):
                watch(bytes(piece.data))
                await self._send(h11.Data(bytes(piece.data)))
        except (h11.RemoteProtocolError, OSError):  # cut off in the middle: so is the agent's
            await anyio.aclose_forcefully(self._stream)
            raise
        await self._send(h11.EndOfMessage())
        return answer.status_code

    async def _asked(self, connection: UpstreamConnection, kept: "_Kept | None") -> h11.Response:
        """Send a request's body on; return the head of its answer.

        A server may turn a request down before it has read all of it, and close: so it is heard meanwhile.

        Raises:
            OSError: There is no answer.
        """
        heard: list[h11.Response | OSError] = []
        wrong: list[Exception] = []

        async def hear(sending: anyio.CancelScope) -> None:
            try:
                heard.append(answer := await connection.answer())
            except OSError as error:
                heard.append(error)
            else:
                if answer.status_code < TURNED_DOWN:
                    return
            sending.cancel()

        async with anyio.create_task_group() as tasks:
            with anyio.CancelScope() as sending:
                tasks.start_soon(hear, sending)
                try:
                    await self._send_body(connection, kept)
                except ConnectionResetError:  # what it said before is heard
                    pass
                except Exception as error:  # noqa: BLE001 - raised below: a task group would make a group of it
                    wrong.append(error)
                    tasks.cancel_scope.cancel()
        (said,) = wrong or heard
        if isinstance(said, Exception):
            raise said
        return said

    async def _send_body(self, connection: UpstreamConnection, kept: "_Kept | None") -> None:
        for each in tuple(kept.pieces) if kept else ():
            await connection.write(h11.Data(each))
        while self._http.their_state is h11.SEND_BODY and isinstance(piece := await self._next(), h11.Data):
            data = bytes(piece.data)
            if kept is not None:  # before it is sent: if that is given up, it is sent again with the others
                kept.add(data)
            await connection.write(h11.Data(data))
        await connection.write(h11.EndOfMessage())

    async def _next(self) -> Any:
        while (event := self._http.next_event()) is h11.NEED_DATA:
            if self._http.they_are_waiting_for_100_continue:
                await self._send(h11.InformationalResponse(status_code=100, headers=[]))
            self._http.receive_data(await receive(self._stream))
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


def _betas(head: h11.Request, credential: tuple[str, str]) -> list[tuple[str, str]]:
    """Return the header that a call with the token of a login needs beside it."""
    if not credential[1].startswith(f"Bearer {OAUTH_BEGINNING}"):
        return []
    asked = [value.decode("latin-1") for name, value in head.headers if name == b"anthropic-beta"]
    words = [word.strip() for each in asked for word in each.split(",")]
    return [("anthropic-beta", ",".join(dict.fromkeys([*filter(None, words), OAUTH_BETA])))]


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


def _request(head: h11.Request, path: str, host: str, own: Sequence[tuple[str, str]]) -> h11.Request:
    """Return the head that a server gets in the place of an agent's."""
    named = {
        each.strip().lower() for name, value in head.headers if name == b"connection" for each in value.split(b",")
    }
    replaced = PER_HOP | named | {name.encode() for name, _ in own}
    kept = [(name, value) for name, value in head.headers if name not in replaced]
    headers: list[tuple[Any, Any]] = [("host", host), *own, *kept]
    return h11.Request(method=head.method, target=path, headers=headers)


async def _drain(stream: ByteStream) -> None:
    """Say that nothing follows, and read what comes until the other side ends."""
    try:
        await stream.send_eof()
        while await receive(stream):
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


def _authority(host: str, port: int) -> str:
    return f"{host.lower().rstrip('.')}:{port}"
