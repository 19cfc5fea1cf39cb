"""The program that the CLI starts for a hook, run as the CLI runs it, against a socket that answers or does not."""

import json
import socket
import subprocess
import threading
from pathlib import Path

import pytest

from supervisor.runtime.attached.attachments import handlers

PAYLOAD = json.dumps({"hook_event_name": "PreToolUse", "tool_name": "Bash"}).encode()


def run(
    path: Path, when_away: str = "block", event: str = "PreToolUse", wait: float = 0.2
) -> subprocess.CompletedProcess[bytes]:
    entries = handlers(path, when_away, wait)  # type: ignore[arg-type]
    command = entries[event]["hooks"][0]["command"]
    return subprocess.run(["/bin/sh", "-c", command], input=PAYLOAD, capture_output=True, timeout=60, check=False)


def whole(body: bytes, status: str = "200 OK") -> bytes:
    return f"HTTP/1.1 {status}\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body


class Listener:
    """Answers one connection after another with what it was given, and keeps what each asked."""

    def __init__(self, path: Path, *answers: bytes) -> None:
        self.asked: list[bytes] = []
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(path))
        self._socket.listen(8)
        self._thread = threading.Thread(target=self._serve, args=(answers,))
        self._thread.start()

    def _serve(self, answers: tuple[bytes, ...]) -> None:
        for answer in answers:
            connection = self._socket.accept()[0]
            with connection:
                asked = b""
                while PAYLOAD not in asked:
                    asked += connection.recv(65536)
                self.asked.append(asked)
                connection.sendall(answer)

    def close(self) -> None:
        self._thread.join(30)
        self._socket.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s"


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
    assert (done.returncode, said in done.stdout) == (code, True)
    assert (b"away for 0.2 s" in done.stderr) == (code == 2)


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
    assert done.returncode == 2
    assert b"too long" in done.stderr


def test_a_program_that_is_missing_keeps_the_call_from_running(path: Path) -> None:
    command = handlers(path, "block")["PreToolUse"]["hooks"][0]["command"].replace("hook.py", "gone.py")
    done = subprocess.run(["/bin/sh", "-c", command], input=PAYLOAD, capture_output=True, timeout=60, check=False)
    assert done.returncode == 2
