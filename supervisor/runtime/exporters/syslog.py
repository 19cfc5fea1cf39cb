"""Records to syslog: of this machine by its Unix socket, of another by UDP, TCP or TLS."""

import os
import re
import socket
import ssl
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from monitors.contract import anyjson
from monitors.contract.words import Severity
from supervisor.config.sections.exporters import ExporterSettings
from supervisor.protocol.export import ExportRecord

LOCAL0 = 16
"""The facility: the first of those for local use (RFC 5424, 6.2.1)."""

LEVELS = {
    None: 6,
    Severity.LOW: 5,
    Severity.MEDIUM: 4,
    Severity.HIGH: 3,
    Severity.CRITICAL: 2,
}
"""Informational for what is no incident; from notice to critical for incidents."""

MOST_BYTES = {"udp": 2_048, "unix": 65_536, "tcp": 1_048_576, "tls": 1_048_576}
"""Longest message, by transport: the size that every receiver of UDP should take (RFC 5424, 6.1); a third of a Unix
socket's default buffer; and for streams, of which receivers take less as a rule, a size that one line of a journal
seldom passes. A longer record is sent without its long parts, and says so."""

PORTS = {"udp": 514, "tcp": 601, "tls": 6514}
"""Port of a service if its address has none (RFC 5426, RFC 6587, RFC 5425)."""


class SyslogExporter:
    """Sends each record as one message, its line of JSON as the text.

    Nothing of syslog confirms a message, so a message dropped by UDP or a full socket is lost. TCP and TLS lose at most
    the messages under way as the other side went.
    """

    def __init__(self, settings: ExporterSettings) -> None:
        self.name = settings.name
        self.wants = settings.what
        self.begins = settings.begin
        self.timeout_seconds = settings.timeout_seconds
        parts = urlsplit(settings.to)
        self._transport = parts.scheme
        self._path = parts.path
        self._address = (parts.hostname or "", parts.port or PORTS.get(parts.scheme, 0))
        self._host = socket.gethostname()
        self._connection: socket.socket | None = None

    def send(self, records: Sequence[ExportRecord]) -> None:
        """Deliver a batch.

        Raises:
            OSError: It was not delivered, or not all of it.
        """
        try:
            connection = self._connected()
            for record in records:
                message = self.message(record)
                if self._transport in ("tcp", "tls"):
                    connection.sendall(b"%d %b" % (len(message), message))  # counted octets (RFC 6587, 3.4.1)
                else:
                    connection.send(message)
        except OSError:
            self.close()
            raise

    def message(self, record: ExportRecord) -> bytes:
        """Return the message of a record, within what the transport takes."""
        most = MOST_BYTES[self._transport]
        whole = self._framed(record, record.line)
        if len(whole) <= most:
            return whole
        short = {"n": record.n, "at": record.at, "agent": record.agent, "kind": record.kind, "cut": len(record.line)}
        return self._framed(record, anyjson.dumps(short))[:most]

    def _framed(self, record: ExportRecord, text: bytes) -> bytes:
        priority = LOCAL0 * 8 + LEVELS[record.severity]
        moment = datetime.fromtimestamp(max(0.0, min(record.at, 253_402_300_799.0)), UTC)
        if self._transport == "unix":  # what the C library's syslog(3) writes: local daemons add the rest
            stamp = f"{moment.astimezone():%b} {moment.astimezone().day:2d} {moment.astimezone():%H:%M:%S}"
            return f"<{priority}>{stamp} chaperon[{os.getpid()}]: ".encode() + text
        stamp = moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        data = f'[meta sequenceId="{record.n % 2_147_483_647}"]'
        head = f"<{priority}>1 {stamp} {_word(self._host, 255)} chaperon {os.getpid()} {_word(record.kind, 32)} {data} "
        return head.encode() + text

    def _connected(self) -> socket.socket:
        if self._connection is None:
            self._connection = self._connect()
        return self._connection

    def _connect(self) -> socket.socket:
        if self._transport in ("tcp", "tls"):
            stream = socket.create_connection(self._address, self.timeout_seconds)
            if self._transport == "tcp":
                return stream
            with ExitStack() as stack:
                stack.enter_context(stream)
                made = ssl.create_default_context().wrap_socket(stream, server_hostname=self._address[0])
                stack.pop_all()
            return made
        address: Any = self._path
        family, kind, protocol = socket.AF_UNIX, socket.SOCK_DGRAM, 0
        if self._transport == "udp":
            family, kind, protocol, _, address = socket.getaddrinfo(*self._address, type=socket.SOCK_DGRAM)[0]
        with ExitStack() as stack:
            remote = stack.enter_context(socket.socket(family, kind, protocol))
            remote.settimeout(self.timeout_seconds)
            remote.connect(address)
            stack.pop_all()
        return remote

    def close(self) -> None:
        """Close the connection; the next batch makes another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def _word(text: str, most: int) -> str:
    """Return a text as a field of a message's head: printable ASCII without spaces, `-` for none (RFC 5424, 6)."""
    return re.sub(r"[^!-~]", "?", text)[:most] or "-"
