"""Requests of agents, sent by hand."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
import anyio.abc
import pytest

from supervisor.runtime.clock import Clock
from supervisor.runtime.gateway import client
from supervisor.runtime.gateway.credential import OAUTH_BETA
from supervisor.runtime.gateway.messages import PLACEHOLDER, CredentialSource, GrantedHost, Reached
from tests.stages.daemon import until
from tests.stages.gateway import ANSWER, GatewayStage, gateway
from tests.stages.token_server import NEW, OLD, TokenServer, login, token_server, write_login

MESSAGE = {"x-api-key": PLACEHOLDER, "cookie": "a=b", "connection": "x-left", "x-left": "1", "x-kept": "1"}


async def test_a_call_of_the_model_gets_the_real_key_and_its_use_is_counted(tmp_path: Path) -> None:
    async with gateway(tmp_path, headers=(("X-Team", "red"),)) as stage, stage.http() as http:
        answer = await http.post("/v1/messages?beta=true", content=b"hello", headers=MESSAGE)
        assert (answer.status_code, answer.content) == (200, ANSWER)
        assert "set-cookie" not in answer.headers
        (head,) = stage.upstream.heads
        assert head.startswith("POST /v1/messages?beta=true HTTP/1.1")
        fields = [line.lower() for line in head.splitlines()[1:]]
        assert "x-api-key: sk-real" in fields
        assert "x-team: red" in fields
        assert "x-kept: 1" in fields
        assert PLACEHOLDER not in head
        assert not [line for line in fields if line.startswith(("cookie", "x-left", "accept-encoding"))]
        assert stage.upstream.bodies == [b"hello"]
        await until(lambda: "a1" in stage.client.spent and stage.client.spent["a1"].output_tokens == 7)
        assert (stage.client.spent["a1"].calls, stage.client.spent["a1"].input_tokens) == (1, 23)


@pytest.mark.parametrize(
    "target",
    ["/v1/files", "/v1/messages/../files", "/v1/messages%2f..%2ffiles", "//v1/messages", "/v1/messages/", "/", "*"],
)
async def test_another_path_is_refused_in_words_and_reported(tmp_path: Path, target: str) -> None:
    async with gateway(tmp_path) as stage:
        answer = await stage.raw(f"POST {target} HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n".encode())
        assert b" 403 " in answer.splitlines()[0]
        assert b"is no call that agents may make" in answer
        await until(lambda: bool(stage.refused))
        assert stage.refused[0].agent == "a1"
        assert stage.upstream.heads == []


@pytest.mark.parametrize(
    "request_",
    [
        b"POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello",
        b"POST /v1/messages HTTP/1.1\r\nhost: x\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        b"POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length : 5\r\n\r\nhello",
        b"POST /v1/messages HTTP/1.1\r\nhost: x\r\nx: " + b"a" * 300_000 + b"\r\n\r\n",
        b"CONNECT user@example.com:443 HTTP/1.1\r\nhost: x\r\n\r\n",
        b"nonsense\r\n\r\n",
    ],
)
async def test_a_request_that_two_readers_could_take_differently_is_refused(tmp_path: Path, request_: bytes) -> None:
    async with gateway(tmp_path) as stage:
        answer = await stage.raw(request_)
        assert answer.splitlines()[0].split()[1] in (b"400", b"403", b"501")
        assert stage.upstream.heads == []


async def test_a_second_request_behind_the_first_gets_no_further_than_its_own_path(tmp_path: Path) -> None:
    async with gateway(tmp_path) as stage:
        first = b"POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\nhi"
        answer = await stage.raw(first + b"GET /v1/files HTTP/1.1\r\nhost: x\r\n\r\n")
        assert answer.count(b"HTTP/1.1 ") == 2
        assert b"is no call" in answer
        assert len(stage.upstream.heads) == 1


async def test_beyond_its_bound_of_tokens_an_agents_tools_get_no_more_answers(tmp_path: Path) -> None:
    async with gateway(tmp_path) as stage, stage.http() as http:
        await stage.client.open("a1", most_tokens=30)
        assert (await http.post("/v1/messages", content=b"a")).status_code == 200
        refused = await http.post("/v1/messages", content=b"a")
        assert refused.status_code == 403
        assert "has used 30 tokens, of 30 that it may" in refused.json()["error"]["message"]


async def test_named_hosts_are_reached_others_and_private_addresses_are_not(tmp_path: Path) -> None:
    async with gateway(tmp_path) as stage:
        port = stage.upstream.port
        stage.settings["hosts"] = (f"127.0.0.1:{port}", f"localhost:{port}")
        await _renewed(stage)
        tunnel = (
            f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\nhost: x\r\n\r\n".encode()
            + b"GET /through HTTP/1.1\r\nhost: y\r\n\r\n"
        )
        assert ANSWER in await stage.raw(tunnel)
        plain = f"GET http://127.0.0.1:{port}/plain?a HTTP/1.1\r\nhost: y\r\nconnection: close\r\n\r\n".encode()
        assert ANSWER in await stage.raw(plain)
        assert [head.splitlines()[0] for head in stage.upstream.heads] == [
            "GET /through HTTP/1.1",
            "GET /plain?a HTTP/1.1",
        ]
        assert "sk-real" not in str(stage.upstream.heads)
        named = await stage.raw(f"CONNECT localhost:{port} HTTP/1.1\r\nhost: x\r\n\r\n".encode())
        assert b"leads to addresses of this machine" in named
        for other in (f"127.0.0.1:{port + 1}", "169.254.169.254:80", "evil.example:443"):
            assert b"is not among the hosts" in await stage.raw(f"CONNECT {other} HTTP/1.1\r\nhost: x\r\n\r\n".encode())
        await until(lambda: len(stage.refused) == 4)
        openable = [f"127.0.0.1:{port + 1}", "169.254.169.254:80", "evil.example:443"]
        assert [each.host for each in stage.refused] == ["", *openable], "what a name leads to inside is opened by none"
        await until(lambda: sum(each.times for each in stage.reached) == 2)  # in one look of the client, or in two
        assert {(each.agent, each.host) for each in stage.reached} == {("a1", f"127.0.0.1:{port}")}


def test_a_host_of_the_configuration_is_told_as_a_daemon_before_allowances_takes_it() -> None:
    assert Reached("a1", "h:1", 2).as_told() == {"agent": "a1", "host": "h:1", "times": 2}
    assert Reached(**Reached("a1", "h:1", 2, "w-1").as_told()) == Reached("a1", "h:1", 2, "w-1")


async def test_other_hosts_count_at_once_for_an_agent_that_runs(tmp_path: Path) -> None:
    async with gateway(tmp_path) as stage:
        port = stage.upstream.port
        tunnel = f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\nhost: x\r\n\r\n".encode()
        plain = f"GET http://127.0.0.1:{port}/a HTTP/1.1\r\nhost: y\r\nconnection: close\r\n\r\n".encode()
        assert b"or for all in sandbox.hosts" in await stage.raw(tunnel)
        stage.settings["hosts"] = (f"127.0.0.1:{port}",)
        stage.client.renew(stage.client._settings)
        await stage.looked()
        assert ANSWER in await stage.raw(plain)
        stage.settings["hosts"] = ()
        stage.client.renew(stage.client._settings)
        await stage.looked()
        assert b"is not among the hosts" in await stage.raw(plain)


async def test_a_host_that_a_person_opened_for_one_agent_is_reached_so_often_and_by_no_other_agent(
    tmp_path: Path,
) -> None:
    async with gateway(tmp_path) as stage:
        port = stage.upstream.port
        plain = f"GET http://127.0.0.1:{port}/a HTTP/1.1\r\nhost: y\r\nconnection: close\r\n\r\n".encode()
        refused = await stage.raw(plain)
        assert f"chaperon allow a1 127.0.0.1:{port} --tool host".encode() in refused
        stage.live.append("a2")
        await stage.client.open("a2")
        stage.granted["a1"] = [GrantedHost("w-1", f"127.0.0.1:{port}", 2, None)]
        await stage.looked()
        assert ANSWER in await stage.raw(plain)
        assert b"is not among" in await stage.raw(plain, "a2")
        await stage.looked()  # which grants two, since it has not heard of the use
        assert ANSWER in await stage.raw(plain)
        await stage.looked()
        assert b"is not among" in await stage.raw(plain)
        used = [each for each in stage.reached if each.allowance == "w-1"]
        assert sum(each.times for each in used) == 2
        stage.granted["a1"] = [GrantedHost("w-2", f"127.0.0.1:{port}", None, 0.0)]
        await stage.looked()
        assert b"is not among" in await stage.raw(plain), "its time is over"


async def test_what_a_person_opens_counts_without_waiting_for_the_next_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "LOOK_SECONDS", 3_600.0)
    async with gateway(tmp_path) as stage:
        plain = (
            f"GET http://127.0.0.1:{stage.upstream.port}/a HTTP/1.1\r\nhost: y\r\nconnection: close\r\n\r\n".encode()
        )
        assert b"is not among" in await stage.raw(plain)
        stage.granted["a1"] = [GrantedHost("w-1", f"127.0.0.1:{stage.upstream.port}", 1, None)]
        stage.client.hurry()
        await until(lambda: len(stage.refused) == 1)  # which the same look tells
        assert ANSWER in await stage.raw(plain)


@pytest.mark.parametrize(
    "target",
    ["user@127.0.0.1:443", "127.0.0.1", "127.0.0.1:0x50", "[::1%lo]:443", "a b:443", "127.0.0.1:443/../", "\\x00:443"],
)
async def test_a_target_that_is_no_host_and_port_opens_no_tunnel(tmp_path: Path, target: str) -> None:
    async with gateway(tmp_path) as stage:
        stage.settings["hosts"] = ("127.0.0.1", f"127.0.0.1:{stage.upstream.port}")
        await _renewed(stage)
        answer = await stage.raw(f"CONNECT {target} HTTP/1.1\r\nhost: x\r\n\r\n".encode())
        assert answer.split()[1] in (b"400", b"403")
        assert stage.upstream.heads == []


async def test_a_key_in_a_file_is_rotated_for_agents_that_run(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.touch(mode=0o600)
    key.write_text("sk-first\n")
    async with gateway(tmp_path, credential=CredentialSource("file", path=str(key))) as stage, stage.http() as http:
        await http.post("/v1/messages", content=b"a")
        key.write_text("sk-second-one\n")
        await http.post("/v1/messages", content=b"a")
        assert [_key(head) for head in stage.upstream.heads] == ["sk-first", "sk-second-one"]
        key.chmod(0o644)
        refused = await http.post("/v1/messages", content=b"a")
        assert refused.status_code == 401
        assert "can be read by others" in refused.json()["error"]["message"]
        assert len(stage.upstream.heads) == 2


def _key(head: str) -> str:
    return next(line.split(": ")[1] for line in head.splitlines() if line.lower().startswith("x-api-key"))


async def _renewed(stage: GatewayStage) -> None:
    await stage.client._drop()
    await stage.client.open("a1")


@pytest.mark.parametrize(
    "request_",
    [
        b"GET http://[ HTTP/1.1\r\nhost: x\r\n\r\n",
        b"GET http://[x]/ HTTP/1.1\r\nhost: x\r\n\r\n",
        b"GET http://a..b:1/ HTTP/1.1\r\nhost: x\r\n\r\n",
    ],
)
async def test_an_address_that_is_none_is_refused_and_ends_no_other_agents_connection(
    tmp_path: Path, request_: bytes
) -> None:
    async with gateway(tmp_path, hosts=("*.b:1",)) as stage:
        first = stage.process()
        assert b"HTTP/1.1 40" in await stage.raw(request_)
        assert stage.process() == first


async def test_a_failure_of_the_gateway_itself_is_told_to_the_agent_and_ends_that_connection_alone(
    tmp_path: Path,
) -> None:
    async with gateway(tmp_path, headers=(("X-Team", "röd"),)) as stage, stage.http() as http:
        first = stage.process()
        failed = await http.post("/v1/messages", content=b"a")
        assert (failed.status_code, "UnicodeEncodeError" in failed.text) == (500, True)
        assert stage.process() == first
        assert "röd" not in (stage.folder / "log").read_text()


async def test_names_longer_than_any_host_make_no_refusal_longer(tmp_path: Path) -> None:
    async with gateway(tmp_path) as stage:
        for number in range(3):
            answer = await stage.raw(b"CONNECT %b%d:443 HTTP/1.1\r\nhost: x\r\n\r\n" % (b"a" * 50_000, number))
            assert b"is no host with a port" in answer
        await stage.looked()
        assert max(len(f"{each.what}{each.why}") for each in stage.refused) < 500


@pytest.fixture
def server(tmp_path: Path) -> Iterator[TokenServer]:
    with token_server(tmp_path / "server") as made:
        yield made


def login_at(tmp_path: Path, server: TokenServer, expires_in: float) -> CredentialSource:
    """Return a login that is refreshed at a server."""
    path = tmp_path / ".claude" / ".credentials.json"
    write_login(path, login(expires_in, Clock().wall()))
    return CredentialSource("login", path=str(path), refreshed_at=server.refresh_url)


async def test_a_login_is_refreshed_by_the_gateway_and_sent_with_the_word_that_it_needs(
    tmp_path: Path, server: TokenServer
) -> None:
    source = login_at(tmp_path, server, 60)
    async with gateway(tmp_path, credential=source, upstream=server.address) as stage, stage.http() as http:
        answer = await http.post("/v1/messages", content=b"{}", headers={**MESSAGE, "anthropic-beta": "one, two"})
        assert answer.status_code == 200
        (call,) = server.calls
        assert (call["authorization"], call["anthropic-beta"]) == (f"Bearer {NEW}", f"one,two,{OAUTH_BETA}")
        assert "x-api-key" not in call
        assert NEW in Path(source.path).read_text()


async def test_a_login_that_the_model_refuses_is_refreshed_and_the_call_is_made_again(
    tmp_path: Path, server: TokenServer
) -> None:
    server.refused = {OLD}
    source = login_at(tmp_path, server, 7_200)
    async with gateway(tmp_path, credential=source, upstream=server.address) as stage, stage.http() as http:
        answer = await http.post("/v1/messages", content=b"{}" * 50_000, headers=MESSAGE)
        assert answer.status_code == 200
        assert [each["authorization"] for each in server.calls] == [f"Bearer {OLD}", f"Bearer {NEW}"]
        assert {each["content-length"] for each in server.calls} == {"100000"}


async def test_a_login_that_is_over_is_told_to_the_agent_and_once_to_the_daemon(
    tmp_path: Path, server: TokenServer
) -> None:
    server.status, server.answer = 400, {"error": "invalid_grant"}
    source = login_at(tmp_path, server, -1)
    given = {"credential": source, "upstream": server.address, "account": "login"}
    async with gateway(tmp_path, **given) as stage, stage.http() as http:
        for _ in range(2):
            answer = await http.post("/v1/messages", content=b"{}", headers=MESSAGE)
            assert answer.status_code == 401
            assert "invalid_grant" in answer.json()["error"]["message"]
        await until(lambda: bool(stage.failed))
        await stage.looked()
        (failed,) = stage.failed
        assert (failed.account, "invalid_grant" in failed.why, "/login" in failed.way_out) == ("login", True, True)
        assert server.calls == []


async def test_a_refused_key_waits_for_the_daemon_to_choose_another_and_the_call_goes_on(
    tmp_path: Path, server: TokenServer
) -> None:
    server.refused = {"sk-real"}
    async with gateway(tmp_path, upstream=server.address, account="one", others=True) as stage, stage.http() as http:

        async def choose() -> None:
            await until(lambda: bool(stage.failed))
            assert stage.failed[0].account == "one"
            stage.settings["credential"] = CredentialSource("value", value="sk-other")
            stage.client.renew(stage.client._settings)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(choose)
            answer = await http.post("/v1/messages", content=b"{}", headers=MESSAGE)
        assert (answer.status_code, server.calls[-1]["x-api-key"]) == (200, "sk-other")


async def test_a_refused_key_without_another_is_an_answer_of_401_and_told(tmp_path: Path, server: TokenServer) -> None:
    server.refused = {"sk-real"}
    async with gateway(tmp_path, upstream=server.address) as stage, stage.http() as http:
        answer = await http.post("/v1/messages", content=b"{}", headers=MESSAGE)
        assert answer.status_code == 401
        assert "refused the credential" in answer.json()["error"]["message"]
        await until(lambda: bool(stage.failed))


async def test_calls_of_an_agent_share_a_connection_to_the_model(tmp_path: Path, server: TokenServer) -> None:
    async with gateway(tmp_path, upstream=server.address) as stage:
        for _ in range(4):
            async with stage.http() as http:
                assert (await http.post("/v1/messages", content=b"{}", headers=MESSAGE)).status_code == 200
        assert (len(server.calls), server.connections) == (4, 1)


LONG_BODY = b"x" * (8 * 2**20)
"""Longer than what the buffers of the connections on its way hold."""


class HastyModel:
    """A model that answers before it has read a request's body: refuses keys but one, and what is left is too long."""

    def __init__(self, taken: str) -> None:
        self.taken = f"x-api-key: {taken}".encode()
        self.asked = 0

    async def serve(self, stream: anyio.abc.SocketStream) -> None:
        async with stream:
            head = b""
            while b"\r\n\r\n" not in head:
                head += await stream.receive()
            self.asked += 1
            status = b"413 Too long" if self.taken in head else b"401 No"
            await stream.send(b"HTTP/1.1 %b\r\ncontent-length: 8\r\nconnection: close\r\n\r\ntoo long" % status)
            await anyio.sleep_forever()  # reads no more, as a server that lingers until the other side has ended


@asynccontextmanager
async def hasty(taken: str) -> AsyncIterator[tuple[HastyModel, str]]:
    model = HastyModel(taken)
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, model.serve)
        yield model, f"http://127.0.0.1:{listener.extra(anyio.abc.SocketAttribute.local_port)}"
        tasks.cancel_scope.cancel()
    await listener.aclose()


async def said_to_a_long_body(stage: GatewayStage) -> bytes:
    """Send a long body by hand, as far as it is taken; return the answer."""
    answer = bytearray()
    async with await anyio.connect_unix(stage.client.socket_of("a1")) as stream:

        async def hear() -> None:
            with suppress(anyio.EndOfStream, anyio.BrokenResourceError):
                while True:
                    answer.extend(await stream.receive())

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(hear)
            await stream.send(b"POST /v1/messages HTTP/1.1\r\nhost: m\r\ncontent-length: %d\r\n\r\n" % len(LONG_BODY))
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                await stream.send(LONG_BODY)
    return bytes(answer)


async def test_a_model_that_turns_a_call_down_before_it_has_read_it_is_heard(tmp_path: Path) -> None:
    async with hasty("sk-real") as (model, address), gateway(tmp_path, upstream=address) as stage:
        answer = await said_to_a_long_body(stage)
        assert (answer.partition(b"\r\n")[0], answer.endswith(b"too long")) == (b"HTTP/1.1 413 Too long", True)
        assert model.asked == 1


async def test_a_key_that_is_refused_before_the_call_was_read_is_replaced_by_another(tmp_path: Path) -> None:
    async with hasty("sk-other") as (model, address), gateway(tmp_path, upstream=address, others=True) as stage:

        async def choose() -> None:
            await until(lambda: bool(stage.failed))
            stage.settings["credential"] = CredentialSource("value", value="sk-other")
            stage.client.renew(stage.client._settings)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(choose)
            answer = await said_to_a_long_body(stage)
        assert (answer.partition(b"\r\n")[0], model.asked) == (b"HTTP/1.1 413 Too long", 2)


async def test_what_an_agent_sends_with_a_get_never_begins_the_next_call(tmp_path: Path, server: TokenServer) -> None:
    """The server reads no body of a GET, and takes it for a request."""
    async with gateway(tmp_path, upstream=server.address) as stage:
        async with stage.http() as http:
            await http.request("GET", "/v1/models", content=b"POST /v1/files HTTP/1.1\r\nx: ")
        async with stage.http() as http:
            assert (await http.post("/v1/messages", content=b"{}", headers=MESSAGE)).status_code == 200
