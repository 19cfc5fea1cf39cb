"""Records as logs of OpenTelemetry, in the JSON of OTLP 1.x."""

import json
from dataclasses import replace
from typing import Any

import pytest

from monitors.contract.words import Severity
from supervisor.config.sections.exporters import ExporterSettings
from supervisor.protocol.export import RefusedRecordsError
from supervisor.runtime.exporters.otlp import OtlpExporter, export_request
from supervisor.testing.exporters import check_exporter, some_records
from tests.supervisor.runtime.exporters.collector import Collector, collecting


def exporter(collector: Collector) -> OtlpExporter:
    wanted = {"name": "otel", "type": "otlp", "to": collector.url}
    return OtlpExporter(ExporterSettings.model_validate(wanted))


def attributes(found: list[dict[str, Any]]) -> dict[str, Any]:
    return {each["key"]: next(iter(each["value"].values())) for each in found}


def test_the_request_has_the_shape_of_the_specification() -> None:
    record = replace(some_records(1)[0], at=1_763_712_900.5, agent="a3", severity=Severity.HIGH)
    (resource,) = export_request([record])["resourceLogs"]
    assert attributes(resource["resource"]["attributes"])["service.name"] == "chaperon"
    (scope,) = resource["scopeLogs"]
    (log,) = scope["logRecords"]
    assert log["timeUnixNano"] == "1763712900500000000"
    assert (log["severityNumber"], log["severityText"]) == (17, "ERROR")
    assert log["body"] == {"stringValue": record.line.decode()}
    assert attributes(log["attributes"]) == {
        "chaperon.n": "1", "chaperon.agent": "a3", "event.name": f"chaperon.{record.kind}",
    }  # fmt: skip


@pytest.mark.parametrize("severity", [None, *Severity])
def test_severities_rise_with_ours(severity: Severity | None) -> None:
    def number(of: Severity | None) -> int:
        (resource,) = export_request([replace(some_records(1)[0], severity=of)])["resourceLogs"]
        return int(resource["scopeLogs"][0]["logRecords"][0]["severityNumber"])

    assert number(severity) >= number(None)
    assert sorted(map(number, Severity)) == list(map(number, Severity))


def test_a_partial_success_is_a_refusal_with_its_reason() -> None:
    with collecting() as collector:
        said = {"partialSuccess": {"rejectedLogRecords": "1", "errorMessage": "too old"}}
        collector.answers.append((200, json.dumps(said).encode()))
        with pytest.raises(RefusedRecordsError, match="1 of 2 records: too old") as raised:
            exporter(collector).send(some_records(2))
        assert raised.value.of_taken == 1


@pytest.mark.parametrize("body", [b"", b"{}", b"[]", b"no json", b'{"partialSuccess":null}', b'{"partialSuccess":{}}'])
def test_any_other_success_is_one(body: bytes) -> None:
    with collecting() as collector:
        collector.answers.append((200, body))
        exporter(collector).send(some_records(2))
        assert len(collector.bodies) == 1


def test_it_keeps_to_the_contract_of_exporters() -> None:
    with collecting() as collector:
        check_exporter(lambda: exporter(collector))
