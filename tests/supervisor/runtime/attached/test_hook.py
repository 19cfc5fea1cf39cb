"""The program that the CLI starts for a hook, run as the CLI runs it, against a socket that answers or does not."""

import json
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from supervisor.runtime.attached import launcher, relay_client, relay_settings
from supervisor.runtime.attached.settings.hook_entries import FAILED, RelayUse, handlers
from tests.supervisor.runtime.attached.listener import PAYLOAD, Listener, whole
from tests.supervisor.runtime.attached.test_relay import attached


def run(
    path: Path, when_away: str = "block", event: str = "PreToolUse", wait: float = 0.2, body: bytes = PAYLOAD
) -> subprocess.CompletedProcess[bytes]:
    found = relay_settings.read(path.parent / "relay")
    program = path.parent / "compiled"
    relay = RelayUse(path.parent / "relay", found, "", program if program.exists() else None) if found else None
    entries = handlers(path, when_away, wait, relay)  # type: ignore[arg-type]
    command = entries[event]["hooks"][0]["command"]
    assert ("hook.sh" in command) == bool(relay)
    return subprocess.run(["/bin/sh", "-c", command], input=body, capture_output=True, timeout=60, check=False)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled program."""
    found = launcher.built(tmp_path_factory.mktemp("a folder"))
    assert found is not None
    return found


@pytest.fixture(
    params=["python", "bash", "bash without its relay", "compiled", "compiled without its relay", "not to be seen"]
)
def path(request: pytest.FixtureRequest, tmp_path: Path, program: Path) -> Iterator[Path]:
    """The socket of hooks; the programs are the isolated Python, and what is before it, or would be."""
    folder = tmp_path / "relay"
    if request.param != "python":
        relay_settings.write(folder, tmp_path / "s")
        attached(folder)
    if request.param.startswith("compiled"):
        (tmp_path / "compiled").symlink_to(program)
    if request.param == "not to be seen":
        (tmp_path / "compiled").touch(0o600)
    if request.param in ("bash", "compiled", "not to be seen"):
        relay_client.start(folder)
    yield tmp_path / "s"
    if number := relay_client.process_of(folder):
        os.kill(number, signal.SIGKILL)


@pytest.mark.parametrize(
    ("when_away", "event", "code", "said"),
    [
        ("block", "PreToolUse", 2, b""),
        ("ask", "PreToolUse", 0, b'"permissionDecision":"ask"'),
        ("allow", "PreToolUse", 0, b""),
        ("block", "Stop", 0, b""),
        ("block", "UserPromptSubmit", 0, b""),
    ],
)
def test_without_a_daemon_it_answers_as_the_person_chose(
    path: Path, when_away: str, event: str, code: int, said: bytes
) -> None:
    done = run(path, when_away, event)
    blocked = code == 2
    by_relay = blocked and b'"permissionDecision": "deny"' in done.stdout
    assert done.returncode == (0 if by_relay else code)
    assert said in done.stdout
    assert (b"away for 0.2 s" in done.stderr + done.stdout) == blocked


def test_the_daemons_answer_is_printed_as_it_is(path: Path) -> None:
    listener = Listener(path, whole(b'{"x":1}'))
    done = run(path)
    listener.close()
    assert (done.returncode, done.stdout) == (0, b'{"x":1}')


def test_a_daemon_that_goes_away_in_mid_answer_is_asked_again_under_the_same_id(path: Path) -> None:
    listener = Listener(path, b"", whole(b"half an answer")[:-3], whole(b"", "503 Busy"), whole(b"{}"))
    done = run(path, wait=30.0)
    listener.close()
    assert (done.returncode, done.stdout) == (0, b"{}")
    ids = {line for asked in listener.asked for line in asked.splitlines() if line.startswith(b"chaperon-request")}
    assert (len(listener.asked), len(ids)) == (4, 1)


def test_a_refusal_of_the_daemon_keeps_the_call_from_running(path: Path) -> None:
    listener = Listener(path, whole(b"too long", "413 Too Large"))
    done = run(path)
    listener.close()
    assert done.returncode == 2 or b'"permissionDecision": "deny"' in done.stdout
    assert b"too long" in done.stderr + done.stdout


@pytest.mark.parametrize("length", [8_100, 8_192, 300_000])
def test_a_long_hook_is_handed_on_whole(path: Path, length: int) -> None:
    listener = Listener(path, whole(b"{}"))
    body = b'{"x":"' + "\u00e9".encode() * (length // 2) + b'"}' + PAYLOAD
    done = run(path, body=body)
    listener.close()
    assert done.stdout == b"{}"
    assert listener.asked[0].endswith(body)


@pytest.mark.parametrize("event", ["PreToolUse", "SessionStart"])
@pytest.mark.parametrize("compiled", [False, True])
def test_a_program_that_has_the_port_in_the_relays_place_lets_no_call_run_and_the_person_is_told(
    tmp_path: Path, program: Path, compiled: bool, event: str
) -> None:
    if compiled:
        (tmp_path / "compiled").symlink_to(program)
    settings = relay_settings.write(tmp_path / "relay", tmp_path / "s")
    attached(tmp_path / "relay")
    with socket.create_server((relay_settings.LOOPBACK, settings.port)) as server:

        def answer() -> None:
            connection = server.accept()[0]
            with connection:
                asked = b""
                while PAYLOAD not in asked:
                    asked += connection.recv(65536)
                connection.sendall(whole(b"{}"))

        thread = threading.Thread(target=answer)
        thread.start()
        done = run(tmp_path / "s", event=event)
        thread.join(30)
    if event == "SessionStart":
        assert done.returncode == 0
        assert "without a review" in json.loads(done.stdout)["systemMessage"]
    else:
        assert done.returncode == 2
        assert b"another program has the port" in done.stderr


def test_a_program_that_is_missing_keeps_the_call_from_running(path: Path) -> None:
    command = handlers(path, "block")["PreToolUse"]["hooks"][0]["command"]
    command = command.replace("hook.py", "gone.py").replace("hook.sh", "gone.sh")
    done = subprocess.run(["/bin/sh", "-c", command], input=PAYLOAD, capture_output=True, timeout=60, check=False)
    assert done.returncode == 2
    assert FAILED.encode() in done.stderr


def test_a_session_that_begins_with_hooks_of_a_chaperon_that_was_removed_says_what_to_do(path: Path) -> None:
    command = handlers(path, "block")["SessionStart"]["hooks"][0]["command"]
    command = command.replace("hook.py", "gone.py").replace("hook.sh", "gone.sh")
    done = subprocess.run(["/bin/sh", "-c", command], input=PAYLOAD, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0
    assert "take its hooks out" in json.loads(done.stdout)["systemMessage"]


def test_the_hook_of_a_session_that_begins_starts_the_relay_if_there_is_none(tmp_path: Path) -> None:
    settings = relay_settings.write(tmp_path / "relay", tmp_path / "s")
    attached(tmp_path / "relay")
    entry = handlers(tmp_path / "s", "block", 0.2, RelayUse(tmp_path / "relay", settings, "f-x"))["SessionStart"]
    try:
        done = subprocess.run(["/bin/sh", "-c", entry["hooks"][0]["command"]], input=b"{}", check=False, timeout=60)
        assert done.returncode == 0
        assert relay_client.process_of(tmp_path / "relay")
    finally:
        if number := relay_client.process_of(tmp_path / "relay"):
            os.kill(number, signal.SIGKILL)
