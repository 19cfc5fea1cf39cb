"""Messages on real sockets, read as the documents say."""

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from queue import Queue

import pytest

from monitors.contract import anyjson
from monitors.contract.words import Severity
from supervisor.config.sections.exporters import ExporterSettings
from supervisor.runtime.exporters.syslog import MOST_BYTES, SyslogExporter
from supervisor.testing.exporters import check_exporter, some_records

RFC5424 = re.compile(
    rb'<(\d+)>1 (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) (\S+) chaperon (\d+) (\S+) \[meta sequenceId="(\d+)"\] (\{.*\})'
)


def exporter(to: str) -> SyslogExporter:
    wanted = {"name": "siem", "type": "syslog", "to": to, "timeout_seconds": 5}
    return SyslogExporter(ExporterSettings.model_validate(wanted))


@contextmanager
def datagrams(path: Path | None = None) -> Iterator[tuple[str, socket.socket]]:
    with socket.socket(socket.AF_UNIX if path else socket.AF_INET, socket.SOCK_DGRAM) as listening:
        listening.settimeout(10)
        listening.bind(str(path) if path else ("127.0.0.1", 0))
        yield f"unix://{path}" if path else f"udp://127.0.0.1:{listening.getsockname()[1]}", listening


@contextmanager
def stream() -> Iterator[tuple[str, "Queue[bytes]"]]:
    """A server of counted octets: the messages of all connections."""
    messages: Queue[bytes] = Queue()
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                with connection, connection.makefile("rb") as file:
                    while count := _count(file.read):
                        messages.put(file.read(count))

        threading.Thread(target=serve, daemon=True).start()
        yield f"tcp://127.0.0.1:{listening.getsockname()[1]}", messages
        listening.shutdown(socket.SHUT_RDWR)


def _count(read: object) -> int:
    digits = b""
    while (byte := read(1)) not in (b" ", b""):  # type: ignore[operator]  # of a file
        digits += byte
    return int(digits or 0)


def test_a_message_by_udp_is_one_of_rfc_5424() -> None:
    with datagrams() as (to, listening):
        record = replace(some_records(1)[0], severity=Severity.CRITICAL, n=17, kind="incident_opened")
        with closing(exporter(to)) as made:
            made.send([record])
        found = RFC5424.fullmatch(listening.recv(70_000))
        assert found is not None
        assert (found[1], found[5], found[6]) == (b"130", b"incident_opened", b"17")
        assert anyjson.decode(found[7]) == record.data


def test_a_message_to_this_machines_daemon_is_what_the_c_library_writes(tmp_path: Path) -> None:
    with datagrams(tmp_path / "log") as (to, listening):
        with closing(exporter(to)) as made:
            made.send(some_records(1))
        message = listening.recv(70_000)
    assert re.match(rb"<134>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d chaperon\[\d+\]: \{", message)


def test_messages_by_tcp_are_counted_and_go_by_one_connection() -> None:
    with stream() as (to, messages):
        made = exporter(to)
        made.send(some_records(3))
        made.send(some_records(1))
        found = [RFC5424.fullmatch(messages.get(timeout=10)) for _ in range(4)]
        assert [match[6] for match in found if match] == [b"1", b"2", b"3", b"1"]
        made.close()


def test_a_connection_that_broke_is_made_anew() -> None:
    with stream() as (to, messages):
        made = exporter(to)
        made.send(some_records(1))
        messages.get(timeout=10)
        assert made._connection is not None
        made._connection.shutdown(socket.SHUT_RDWR)
        with pytest.raises(BrokenPipeError):
            made.send(some_records(2))
        made.send(some_records(2))
        assert len([messages.get(timeout=10) for _ in range(2)]) == 2
        made.close()


@pytest.mark.parametrize("transport", MOST_BYTES)
def test_a_record_that_is_too_long_goes_without_what_makes_it_long(transport: str) -> None:
    to = {"unix": "unix:///dev/log"}.get(transport, f"{transport}://127.0.0.1:9")
    (record,) = some_records(1)
    long = replace(record, line=b'{"n":1,"text":"' + b"x" * MOST_BYTES[transport] + b'"}')
    message = exporter(to).message(long)
    assert len(message) <= MOST_BYTES[transport]
    assert anyjson.decode(message[message.index(b"{") :])["cut"] == len(long.line)


@pytest.mark.parametrize("at", [-5.0, 0.0, 1e18, 253_402_300_799.0])
def test_any_moment_makes_a_message(at: float) -> None:
    (record,) = some_records(1)
    assert exporter("udp://127.0.0.1:9").message(replace(record, at=at)).startswith(b"<134>1 ")
    assert exporter("unix:///dev/log").message(replace(record, at=at)).startswith(b"<134>")


@pytest.mark.parametrize(("kind", "field"), [("", b"-"), ("a b\n<13>", b"a?b?<13>"), ("zw\u00f6lf", b"zw?lf")])
def test_no_kind_breaks_the_head_of_a_message(kind: str, field: bytes) -> None:
    found = RFC5424.fullmatch(exporter("udp://127.0.0.1:9").message(replace(some_records(1)[0], kind=kind)))
    assert found is not None
    assert found[5] == field


def test_nobody_at_the_socket_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        exporter(f"unix://{tmp_path}/missing").send(some_records(1))


def test_it_keeps_to_the_contract_of_exporters() -> None:
    with stream() as (to, _):
        check_exporter(lambda: exporter(to))
