"""Processes that hold the other end of a loopback connection, by real ones."""

import os
import socket
import subprocess
from collections.abc import Callable

import pytest

from supervisor.runtime.shim import socket_owner
from supervisor.runtime.shim.socket_owner import HeldSocket, SocketAddress, first_holder, holders, socket_of

BOTH = pytest.mark.parametrize("find", [socket_owner._asked, socket_owner._listed], ids=["asked", "listed"])
Find = Callable[[SocketAddress, SocketAddress], HeldSocket | None]


@BOTH
def test_a_socket_is_found_by_its_two_ends(find: Find) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_INET6) as mapped:
        address = server.getsockname()
        mapped.connect(("::ffff:127.0.0.1", address[1]))
        with socket.create_connection(address) as client:
            for one in (client, mapped):
                found = find(("127.0.0.1", one.getsockname()[1]), address)
                assert found == HeldSocket(os.fstat(one.fileno()).st_ino, os.getuid())
        assert find(("127.0.0.1", 1), address) is None


@BOTH
def test_who_listens_on_the_port_of_a_client_that_is_gone_is_not_taken_for_it(find: Find) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_server(("127.0.0.1", 0)) as listens:
        assert find(listens.getsockname(), server.getsockname()) is None


def test_without_the_kernels_answer_the_table_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket_owner, "NETLINK_SOCK_DIAG", 31)  # a protocol that no kernel has
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        found = socket_of(client.getsockname(), server.getsockname())
        assert found == HeldSocket(os.fstat(client.fileno()).st_ino, os.getuid())


def test_the_holder_of_a_socket_is_found() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        with socket.create_connection(server.getsockname()) as client:
            found = socket_of(client.getsockname(), server.getsockname())
            assert found is not None
            assert found.uid == os.getuid()
            assert first_holder(found) == os.getpid()
            assert os.getpid() in holders(found).known
            address = client.getsockname()
        assert first_holder(found) == 0
        gone = socket_of(address, server.getsockname())
        assert gone is None or gone.inode == 0


def test_of_a_process_that_is_starting_another_one_the_child_is_not_taken_for_the_holder() -> None:
    """The child has all that its parent has open, until it becomes another program."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        found = socket_of(client.getsockname(), server.getsockname())
        assert found is not None
        starting = subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=[client.fileno()])
        try:
            assert starting.pid in holders(found).known
            assert first_holder(found) == os.getpid()
        finally:
            starting.communicate()


def test_a_process_that_has_ended_and_is_not_asked_for_yet_is_no_possible_holder() -> None:
    with subprocess.Popen(["true"]) as ended:
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
        assert socket_owner._uid(ended.pid) == -1
        assert ended.pid not in holders(HeldSocket(0, os.getuid())).hidden
    assert socket_owner._uid(os.getpid()) == os.getuid()


def test_a_look_at_all_processes_comes_to_an_end() -> None:
    assert holders(HeldSocket(0, os.getuid())).settled


def test_a_socket_that_nobody_holds_has_no_holder() -> None:
    assert first_holder(HeldSocket(0, os.getuid())) == 0
