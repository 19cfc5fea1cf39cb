"""The token endpoint's answers, good and odd."""

import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from supervisor.runtime.gateway import token_endpoint
from supervisor.runtime.gateway.token_endpoint import TokenRefusedError, refresh
from tests.stages.token_server import NEW, OLD_REFRESH, ROTATED, TokenServer, token_server


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TokenServer]:
    with token_server(tmp_path_factory.mktemp("server")) as made:
        yield made


def asked(server: TokenServer, answer: Any, status: int = 200) -> token_endpoint.TokenAnswer:
    server.answer, server.status = answer, status
    return refresh(server.refresh_url, OLD_REFRESH, (), "", 1_000.0)


def test_its_answer_is_read(endpoint: TokenServer) -> None:
    answer = asked(endpoint, {**ROTATED, "refresh_token_expires_in": 60})
    assert (answer.access, answer.expires, answer.refresh_expires) == (NEW, 29_800.0, 1_060.0)
    assert answer.scopes == ("user:inference", "user:profile")
    assert "scope" not in endpoint.asked[-1], "a login that names none asks for none"


@pytest.mark.parametrize(
    "more",
    [{"expires_in": "soon"}, {"expires_in": -1}, {"expires_in": True}, {"expires_in": 1e300}, {"refresh_token": 5},
     {"refresh_token": "a b"}, {"scope": ["a"]}, {"refresh_token_expires_in": "never"}],
)  # fmt: skip
def test_what_is_odd_in_it_counts_as_not_said(endpoint: TokenServer, more: dict[str, object]) -> None:
    answer = asked(endpoint, {"access_token": NEW, **more})
    assert (answer.access, answer.refresh, answer.expires) == (NEW, "", 4_600.0)
    assert (answer.scopes, answer.refresh_expires) == ((), None)


@pytest.mark.parametrize("token", [None, "", 5, "a b", "a\r\nx-other: b", "é", "x" * 20_000])
def test_what_fits_no_header_is_no_token(endpoint: TokenServer, token: object) -> None:
    with pytest.raises(TokenRefusedError, match="no access token"):
        asked(endpoint, {"access_token": token})


@pytest.mark.parametrize(
    ("status", "answer", "is_final", "words"),
    [
        (400, {"error": "invalid_grant"}, True, "400 invalid_grant"),
        (401, {"error": "invalid_grant"}, True, "401 invalid_grant"),
        (500, {"error": "invalid_grant"}, False, "500 invalid_grant"),
        (400, {"error": "invalid_scope"}, False, "400 invalid_scope"),
        (403, {"error": {"type": "x"}}, False, "403"),
        (307, {}, False, "307"),
        (502, b"<html>" + b"[" * 50_000, False, "502"),
        (200, b"[" * 60_000, False, "no access token"),
        (400, {"error": f"echo {OLD_REFRESH}"}, False, "the answer was 400$"),
    ],
)
def test_a_refusal_is_told_without_what_might_be_secret_in_it(
    endpoint: TokenServer, status: int, answer: Any, is_final: bool, words: str
) -> None:
    with pytest.raises(TokenRefusedError, match=words) as refused:
        asked(endpoint, answer, status)
    assert refused.value.is_final == is_final
    assert OLD_REFRESH not in str(refused.value)


def test_over_tls_a_server_that_nobody_vouches_for_gets_no_token(
    endpoint: TokenServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint.asked.clear()
    endpoint.answer, endpoint.status = dict(ROTATED), 200
    url = endpoint.refresh_url.replace("http:", "https:")
    with pytest.raises(TokenRefusedError, match="CERTIFICATE_VERIFY_FAILED"):
        refresh(url, OLD_REFRESH, (), "", 0.0)
    assert endpoint.asked == []
    monkeypatch.setenv("SSL_CERT_FILE", str(endpoint.certificate))
    assert refresh(url, OLD_REFRESH, (), "", 0.0).access == NEW


@pytest.mark.parametrize("said", [b"", b"hello\r\n\r\n", b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n"])
def test_a_server_that_ends_or_stands_still_is_given_up(said: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_endpoint, "SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            stream, _ = listening.accept()
            with stream:
                stream.recv(65_536)
                stream.sendall(said)
                if said.endswith(b"5\r\n\r\n"):
                    stream.recv(1)  # until the other side ends

        thread = threading.Thread(target=serve)
        thread.start()
        port = listening.getsockname()[1]
        with pytest.raises(TokenRefusedError):
            refresh(f"http://127.0.0.1:{port}/v1/oauth/token", OLD_REFRESH, (), "", 0.0)
        thread.join()


def test_a_server_that_is_not_there_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    with pytest.raises(TokenRefusedError, match=r"127.0.0.1 was not reached"):
        refresh(f"http://127.0.0.1:{port}/t", OLD_REFRESH, (), "", 0.0)
