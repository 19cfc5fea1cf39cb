import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import anyio.to_thread
import orjson
import pytest

from supervisor.cli import client
from supervisor.cli.client import connect
from supervisor.cli.client_errors import DaemonGoneError, MisusedError, NoDaemonError, RefusedError, StrangerError
from supervisor.protocol.lines import MAX_LINE_BYTES
from tests.stages import forked
from tests.stages.daemon import Base, served
from tests.support import full_queue


@contextmanager
def answering(path: Path, *answers: bytes) -> Iterator[Path]:
    """Somebody who listens, answers each request with the next of these bytes, and hangs up."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()
        thread = threading.Thread(target=answer, args=(listening, list(answers)))
        thread.start()
        try:
            yield path
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()


def answer(listening: socket.socket, answers: list[bytes]) -> None:
    while True:
        try:
            connection, _ = listening.accept()
        except OSError:
            return
        with connection:
            if connection.recv(65536) and answers:  # a look whether somebody listens asks for nothing
                with suppress(BrokenPipeError):
                    connection.sendall(answers.pop(0))


def http(status: str, body: bytes) -> bytes:
    return b"HTTP/1.1 %s\r\ncontent-length: %d\r\n\r\n%s" % (status.encode(), len(body), body)


async def test_the_first_socket_on_which_a_daemon_listens_is_taken(base: Base, tmp_path: Path) -> None:
    async with served(base):
        daemon = await anyio.to_thread.run_sync(connect, tmp_path / "none", base.places.socket)
        assert (await anyio.to_thread.run_sync(daemon.get, "/v1/health"))["journal"] == "open"


def test_where_nobody_listens_the_sockets_tried_are_named(tmp_path: Path) -> None:
    with pytest.raises(NoDaemonError, match=f"{tmp_path}/a or {tmp_path}/b.*chaperon serve"):
        connect(tmp_path / "a", tmp_path / "b")


def test_a_daemon_that_goes_away_in_the_middle_is_told_as_that(tmp_path: Path) -> None:
    told = r"went away in the middle of its answer \(its connection ended\)"
    with answering(tmp_path / "s") as path, pytest.raises(DaemonGoneError, match=told):
        connect(path).get("/v1/agents")


def test_a_daemon_that_has_gone_between_two_requests_is_told_as_that(tmp_path: Path) -> None:
    with answering(tmp_path / "s") as path:
        daemon = connect(path)
    with pytest.raises(DaemonGoneError, match="went away"):
        daemon.get("/v1/agents")


def test_a_stream_that_is_cut_is_told_as_that(tmp_path: Path) -> None:
    cut = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n6\r\n{}\n{}\n\r\n5\r\n{"
    with answering(tmp_path / "s", cut) as path:
        stream = connect(path).lines("/v1/events")
        assert [next(stream), next(stream)] == [b"{}", b"{}"]
        with pytest.raises(DaemonGoneError):
            next(stream)


def test_what_the_wait_raises_is_not_taken_for_the_daemons_end(tmp_path: Path) -> None:
    """The command's own reader has gone: a pipe that broke, and none of the daemon's."""

    def wait(*_: object) -> None:
        raise BrokenPipeError

    with answering(tmp_path / "s") as path, pytest.raises(BrokenPipeError):
        next(connect(path).lines("/v1/events", wait=wait))


def test_a_line_too_long_to_be_kept_is_told_with_its_size_and_its_beginning(tmp_path: Path) -> None:
    body = b'{"n":17,' + b"x" * (MAX_LINE_BYTES + 1) + b"\n{}\n"
    with answering(tmp_path / "s", http("200 OK", body)) as path:
        first, second = connect(path).lines("/v1/events")
    assert orjson.loads(first)["oversized"] > MAX_LINE_BYTES
    assert orjson.loads(first)["head"].startswith('{"n":17,x')
    assert second == b"{}"


def test_a_daemon_that_does_not_answer_is_not_waited_for_without_end(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(tmp_path / "s"))
        silent.listen()
        with pytest.raises(DaemonGoneError, match=r"did not answer within 0\.1 s"):
            connect(tmp_path / "s").post("/v1/agents", {}, seconds=0.1)


def test_a_daemon_that_takes_nothing_is_not_waited_for_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "ANSWER_SECONDS", 0.1)
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(tmp_path / "s"))
        silent.listen()
        with pytest.raises(DaemonGoneError, match="did not answer"):
            connect(tmp_path / "s").post("/v1/agents", {"prompt": "x" * 10**7})


def test_a_peer_that_is_refused_hears_why_and_not_that_nobody_is_there(tmp_path: Path) -> None:
    refusal = http("403 Forbidden", b'{"kind": "Refused", "what": "The daemon refuses this: because.", "way_out": ""}')
    with answering(tmp_path / "s", refusal) as path, pytest.raises(RefusedError, match="because"):
        connect(path).get("/v1/agents")


@pytest.mark.parametrize("status", ["413 Too Large", "422 Unprocessable"])
def test_what_cannot_be_is_the_callers_mistake(status: str, tmp_path: Path) -> None:
    problem = http(status, b'{"kind": "Usage", "what": "No.", "way_out": "Yes."}')
    with answering(tmp_path / "s", problem) as path, pytest.raises(MisusedError, match=r"No\. Yes\."):
        connect(path).post("/v1/agents", {})


def test_an_answer_that_is_no_problem_of_ours_is_shown_as_it_is(tmp_path: Path) -> None:
    with (
        answering(tmp_path / "s", http("500 Oh", b"oh no")) as path,
        pytest.raises(RefusedError, match="answered 500: oh no"),
    ):
        connect(path).get("/v1/agents")


NOBODY = 65534

ASK = {
    "ps": ["ps"],
    "say": ["say", "a1", "SECRET"],
    "run": ["run", "SECRET", "--detach"],
    "run, which would serve itself": ["run", "SECRET"],
    "stop": ["stop", "a1"],
    "tail": ["tail"],
    "doctor": ["doctor"],
}


@contextmanager
def squatted(path: Path, folder_of: int) -> Iterator[list[bytes]]:
    """Another user listens on a socket, in a folder of this user: what they were sent."""
    path.parent.mkdir(parents=True, mode=0o755)
    heard_out, heard_in = os.pipe()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        os.chown(path.parent, folder_of, folder_of)
        child = os.fork()
        if not child:
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
            listening.listen()
            os.write(heard_in, b"up")
            while True:
                with listening.accept()[0] as connection:
                    os.write(heard_in, connection.recv(65536))
        assert os.read(heard_out, 2) == b"up"
    heard: list[bytes] = []
    try:
        yield heard
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(heard_in)
        with os.fdopen(heard_out, "rb") as said:
            heard.append(said.read())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_another_user_who_listens_on_the_socket_is_sent_nothing(tmp_path: Path) -> None:
    refused = pytest.raises(StrangerError, match=f"process [0-9]+ of user {NOBODY} listens there")
    with squatted(tmp_path / "own/s", os.geteuid()) as heard, refused:
        connect(tmp_path / "own/s")
    assert heard == [b""]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
@pytest.mark.parametrize("folder_of", [os.geteuid(), NOBODY], ids=["our folder", "their folder"])
@pytest.mark.parametrize("command", ASK.values(), ids=ASK)
def test_no_command_speaks_with_another_user_where_a_daemon_would_listen(
    tmp_path: Path, folder_of: int, command: list[str]
) -> None:
    """Whoever made the fallback directory below /tmp first was told all prompts."""
    shared = tmp_path / "tmp"
    shared.mkdir()
    shared.chmod(0o1777)
    claude = tmp_path / "bin/claude"  # which the doctor asks for its version, and not the real one
    claude.parent.mkdir()
    claude.write_text('#!/bin/sh\necho "2.1.329 (Claude Code)"\n')
    claude.chmod(0o755)
    path = f"{claude.parent}:{os.environ['PATH']}"
    environ = {"PATH": path, "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(shared)}
    with squatted(shared / "chaperon/chaperon.sock", folder_of) as heard:
        done = forked.run("supervisor.cli", *command, seconds=60, environ=environ, cwd=tmp_path)
    said = done.stdout + done.stderr
    assert heard == [b""]
    assert done.returncode == 1, said
    assert f"user {NOBODY}" in said
    assert "one answers" not in said


def test_what_waiting_raises_is_not_taken_for_the_daemons_end(tmp_path: Path) -> None:
    def nobody_reads(_connection: socket.socket, _seconds: float | None) -> None:
        raise BrokenPipeError

    with answering(tmp_path / "s", http("200 OK", b"{}\n")) as path:
        daemon = connect(path)
        with pytest.raises(BrokenPipeError):
            list(daemon.lines("/v1/events", wait=nobody_reads))


def test_a_daemon_whose_queue_is_full_is_waited_for(tmp_path: Path) -> None:
    with full_queue(tmp_path / "s") as listening:

        def take_all() -> None:
            while True:
                try:
                    listening.accept()[0].close()
                except OSError:
                    return

        taking = threading.Thread(target=take_all)
        taking.start()
        connect(tmp_path / "s")
        listening.shutdown(socket.SHUT_RDWR)
        taking.join()


def test_a_daemon_whose_queue_stays_full_is_told_as_one_that_does_not_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "CONNECT_SECONDS", 0.05)
    with full_queue(tmp_path / "s"), pytest.raises(DaemonGoneError, match="did not answer"):
        connect(tmp_path / "s")
