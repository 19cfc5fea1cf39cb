"""The relay as a process, asked by loopback as a CLI asks it, before a socket that answers or does not."""

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import anyio
import anyio.to_thread
import pytest

from supervisor.protocol.claude.control import HOOK_TIMEOUT_SECONDS
from supervisor.runtime.attached import relay as relay_module
from supervisor.runtime.attached import relay_client, relay_settings
from supervisor.runtime.attached.hook import ALL_SECONDS
from supervisor.runtime.attached.relay import Relay
from supervisor.runtime.attached.relay_client import RelayError
from supervisor.runtime.attached.relay_settings import LOOPBACK, RelaySettings
from supervisor.runtime.shim import process_tree
from tests.supervisor.runtime.attached.listener import PAYLOAD, Listener, whole
from tests.support import AS_OTHERS, can_be_read

SECONDS = 30.0


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """The folder of a relay that runs."""
    relay_settings.write(tmp_path / "relay", tmp_path / "s")
    attached(tmp_path / "relay")
    relay_client.start(tmp_path / "relay")
    yield tmp_path / "relay"
    while Cli.connected:
        Cli.connected.pop().close()
    if number := relay_client.process_of(tmp_path / "relay"):
        os.kill(number, signal.SIGKILL)


def attached(folder: Path) -> None:
    """Have something be attached, as the relay sees it."""
    (folder / "note.json").write_text("{}")


def settings(folder: Path) -> RelaySettings:
    found = relay_settings.read(folder)
    assert found is not None
    return found


def own(folder: Path) -> str:
    """The token of this process."""
    return settings(folder).token(f"p-{os.getpid()}-{process_tree.start_ticks(os.getpid())}")


def wait_until(holds: Callable[[], bool]) -> None:
    """Return once it holds; the test's own time limit ends the wait."""
    while not holds():
        process_tree.pause(0.01)


class Cli:
    """One connection of a CLI."""

    connected: ClassVar[list[http.client.HTTPConnection]] = []
    """All of a test, which are closed behind it."""

    def __init__(self, folder: Path, token: str | None = None) -> None:
        self._settings = settings(folder)
        self._token = own(folder) if token is None else token
        self.connection = http.client.HTTPConnection(LOOPBACK, self._settings.port, timeout=SECONDS)
        self.connected.append(self.connection)

    def ask(self, event: str = "PreToolUse", when_away: str = "block", wait: float = 0.2) -> Any:
        """Send a hook, and return its answer."""
        self.send(event, when_away, wait)
        answer = self.connection.getresponse()
        assert answer.status == 200
        return json.loads(answer.read())

    def send(self, event: str = "PreToolUse", when_away: str = "block", wait: float = 30.0) -> None:
        """Send a hook."""
        address = self._settings.address(event, when_away, wait).partition(str(self._settings.port))[2]
        self.connection.request("POST", address, PAYLOAD, {"authorization": f"Bearer {self._token}"})


def why(answer: Any) -> str:
    """Return the reason of a denial."""
    output = answer["hookSpecificOutput"]
    assert output["permissionDecision"] == "deny"
    return str(output["permissionDecisionReason"])


def test_hooks_of_one_connection_are_handed_on_with_the_process_that_sent_them(folder: Path, tmp_path: Path) -> None:
    listener = Listener(tmp_path / "s", whole(b'{"x":1}'), whole(b'{"x":2}'))
    cli = Cli(folder)
    assert [cli.ask(), cli.ask("Stop")] == [{"x": 1}, {"x": 2}]
    listener.close()
    said = f"chaperon-process: {os.getpid()} {process_tree.start_ticks(os.getpid())}\r\n".encode()
    assert [said in asked for asked in listener.asked] == [True, True]


def test_hooks_of_several_connections_reach_the_daemon_by_one(folder: Path, tmp_path: Path) -> None:
    connections: list[int] = []

    def serve(server: socket.socket) -> None:
        for _ in range(2):
            connection = server.accept()[0]
            connections.append(0)
            with connection, connection.makefile("rb") as asked:
                while line := asked.readline():
                    if line == b"\r\n":
                        assert asked.read(len(PAYLOAD)) == PAYLOAD
                        connections[-1] += 1
                        connection.sendall(whole(b"{}"))
                        if connections[-1] == 3:  # the daemon closes one that it has kept for long
                            break

    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
        server.listen()
        thread = threading.Thread(target=serve, args=(server,), daemon=True)
        thread.start()
        for _ in range(4):
            cli = Cli(folder)
            assert cli.ask() == {}
            cli.connection.close()
        assert connections == [3, 1]


@pytest.mark.parametrize("case", ["none", "forged", "other process", "other program"])
def test_a_token_that_is_not_of_the_process_that_sends_it_lets_no_call_run(folder: Path, case: str) -> None:
    first = own(folder)
    tokens = {
        "none": "",
        "forged": first[:-1] + ("0" if first[-1] != "0" else "1"),
        "other process": settings(folder).token("p-1-1"),
        "other program": settings(folder).token("f-0123"),
    }
    assert "chaperon refuses this call" in why(Cli(folder, tokens[case]).ask())


def test_a_daemon_that_comes_back_answers_the_hook_that_waited(folder: Path, tmp_path: Path) -> None:
    cli = Cli(folder)
    cli.send()
    assert not select_readable(cli.connection.sock, 0.3)
    listener = Listener(tmp_path / "s", whole(b"{}"))
    assert cli.connection.getresponse().read() == b"{}"
    listener.close()


def select_readable(connection: socket.socket, seconds: float) -> bool:
    connection.settimeout(seconds)
    try:
        return bool(connection.recv(1, socket.MSG_PEEK))
    except TimeoutError:
        return False
    finally:
        connection.settimeout(SECONDS)


@pytest.mark.parametrize(
    ("event", "when_away", "decision"),
    [
        ("PreToolUse", "block", "deny"),
        ("PreToolUse", "ask", "ask"),
        ("PreToolUse", "allow", None),
        ("Stop", "block", None),
    ],
)
def test_without_a_daemon_it_answers_as_the_person_chose(
    folder: Path, event: str, when_away: str, decision: str | None
) -> None:
    answer = Cli(folder).ask(event, when_away)
    assert answer.get("hookSpecificOutput", {}).get("permissionDecision") == decision


def test_a_daemon_that_goes_away_in_mid_answer_is_asked_again_under_the_same_id(folder: Path, tmp_path: Path) -> None:
    listener = Listener(tmp_path / "s", b"", whole(b"half an answer")[:-3], whole(b"", "503 Busy"), whole(b"{}"))
    assert Cli(folder).ask(wait=SECONDS) == {}
    listener.close()
    ids = {line for asked in listener.asked for line in asked.splitlines() if line.startswith(b"chaperon-request")}
    assert (len(listener.asked), len(ids)) == (4, 1)


def test_a_hook_of_50_mb_is_refused_unread(folder: Path) -> None:
    cli = Cli(folder)
    cli.connection.putrequest("POST", "/chaperon-hooks/PreToolUse")
    cli.connection.putheader("content-length", str(50 * 2**20))
    cli.connection.endheaders()
    assert "52428800 bytes" in why(json.loads(cli.connection.getresponse().read()))


def test_a_cli_that_no_longer_waits_has_the_daemon_told_so(folder: Path, tmp_path: Path) -> None:
    listener = Listener(tmp_path / "s", b"none")
    cli = Cli(folder)
    cli.send()
    wait_until(lambda: bool(listener.asked))
    cli.connection.close()
    assert listener.hung_up.wait(SECONDS)
    listener.close()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be another user")
def test_another_users_process_is_not_served(folder: Path) -> None:
    code = "import socket, sys\ns = socket.create_connection(('127.0.0.1', int(sys.argv[1])))\nprint(s.recv(1))"
    done = subprocess.run(
        ["/usr/bin/env", "python3", "-c", code, str(settings(folder).port)],
        user=65534,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.stdout == "b''\n" or "ConnectionResetError" in done.stderr or done.returncode == 126


async def test_a_relay_that_was_killed_is_started_again_at_the_same_port(folder: Path, tmp_path: Path) -> None:
    told: list[str] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(relay_client.keep, folder, tmp_path / "s", told.append)
        first = await anyio.to_thread.run_sync(relay_client.process_of, folder)
        os.kill(first, signal.SIGKILL)
        with anyio.fail_after(SECONDS):
            while (await anyio.to_thread.run_sync(relay_client.process_of, folder) or first) == first:
                await anyio.sleep(0.01)
        answer = await anyio.to_thread.run_sync(lambda: Cli(folder).ask("Stop"))
        tasks.cancel_scope.cancel()
    assert (answer, told) == ({}, [])


async def test_while_there_is_a_daemon_no_other_program_gets_the_port_of_a_relay_that_died(tmp_path: Path) -> None:
    folder, told = tmp_path / "relay", []  # type: ignore[var-annotated]
    found = await anyio.to_thread.run_sync(relay_settings.write, folder, tmp_path / "s")
    attached(folder)

    def taken() -> bool:
        with socket.socket() as stranger:
            stranger.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            return stranger.connect_ex((LOOPBACK, found.port)) == 0 and not _binds(found.port)

    async def number(other_than: int) -> int:
        with anyio.fail_after(SECONDS):
            while (pid := await anyio.to_thread.run_sync(relay_client.process_of, folder)) in (0, other_than):
                assert not other_than or await anyio.to_thread.run_sync(taken)
                await anyio.sleep(0.01)
        return pid

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(relay_client.keep, folder, tmp_path / "s", told.append)
        first = await number(0)
        os.kill(first, signal.SIGKILL)
        with anyio.fail_after(SECONDS):
            while await anyio.to_thread.run_sync(process_tree.start_ticks, first):
                await anyio.sleep(0)
        answer = await anyio.to_thread.run_sync(lambda: Cli(folder).ask("Stop"))  # it waits for the next relay
        assert answer == {}
        second = await number(first)
        tasks.cancel_scope.cancel()
    assert told == []
    assert await anyio.to_thread.run_sync(taken), "the relay has it too, and goes on without the daemon"
    os.kill(second, signal.SIGKILL)


def _binds(port: int) -> bool:
    with socket.socket() as stranger:
        stranger.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            stranger.bind((LOOPBACK, port))
        except OSError:
            return False
        return True


def test_a_second_relay_is_not_started(folder: Path) -> None:
    first = relay_client.process_of(folder)
    relay_client.start(folder)
    assert relay_client.process_of(folder) == first


def test_a_port_that_another_program_has_is_told_of(tmp_path: Path) -> None:
    found = relay_settings.write(tmp_path, tmp_path / "s")
    with socket.create_server((LOOPBACK, found.port)), pytest.raises(RelayError, match="Another process has the port"):
        relay_client.start(tmp_path)


def test_it_ends_once_its_settings_are_gone_and_no_cli_is_connected(folder: Path) -> None:
    number = relay_client.process_of(folder)
    relay_settings.remove(folder)
    wait_until(lambda: process_tree.start_ticks(number) == 0)


def test_it_ends_with_the_process_that_it_was_lent_to_unless_something_is_attached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    relay = Relay(tmp_path, relay_settings.write(tmp_path, tmp_path / "s"))
    monkeypatch.setattr("supervisor.runtime.attached.relay.UPKEEP_SECONDS", -1.0)
    monkeypatch.setattr("os._exit", sys.exit)
    relay_settings.lend(tmp_path, f"p-{os.getpid()}-{process_tree.start_ticks(os.getpid())}")
    with relay:
        with relay_settings.alone(tmp_path):  # one that is being attached has no note yet
            relay.service_actions()
        relay.service_actions()
        (tmp_path / f"{relay_settings.LENT}{os.getpid()}-{process_tree.start_ticks(os.getpid())}").unlink()
        relay_settings.lend(tmp_path, f"p-{os.getpid()}-1")  # the number is another's by now
        attached(tmp_path)
        relay.service_actions()
        assert relay_settings.read(tmp_path) is not None
        assert not list(tmp_path.glob(f"{relay_settings.LENT}*"))
        (tmp_path / "note.json").unlink()
        relay.service_actions()
        assert relay_settings.read(tmp_path) is None
        with pytest.raises(SystemExit):
            relay.service_actions()


def test_it_stays_for_a_cli_that_it_served_though_its_settings_are_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    relay = Relay(tmp_path, relay_settings.write(tmp_path, tmp_path / "s"))
    monkeypatch.setattr("supervisor.runtime.attached.relay.UPKEEP_SECONDS", -1.0)
    monkeypatch.setattr("os._exit", sys.exit)
    relay_settings.remove(tmp_path)
    with relay:
        relay.served = {(os.getpid(), process_tree.start_ticks(os.getpid()))}
        relay.service_actions()
        relay.served = {(os.getpid(), 1)}  # the number is another's by now
        with pytest.raises(SystemExit):
            relay.service_actions()


@pytest.mark.slow
def test_it_becomes_the_newer_program_after_an_update_and_keeps_its_port(tmp_path: Path) -> None:
    root, source = tmp_path / "lib", Path(relay_settings.__file__).parents[3]
    for part in ("supervisor/runtime/attached", "supervisor/runtime/shim"):
        shutil.copytree(source / part, root / part, ignore=shutil.ignore_patterns("__pycache__"))
    (root / "host").mkdir()
    for part in ("supervisor/__init__.py", "supervisor/runtime/__init__.py", "host/__init__.py", "host/identity.py"):
        shutil.copy(source / part, root / part)
    folder = tmp_path / "relay"
    relay_settings.write(folder, tmp_path / "s")
    attached(folder)
    subprocess.run(
        [word.replace(repr(str(source)), repr(str(root))) for word in relay_settings.words(folder)],
        check=True,
        timeout=SECONDS,
    )
    number = relay_client.process_of(folder)
    cli = Cli(folder)
    try:
        with (root / "supervisor/runtime/attached/relay.py").open("a") as file:
            file.write("# newer\n")
        wait_until(lambda: not Path(f"/proc/{number}/cmdline").read_text().endswith(f"{folder}\0"))
        assert cli.ask("Stop") == {}
        assert relay_client.process_of(folder) == number
    finally:
        cli.connection.close()
        os.kill(number, signal.SIGKILL)


def test_it_goes_on_while_a_newer_program_is_not_there_whole_or_was_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = ["mine", "", "", "half", "whole", "whole"]
    became: list[int] = []
    monkeypatch.setattr(relay_module, "_code", lambda: found.pop(0))
    monkeypatch.setattr(os, "execv", lambda *_: became.append(len(found)))
    monkeypatch.setattr(relay_module, "UPKEEP_SECONDS", 0.0)
    attached(tmp_path)
    with Relay(tmp_path, relay_settings.write(tmp_path, tmp_path / "s")) as relay:
        while found:
            relay.service_actions()
    assert became == [0], "at the second look at the same program"


def test_a_call_waits_less_long_than_the_cli_waits_for_its_hook() -> None:
    assert ALL_SECONDS < HOOK_TIMEOUT_SECONDS


@pytest.mark.slow
def test_connections_over_the_limit_are_closed_and_others_are_served(folder: Path) -> None:
    from supervisor.runtime.attached.relay import MOST_CONNECTIONS

    place = (LOOPBACK, settings(folder).port)
    many = [socket.create_connection(place) for _ in range(MOST_CONNECTIONS + 1)]
    many[-1].settimeout(SECONDS)
    assert many[-1].recv(1) == b""
    for one in many:
        one.close()
    wait_until(lambda: bool(_served(folder)))


def _served(folder: Path) -> bool:
    try:
        return bool(Cli(folder).ask("Stop") == {})
    except (OSError, http.client.HTTPException):
        return False


@pytest.mark.skipif(bool(AS_OTHERS) and not shutil.which("setpriv"), reason="needs setpriv to be less than root")
def test_the_relay_which_has_the_tokens_of_hooks_is_read_by_no_program_of_its_user(tmp_path: Path) -> None:
    folder = tmp_path / "relay"
    relay_settings.write(folder, tmp_path / "s")
    attached(folder)
    subprocess.run(
        [*AS_OTHERS, *relay_settings.words(folder)], stdin=subprocess.DEVNULL, env={}, check=True, timeout=SECONDS
    )
    number = relay_client.process_of(folder)
    assert number
    try:
        assert not can_be_read(number)
    finally:
        os.kill(number, signal.SIGKILL)
