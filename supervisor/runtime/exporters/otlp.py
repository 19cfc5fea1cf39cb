"""Records to an OpenTelemetry collector: OTLP over HTTP, in JSON, as logs."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from monitors.contract.words import Severity
from supervisor import __version__
from supervisor.config.sections.exporters import ExporterSettings
from supervisor.protocol.export import ExportRecord, RefusedRecordsError
from supervisor.runtime.exporters.http import Sender

SEVERITIES = {
    None: (9, "INFO"),
    Severity.LOW: (10, "INFO2"),
    Severity.MEDIUM: (13, "WARN"),
    Severity.HIGH: (17, "ERROR"),
    Severity.CRITICAL: (21, "FATAL"),
}
"""Numbers and short names of OpenTelemetry's log data model; None is what is no incident."""


class OtlpExporter:
    """Posts batches to a collector's address for logs, such as `http://127.0.0.1:4318/v1/logs`."""

    def __init__(self, settings: ExporterSettings) -> None:
        self.name = settings.name
        self.wants = settings.what
        self.begins = settings.begin
        self.timeout_seconds = settings.timeout_seconds
        self._sender = Sender(settings, "application/json")

    def send(self, records: Sequence[ExportRecord]) -> None:
        """Deliver a batch; raises like `Sender.post`.

        Raises:
            RefusedRecordsError: The collector took only a part: the protocol forbids to send any of it again (OTLP 1.x,
                Partial Success).
        """
        answer = self._sender.post(json.dumps(export_request(records), ensure_ascii=True).encode())
        refused, why = _refused(answer)
        if refused:
            raise RefusedRecordsError(
                f"the collector refused {refused} of {len(records)} records: {why}", of_taken=refused
            )


def export_request(records: Sequence[ExportRecord]) -> dict[str, Any]:
    """Return an `ExportLogsServiceRequest`."""
    resource = {"attributes": list(_attributes({"service.name": "chaperon", "service.version": __version__}))}
    scope = {"name": "chaperon.audit", "version": __version__}
    return {
        "resourceLogs": [
            {"resource": resource, "scopeLogs": [{"scope": scope, "logRecords": [_record(each) for each in records]}]}
        ]
    }


def _record(record: ExportRecord) -> dict[str, Any]:
    number, text = SEVERITIES[record.severity]
    nanos = str(max(0, round(record.at * 1_000_000)) * 1_000)  # to the microsecond; 64 bits go as text in this JSON
    about: Mapping[str, str | int] = {
        "chaperon.n": record.n,
        "chaperon.agent": record.agent,
        "event.name": f"chaperon.{record.kind}",
    }
    return {
        "timeUnixNano": nanos,
        "observedTimeUnixNano": nanos,
        "severityNumber": number,
        "severityText": text,
        "body": {"stringValue": record.line.decode()},
        "attributes": list(_attributes(about)),
    }


def _attributes(facts: Mapping[str, str | int]) -> Iterator[dict[str, Any]]:
    for key, value in facts.items():
        yield {"key": key, "value": {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}}


def _refused(body: bytes) -> tuple[int, str]:
    """How many records an answer says were rejected, and why; none where it says nothing that can be read."""
    try:
        partial = json.loads(body or b"{}").get("partialSuccess") or {}
        return int(partial.get("rejectedLogRecords") or 0), str(partial.get("errorMessage") or "no reason given")
    except (ValueError, AttributeError, TypeError):
        return 0, ""
