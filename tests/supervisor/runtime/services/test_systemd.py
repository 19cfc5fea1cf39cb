import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from supervisor.runtime.services.systemd import MAX_STATUS, ActivationError, Notifier, listen_sockets, watchdog_interval


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[socket.socket]:
    """What systemd is to us: a bound datagram socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
        channel.bind(str(tmp_path / "notify"))
        channel.settimeout(60)
        yield channel


def address(channel: socket.socket) -> str:
    name = channel.getsockname()
    return name if isinstance(name, str) else "@" + name[1:].decode()


def test_each_message_is_one_datagram_of_the_protocol(manager: socket.socket) -> None:
    notifier = Notifier(address(manager))
    assert all([
        notifier.ready("2 agents"), notifier.watchdog(), notifier.status("busy"), notifier.extend(5), notifier.stopping(),
    ])  # fmt: skip
    assert [manager.recv(4096) for _ in range(5)] == [
        b"READY=1\nSTATUS=2 agents", b"WATCHDOG=1", b"STATUS=busy", b"EXTEND_TIMEOUT_USEC=5", b"STOPPING=1",
    ]  # fmt: skip


def test_a_name_that_begins_with_an_at_sign_is_an_abstract_socket() -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(f"\0chaperon-test-{os.getpid()}")
        manager.settimeout(60)
        assert Notifier(address(manager)).ready()
        assert manager.recv(100) == b"READY=1"


def test_a_status_cannot_smuggle_in_another_field_nor_outgrow_a_datagram(manager: socket.socket) -> None:
    notifier = Notifier(address(manager))
    notifier.status("a\nMAINPID=1")
    notifier.status("x" * 1_000_000)
    assert manager.recv(4096) == b"STATUS=a MAINPID=1"
    assert len(manager.recv(4096)) == MAX_STATUS + len("STATUS=")


def test_without_a_manager_nothing_is_sent() -> None:
    notifier = Notifier.from_environment({})
    assert not notifier.listening
    assert not notifier.ready()


def test_the_address_is_taken_out_of_the_environment() -> None:
    environ = {"NOTIFY_SOCKET": "/x", "A": "1"}
    assert Notifier.from_environment(environ).listening
    assert environ == {"A": "1"}


def test_a_manager_that_went_away_is_no_error(tmp_path: Path) -> None:
    assert not Notifier(str(tmp_path / "gone")).ready()


def test_a_manager_that_does_not_read_cannot_stop_us(manager: socket.socket) -> None:
    notifier = Notifier(address(manager))
    answers = [notifier.status("x" * MAX_STATUS) for _ in range(2000)]
    assert answers[0]
    assert not answers[-1]


@pytest.mark.parametrize(
    ("environ", "seconds"),
    [
        ({"WATCHDOG_USEC": "30000000"}, 10.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "7"}, 10.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "8"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
        ({}, None),
    ],
)
def test_the_watchdog_is_fed_three_times_in_its_interval(environ: dict[str, str], seconds: float | None) -> None:
    assert watchdog_interval(environ, 7) == seconds


ACTIVATED = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
from supervisor.runtime.services.systemd import ActivationError, listen_sockets
os.environ["LISTEN_PID"] = str(os.getpid())
try:
    (handed,) = listen_sockets(os.environ, os.getpid())
except ActivationError as error:
    sys.exit(str(error))
left = sorted(name for name in os.environ if name.startswith("LISTEN"))
print(handed.name, handed.socket.getsockname(), os.get_inheritable(handed.socket.fileno()), left)
"""


def activate(handed: socket.socket) -> subprocess.CompletedProcess[str]:
    """Start a process as systemd does: the socket as descriptor 3."""
    return subprocess.run(
        [sys.executable, "-c", ACTIVATED, str(handed.fileno())],
        env={"LISTEN_FDS": "1", "LISTEN_FDNAMES": "chaperon"},
        pass_fds=[handed.fileno()], capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip


def test_a_socket_that_was_handed_over_is_taken_and_hidden_from_children(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "s"))
        listening.listen()
        done = activate(listening)
    assert done.stdout == f"chaperon {tmp_path}/s False []\n", done.stderr


def test_a_descriptor_that_is_no_listening_unix_socket_is_refused(tmp_path: Path) -> None:
    with socket.socket(socket.AF_INET) as other:
        assert "it is no Unix stream socket" in activate(other).stderr
    with socket.socket(socket.AF_UNIX) as idle:
        idle.bind(str(tmp_path / "s"))
        assert "it does not listen" in activate(idle).stderr


def test_sockets_meant_for_another_process_are_left_alone_and_the_variables_go() -> None:
    environ = {"LISTEN_FDS": "1", "LISTEN_PID": "8", "LISTEN_FDNAMES": "x"}
    assert listen_sockets(environ, 7) == ()
    assert environ == {}
    assert listen_sockets({}, 7) == ()


def test_a_count_that_is_no_number_is_refused() -> None:
    with pytest.raises(ActivationError, match="'many', which is no number"):
        listen_sockets({"LISTEN_FDS": "many", "LISTEN_PID": "7"}, 7)
