"""Records posted to a real HTTP server."""

import socket
import threading
from typing import Any

import pytest

from monitors.contract import anyjson
from supervisor.config.sections.exporters import ExporterSettings
from supervisor.protocol.export import ExportRecord, RefusedRecordsError
from supervisor.runtime.exporters.http import HttpExporter
from supervisor.testing.exporters import check_exporter, some_records
from tests.supervisor.runtime.exporters.collector import Collector, collecting


def settings(collector: Collector, **more: Any) -> ExporterSettings:
    return ExporterSettings.model_validate({"name": "siem", "type": "http", "to": collector.url, **more})


def test_a_batch_is_one_body_with_a_line_for_each_record_and_the_headers_that_were_given() -> None:
    with collecting() as collector:
        HttpExporter(settings(collector, headers={"Authorization": "Bearer x"})).send(some_records(3))
        assert collector.numbers() == [1, 2, 3]
        assert collector.headers[0]["authorization"] == "Bearer x"
        assert collector.headers[0]["content-type"] == "application/x-ndjson"


def test_an_incident_carries_the_records_number() -> None:
    record = ExportRecord(17, 1.0, "a1", "fault_seen", b'{"id":"a1-17"}', {"id": "a1-17"})
    with collecting() as collector:
        HttpExporter(settings(collector)).send([record])
        assert anyjson.decode(collector.bodies[0]) == {"n": 17, "id": "a1-17"}


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_body_that_the_server_will_never_take_is_refused(status: int) -> None:
    with collecting() as collector:
        collector.answers.append((status, b"no"))
        with pytest.raises(RefusedRecordsError, match=f"answered {status}: 'no'"):
            HttpExporter(settings(collector)).send(some_records(1))


@pytest.mark.parametrize("status", [302, 307, 401, 403, 404, 407, 408, 429, 500, 503])
def test_what_somebody_can_mend_at_the_destination_is_an_error_and_no_refusal(status: int) -> None:
    with collecting() as collector:
        collector.answers.append((status, b""))
        exporter = HttpExporter(settings(collector))
        with pytest.raises(OSError, match=f"answered {status}"):
            exporter.send(some_records(1))
        exporter.send(some_records(1))
        assert collector.numbers() == [1]


@pytest.mark.parametrize("status", [401, 422])
def test_no_error_shows_a_token_of_the_address(status: int) -> None:
    with collecting() as collector:
        wanted = settings(collector, to=f"{collector.url}/k3y?token=hunter2")
        collector.answers.append((status, b"Cannot POST /ingest/k3y?token=hunter2: token=hunter2 is no token"))
        with pytest.raises((OSError, RefusedRecordsError)) as raised:
            HttpExporter(wanted).send(some_records(1))
    said = str(raised.value)
    assert said.startswith(f"{collector.url.removesuffix('/ingest')} answered {status}: 'Cannot POST …")
    assert not {part for part in ("hunter2", "k3y") if part in said + repr(wanted)}


def test_a_server_that_is_not_there_is_an_error() -> None:
    with collecting() as collector:
        gone = settings(collector)
    with pytest.raises(OSError, match="Connection refused"):
        HttpExporter(gone).send(some_records(1))


def test_a_server_that_speaks_no_http_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def speak() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(b"220 mail.example ESMTP\r\n")

        threading.Thread(target=speak, daemon=True).start()
        to = f"http://127.0.0.1:{listening.getsockname()[1]}/"
        wanted = ExporterSettings.model_validate({"name": "siem", "type": "http", "to": to})
        with pytest.raises(OSError, match="answered with no HTTP"):
            HttpExporter(wanted).send(some_records(1))


def test_it_keeps_to_the_contract_of_exporters() -> None:
    with collecting() as collector:
        check_exporter(lambda: HttpExporter(settings(collector)))
