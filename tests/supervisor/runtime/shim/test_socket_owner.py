"""Processes that hold the other end of a loopback connection, by real ones."""

import os
import socket

from supervisor.runtime.shim.socket_owner import HeldSocket, first_holder, holders, socket_of


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


def test_a_socket_that_nobody_holds_has_no_holder() -> None:
    assert first_holder(HeldSocket(0, os.getuid())) == 0
