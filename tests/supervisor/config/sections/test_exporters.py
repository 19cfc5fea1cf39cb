"""Destinations of the audit record: what a configuration may say."""

from typing import Any

import pytest
from pydantic import ValidationError

from supervisor.config.model import Config
from supervisor.config.sections.exporters import ExporterSettings


def settings(**wanted: Any) -> ExporterSettings:
    return ExporterSettings.model_validate({"name": "siem", **wanted})


@pytest.mark.parametrize(
    ("type_", "to"),
    [("syslog", "unix:///dev/log"), ("syslog", "udp://logs:514"), ("syslog", "tcp://[::1]:601"), ("syslog", "tls://logs"),
     ("otlp", "http://127.0.0.1:4318/v1/logs"), ("http", "https://siem.example/in?x=1")],
)  # fmt: skip
def test_addresses_that_fit_their_type_are_taken(type_: str, to: str) -> None:
    assert settings(type=type_, to=to).to == to


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        ({"type": "http", "to": "siem.example"}, "no address for http"),
        ({"type": "http", "to": "udp://siem.example"}, "begins with http or https"),
        ({"type": "syslog", "to": "https://siem.example"}, "begins with unix or udp or tcp or tls"),
        ({"type": "syslog", "to": "unix://dev/log"}, "no absolute path"),
        ({"type": "syslog", "to": "unix:dev/log"}, "no absolute path"),
        ({"type": "otlp", "to": "http:///v1/logs"}, "names no host"),
        ({"type": "http", "to": "https://ann:hunter2@siem.example/"}, "into headers"),
        ({"type": "syslog", "to": "udp://logs", "headers": {"a": "b"}}, "knows no headers"),
        ({"type": "http", "to": "https://siem.example", "name": "My SIEM"}, "name"),
        ({"type": "kafka", "to": "https://siem.example"}, "type"),
        ({"type": "http", "to": "https://siem.example:99999/"}, "Port out of range"),
    ],
)
def test_what_cannot_be_is_refused(wanted: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        settings(**wanted)


def test_headers_are_never_shown() -> None:
    made = settings(type="http", to="https://siem.example", headers={"Authorization": "Bearer hunter2"})
    assert "hunter2" not in repr(made)
    assert "hunter2" not in repr(Config.model_validate({"audit": {"exporters": [made.model_dump()]}}))
