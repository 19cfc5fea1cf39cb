"""Records to an HTTP server, as lines of JSON."""

import urllib.request
from collections.abc import Mapping, Sequence
from email.message import Message
from http.client import HTTPException
from typing import IO
from urllib.error import HTTPError

from supervisor.config.sections.exporters import ExporterSettings
from supervisor.protocol.export import ExportRecord, RefusedRecordsError

REFUSALS = frozenset({400, 413, 422})
"""Statuses about the body (RFC 9110, 15.5): the same body gets the same answer for ever. All others concern the
address, the credentials or the moment, which a person or time mends: to pass records over for an expired token would
lose them."""

MOST_OF_AN_ANSWER = 300
"""Characters of an answer that an error quotes."""

MOST_ANSWER_BYTES = 1_048_576
"""Most of an answer that is read."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows none: what is sent has credentials."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> None:
        """Say that there is no other request to make."""


class Sender:
    """Posts bodies. A proxy is taken from the daemon's environment, as other programs do.

    Args:
        settings: Where to, and with which headers.
        kind: The content type.
    """

    def __init__(self, settings: ExporterSettings, kind: str) -> None:
        self._settings = settings
        self._headers = {**settings.headers, "content-type": kind}
        self._opener = urllib.request.build_opener(_NoRedirect)

    def post(self, body: bytes) -> bytes:
        """Send a body and return the answer's.

        Raises:
            RefusedRecordsError: The server says that it will never take it.
            OSError: It was not delivered.
        """
        request = urllib.request.Request(self._settings.to, body, self._headers, method="POST")  # noqa: S310 - http or https, as the configuration was checked
        try:
            with self._opener.open(request, timeout=self._settings.timeout_seconds) as answer:
                read: bytes = answer.read(MOST_ANSWER_BYTES)
        except HTTPError as error:
            with error:
                said = self._settings.masked(error.read(MOST_ANSWER_BYTES).decode(errors="replace"))[:MOST_OF_AN_ANSWER]
            what = f"{self._settings.server} answered {error.code}: {said!r}"
            if error.code in REFUSALS:
                raise RefusedRecordsError(what) from None
            raise OSError(what) from None
        except HTTPException as error:
            raise OSError(
                f"{self._settings.server} answered with no HTTP: {self._settings.masked(repr(error))}"
            ) from None
        return read


class HttpExporter:
    """Posts batches as `application/x-ndjson`: one record a line, each with its number as `n`."""

    def __init__(self, settings: ExporterSettings) -> None:
        self.name = settings.name
        self.wants = settings.what
        self.begins = settings.begin
        self.timeout_seconds = settings.timeout_seconds
        self._sender = Sender(settings, "application/x-ndjson")

    def send(self, records: Sequence[ExportRecord]) -> None:
        """Deliver a batch; raises like `Sender.post`."""
        self._sender.post(b"".join(numbered(record) + b"\n" for record in records))


def numbered(record: ExportRecord) -> bytes:
    """Return the line with the record's number in it, which a line of the incident log lacks."""
    has: Mapping[str, object] = record.data
    return record.line if has.get("n") == record.n else b'{"n":%d,%b' % (record.n, record.line[1:])
