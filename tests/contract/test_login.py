"""How the CLI refreshes its login: what it asks, what it locks, and what it writes. The gateway does the same."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from supervisor.runtime.clock import Clock
from supervisor.runtime.gateway.credential import AGENTS_URL, OAUTH_BETA
from supervisor.runtime.gateway.login_locks import refreshing
from supervisor.runtime.gateway.messages import PLACEHOLDER
from supervisor.runtime.gateway.token_endpoint import CLIENT
from tests.stages.daemon import until
from tests.stages.token_server import (
    NEW,
    NEW_REFRESH,
    OLD,
    OLD_REFRESH,
    ROTATED,
    TokenServer,
    login,
    token_server,
    write_login,
)
from tests.support import cli_environment, real_claude_path

pytestmark = pytest.mark.real_cli


@pytest.fixture
def server(tmp_path: Path) -> Iterator[TokenServer]:
    with token_server(tmp_path / "server") as made:
        yield made


class Home:
    """A folder of the CLI with a login, and the CLI in it."""

    def __init__(self, folder: Path, server: TokenServer, expires_in: float = -60) -> None:
        self.folder, self.server = folder / ".claude", server
        self.file = self.folder / ".credentials.json"
        write_login(self.file, login(expires_in, Clock().wall()))
        self.environment = cli_environment(folder, "")
        for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"):
            del self.environment[name]
        self.environment |= {
            "HTTPS_PROXY": server.address,
            "NODE_EXTRA_CA_CERTS": str(server.certificate),
        }

    @property
    def login(self) -> dict[str, object]:
        found: dict[str, object] = json.loads(self.file.read_text())["claudeAiOauth"]
        return found

    async def say(self) -> dict[str, object]:
        """Have the CLI say something to the model; return its result."""
        words = [str(real_claude_path()), "-p", "hello", "--output-format", "json"]
        done = await anyio.run_process(
            words, env=self.environment, cwd=self.folder, check=False, stderr=subprocess.STDOUT
        )
        said: dict[str, object] = json.loads(done.stdout)
        return said


async def test_a_login_that_is_about_to_end_is_refreshed_under_two_locks_and_replaced_whole(
    tmp_path: Path, server: TokenServer
) -> None:
    home = Home(tmp_path, server, expires_in=240)
    before = home.file.stat().st_ino
    seen: list[set[str]] = []
    server.meanwhile = lambda: seen.append({each.name for each in (*home.folder.iterdir(), *tmp_path.iterdir())})
    assert (await home.say())["result"] == "hello"
    (asked,) = server.asked
    assert asked.pop("scope").split()[:2] == ["user:profile", "user:inference"], "what the CLI may at most"
    assert asked == {"grant_type": "refresh_token", "refresh_token": OLD_REFRESH, "client_id": CLIENT}
    assert {".oauth_refresh.lock", ".claude.lock"} <= seen[0]
    assert ".storage-write.lock" not in seen[0]
    left = {each.name for each in (*home.folder.iterdir(), *tmp_path.iterdir())}
    assert not [each for each in left if "lock" in each or ".tmp." in each]
    whole = json.loads(home.file.read_text())
    assert whole["mcpOAuth"] == {"kept": True}
    assert (home.login["accessToken"], home.login["refreshToken"]) == (NEW, NEW_REFRESH)
    assert home.login["scopes"] == ["user:inference", "user:profile"]
    assert abs(int(str(home.login["expiresAt"])) / 1e3 - Clock().wall() - 28_800) < 60
    assert (oct(home.file.stat().st_mode)[-3:], home.file.stat().st_ino != before) == ("600", True)
    assert {each["authorization"] for each in server.calls} == {f"Bearer {NEW}"}
    assert all(OAUTH_BETA in each["anthropic-beta"].split(",") for each in server.calls)


async def test_a_refresh_token_that_is_not_replaced_stays(tmp_path: Path, server: TokenServer) -> None:
    server.answer = {name: value for name, value in ROTATED.items() if name != "refresh_token"}
    home = Home(tmp_path, server)
    assert (await home.say())["result"] == "hello"
    assert (home.login["accessToken"], home.login["refreshToken"]) == (NEW, OLD_REFRESH)


async def test_a_refresh_token_that_is_refused_for_good_is_taken_out_of_the_file(
    tmp_path: Path, server: TokenServer
) -> None:
    server.status, server.answer = 400, {"error": "invalid_grant", "error_description": "Refresh token not found"}
    home = Home(tmp_path, server)
    await home.say()
    assert (home.login["accessToken"], home.login["refreshToken"], home.login["expiresAt"]) == ("", "", 0)
    assert len(server.asked) == 1


async def test_a_token_that_the_model_refuses_is_refreshed_before_its_end(tmp_path: Path, server: TokenServer) -> None:
    server.refused = {OLD}
    home = Home(tmp_path, server, expires_in=7_200)
    assert (await home.say())["result"] == "hello"
    assert (home.login["accessToken"], len(server.asked)) == (NEW, 1)


async def test_a_refresh_by_another_program_is_waited_for_and_its_tokens_are_used(
    tmp_path: Path, server: TokenServer
) -> None:
    home = Home(tmp_path, server)
    with refreshing(home.folder, Clock()):
        async with anyio.create_task_group() as tasks:
            result: list[object] = []

            async def say() -> None:
                result.append((await home.say())["result"])

            tasks.start_soon(say)
            # The CLI's own folder of sessions is there once it has begun, and it looks for the lock before its call.
            await until(lambda: (tmp_path / ".claude.json").exists())
            write_login(home.file, login(28_800, Clock().wall(), accessToken=NEW, refreshToken=NEW_REFRESH))
    assert result == ["hello"]
    assert server.asked == []
    assert {each["authorization"] for each in server.calls} == {f"Bearer {NEW}"}


async def test_a_word_in_the_place_of_a_login_is_sent_over_the_socket_as_one_and_names_the_usual_model(
    tmp_path: Path, server: TokenServer
) -> None:
    home = Home(tmp_path, server)
    home.file.unlink()
    listener = await anyio.create_unix_listener(tmp_path / "s")
    bodies: list[tuple[bytes, bytes]] = []

    async def serve(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            head, _, body = (await stream.receive()).partition(b"\r\n\r\n")
            length = next(
                int(each.split(b":")[1]) for each in head.lower().splitlines() if each.startswith(b"content-le")
            )
            while len(body) < length:
                body += await stream.receive()
            bodies.append((head.lower(), body))
            await stream.send(b"HTTP/1.1 400 no\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}")

    home.environment |= {
        "ANTHROPIC_BASE_URL": AGENTS_URL,
        "ANTHROPIC_UNIX_SOCKET": str(tmp_path / "s"),
        "CLAUDE_CODE_OAUTH_TOKEN": PLACEHOLDER,
        "CLAUDE_CODE_SUBSCRIPTION_TYPE": "max",
    }
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, serve)
        await home.say()
        tasks.cancel_scope.cancel()
    await listener.aclose()
    head, body = bodies[-1]
    assert f"authorization: bearer {PLACEHOLDER}".encode() in head
    assert OAUTH_BETA.encode() in head
    assert b"opus" in json.loads(body)["model"].encode()
    assert server.calls == []
    assert not home.file.exists(), "nothing is written for a word that is no login"
