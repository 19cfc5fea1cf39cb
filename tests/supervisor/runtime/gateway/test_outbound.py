"""The way to servers outside: a person's own proxy, whom to trust, and what is reached without it."""

import base64
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from supervisor.runtime.clock import Clock
from supervisor.runtime.gateway.credential import Credential
from supervisor.runtime.gateway.messages import CredentialSource
from supervisor.runtime.gateway.outbound import DIRECT, Outbound, ProxyError, login_of, outbound_of, proxy_to
from tests.stages.gateway import gateway
from tests.stages.token_server import NEW, TokenServer, login, token_server, write_login

LOGIN = "Basic " + base64.b64encode(b"ann:p@ss").decode()
BODY = b'{"model":"m"}'


@pytest.fixture
def server(tmp_path: Path) -> Iterator[TokenServer]:
    with token_server(tmp_path / "server") as made:
        yield made


def by(server: TokenServer, **more: str) -> Outbound:
    return Outbound(proxy=f"http://ann:p%40ss@127.0.0.1:{server.port}", certificates=str(server.certificate), **more)


# ── which proxy, if any ──


@pytest.mark.parametrize(
    ("environment", "proxy"),
    [
        ({"HTTP_PROXY": "http://a:1"}, "http://a:1"),
        ({"HTTP_PROXY": "http://a:1", "HTTPS_PROXY": "http://b:2"}, "http://b:2"),
        ({"HTTPS_PROXY": "http://b:2", "https_proxy": "http://c:3"}, "http://c:3"),
        ({"ALL_PROXY": "socks5://d:4"}, ""),
        ({"HTTPS_PROXY": ""}, ""),
    ],
)
def test_the_proxy_is_the_one_that_the_cli_takes(environment: dict[str, str], proxy: str) -> None:
    assert outbound_of(environment).proxy == proxy


@pytest.mark.parametrize(
    ("no_proxy", "host"),
    [
        ("*", "model.example"),
        ("model.example", "model.example"),
        ("other.example, model.example", "MODEL.example"),
        ("other.example model.example", "model.example"),
        ("example", "model.example"),
        (".example", "model.example"),
        ("*.example", "model.example"),
        ("model.example:443", "model.example"),
        ("[fe80::1]", "fe80::1"),
        ("192.168.0.0/16,10.0.0.0/8", "10.20.30.40"),
        ("10.1.2.3/8", "10.20.30.40"),
        ("fd00::/8", "fd12::1"),
    ],
)
def test_what_is_named_is_reached_without_it(no_proxy: str, host: str) -> None:
    assert proxy_to(host, 443, Outbound(proxy="http://p:1", no_proxy=no_proxy)) is None


@pytest.mark.parametrize(
    "no_proxy", ["", "odel.example", "model.example:80", "model.example.org", ",", ".", "0.0.0.0/0", "/", "10.0.0.0/99"]
)
def test_whatever_else_is_reached_through_it(no_proxy: str) -> None:
    assert proxy_to("model.example", 443, Outbound(proxy="p:1", no_proxy=no_proxy)) == urlsplit("http://p:1")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST.", "127.0.0.1", "127.8.8.8", "::1"])
def test_this_machine_is_reached_itself(host: str) -> None:
    assert proxy_to(host, 80, Outbound(proxy="http://p:1")) is None


def test_a_name_that_begins_as_an_address_of_this_machine_is_none() -> None:
    assert proxy_to("127.evil.example", 443, Outbound(proxy="http://p:1")) is not None


@pytest.mark.parametrize(
    "proxy", ["socks5://ann:secret@p:1", "http://", "http://ann:secret@p:99999", "http://[", "http://p:0"]
)
def test_one_that_is_no_proxy_is_an_error_without_its_login(proxy: str) -> None:
    with pytest.raises(ProxyError, match="HTTPS_PROXY") as refused:
        proxy_to("model.example", 443, Outbound(proxy=proxy))
    assert "secret" not in str(refused.value)


def test_an_address_without_a_login_says_none() -> None:
    assert login_of(urlsplit("http://p:1")) == []
    assert proxy_to("model.example", 443, DIRECT) is None


# ── through it ──


async def test_the_model_is_reached_through_the_persons_proxy_with_its_login_and_trust(
    tmp_path: Path, server: TokenServer
) -> None:
    async with (
        gateway(tmp_path, upstream="https://api.anthropic.com", outbound=by(server)) as stage,
        stage.http() as agent,
    ):
        for _ in range(2):
            assert (await agent.post("/v1/messages", content=BODY)).status_code == 200
    assert server.proxied == [("api.anthropic.com:443", LOGIN)]
    assert [each["x-api-key"] for each in server.calls] == ["sk-real"] * 2
    assert not [each for each in server.calls if "proxy-authorization" in each]


async def test_a_plain_address_is_asked_for_as_a_whole(tmp_path: Path, server: TokenServer) -> None:
    async with (
        gateway(tmp_path, upstream="http://model.example/base", outbound=by(server)) as stage,
        stage.http() as agent,
    ):
        answer = await agent.post("/v1/messages", content=BODY)
    assert server.proxied == [("http://model.example/base/v1/messages", LOGIN)]
    assert answer.status_code == 404


async def test_a_proxy_that_refuses_is_named_without_its_login(tmp_path: Path, server: TokenServer) -> None:
    server.proxy_login = "Basic other"
    async with (
        gateway(tmp_path, upstream="https://api.anthropic.com", outbound=by(server)) as stage,
        stage.http() as agent,
    ):
        answer = await agent.post("/v1/messages", content=BODY)
    assert answer.status_code == 502
    assert "the proxy 127.0.0.1, which the environment names, answered 407 for api.anthropic.com:443" in answer.text
    assert "ann" not in answer.text
    assert "p@ss" not in answer.text


async def test_a_file_of_certificates_that_is_not_there_is_named(tmp_path: Path, server: TokenServer) -> None:
    way = Outbound(proxy=by(server).proxy, certificates=str(tmp_path / "gone.pem"))
    async with gateway(tmp_path, upstream="https://api.anthropic.com", outbound=way) as stage, stage.http() as agent:
        answer = await agent.post("/v1/messages", content=BODY)
    assert answer.status_code == 502
    assert "No such file" in answer.text


async def test_a_named_host_that_the_proxy_alone_can_look_up_is_reached_through_it(
    tmp_path: Path, server: TokenServer
) -> None:
    async with gateway(tmp_path, hosts=("files.invalid", "files.invalid:80"), outbound=by(server)) as stage:
        assert b" 200 " in await stage.raw(
            b"CONNECT files.invalid:443 HTTP/1.1\r\nhost: x\r\n\r\nno TLS, so it is over\r\n"
        )
        plain = b"POST http://files.invalid/v1/messages HTTP/1.1\r\nhost: files.invalid\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        assert b" 200 " in await stage.raw(plain)
        assert b" 403 " in await stage.raw(b"CONNECT other.invalid:443 HTTP/1.1\r\nhost: x\r\n\r\n")
    assert server.proxied == [("files.invalid:443", LOGIN), ("http://files.invalid/v1/messages", LOGIN)]


def test_a_login_is_refreshed_through_it(tmp_path: Path, server: TokenServer) -> None:
    file = tmp_path / "person" / ".credentials.json"
    write_login(file, login(-1, Clock().wall()))
    url = "https://platform.claude.com/v1/oauth/token"
    source = CredentialSource("login", path=str(file), refreshed_at=url, outbound=by(server))
    assert Credential(source, Clock()).header() == ("authorization", f"Bearer {NEW}")
    assert server.proxied == [("platform.claude.com:443", LOGIN)]
