"""Whose process is at the other end of a loopback connection, by real processes."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from supervisor.panel.access import peers
from supervisor.runtime.shim.socket_owner import Holders, SocketAddress

CONNECT = """
import ctypes, os, select, socket, sys
from supervisor.runtime.shim import marks
if "marked" in sys.argv:
    marks.put(marks.draw())
if "hidden" in sys.argv:
    ctypes.CDLL(None).prctl(4, 0)  # PR_SET_DUMPABLE
connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
print("ready", flush=True)
while "forking" in sys.argv and not select.select([sys.stdin], [], [], 0)[0]:
    if os.fork() == 0:
        os._exit(len(select.select([], [], [], 0.002)[0]))  # as long as a fork takes on a busy machine
    os.wait()
sys.stdin.readline()
"""


@contextmanager
def listening() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(60)
        yield server


@contextmanager
def visitor(server: socket.socket, *how: str) -> Iterator[tuple[subprocess.Popen[str], SocketAddress]]:
    """A process that connects."""
    command = [sys.executable, "-c", CONNECT, str(server.getsockname()[1]), *how]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        connection, client = server.accept()
        with connection:
            assert process.stdout.readline() == "ready\n"
            yield process, client
            process.stdin.close()


def test_a_persons_process_is_let_in() -> None:
    with listening() as server, visitor(server) as (_, client):
        assert peers.refusal(client, server.getsockname(), ()) == ""


def test_a_process_with_an_agents_mark_is_refused() -> None:
    with listening() as server, visitor(server, "marked") as (_, client):
        assert "agent" in peers.refusal(client, server.getsockname(), ())


def test_a_process_below_a_shim_is_refused_though_it_has_no_mark() -> None:
    with listening() as server, visitor(server) as (process, client):
        assert "agent" in peers.refusal(client, server.getsockname(), [process.pid])


@pytest.mark.skipif(os.geteuid() == 0, reason="root looks into every process")
def test_a_process_into_which_one_cannot_look_is_refused_with_an_agents_mark() -> None:
    with listening() as server, visitor(server, "marked", "hidden") as (_, client):
        assert "agent" in peers.refusal(client, server.getsockname(), ())


def test_a_persons_process_into_which_one_cannot_look_is_let_in_while_a_shim_is_one_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with listening() as server, visitor(server) as (process, client), visitor(server) as (shim, _):
        # Root looks into every process: this is what another user's panel finds.
        monkeypatch.setattr(peers, "holders", lambda _: Holders([], [process.pid, shim.pid], settled=True))
        assert peers.refusal(client, server.getsockname(), [shim.pid]) == ""


def test_a_process_that_starts_others_meanwhile_is_let_in_as_often_as_it_is_looked_at() -> None:
    """Each child holds the connection as well until it is another program, and can end before it is judged."""
    with listening() as server, visitor(server, "forking") as (_, client):
        assert {peers.refusal(client, server.getsockname(), ()) for _ in range(100)} == {""}


def test_who_may_have_left_a_connection_to_a_child_is_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    with listening() as server, visitor(server) as (process, client), visitor(server, "marked") as (agents, _):
        looks = [Holders([], [process.pid], settled=False), Holders([], [process.pid, agents.pid], settled=True)]
        monkeypatch.setattr(peers, "holders", lambda _: looks.pop(0))
        assert "agent" in peers.refusal(client, server.getsockname(), ())
        assert looks == []


def test_a_connection_whose_possible_holders_end_on_and_on_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with listening() as server, visitor(server) as (process, client):
        monkeypatch.setattr(peers, "holders", lambda _: Holders([], [process.pid], settled=False))
        assert "cannot be determined" in peers.refusal(client, server.getsockname(), ())


def test_a_connection_whose_process_has_gone_is_refused() -> None:
    with listening() as server:
        with visitor(server) as (process, client):
            process.kill()
            process.wait()
            assert "has gone" in peers.refusal(client, server.getsockname(), ())
        assert "has gone" in peers.refusal(("127.0.0.1", 1), server.getsockname(), ())


def test_a_client_that_speaks_ipv4_through_an_ipv6_socket_is_found() -> None:
    with listening() as server, socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as client:
        client.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        client.connect(("::ffff:127.0.0.1", server.getsockname()[1]))
        connection, address = server.accept()
        with connection:
            assert peers.refusal(address, server.getsockname(), ()) == ""
