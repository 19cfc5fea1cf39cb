"""The configuration of what is sent to other systems as it happens."""

from collections.abc import Mapping
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import Field, model_validator

from monitors.contract.bounds import Seconds
from supervisor.config.sections.base import Section

SCHEMES: Mapping[str, tuple[str, ...]] = {
    "syslog": ("unix", "udp", "tcp", "tls"),
    "otlp": ("http", "https"),
    "http": ("http", "https"),
}
"""Beginnings of addresses, by type of exporter."""


class ExporterSettings(Section):
    """One destination of the audit record.

    Records are delivered at least once and in order. The position is kept in the state directory. A destination that
    does not answer is tried again, at growing intervals of a minute at most, and a restart continues at the position.
    """

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]*$")]
    """The key of its position, and its name in incidents and metrics: lower case letters, digits, hyphens and
    underscores. A new name begins anew."""
    type: Literal["syslog", "otlp", "http"]
    """`syslog`: one message a record. `otlp`: logs of OpenTelemetry, over HTTP in JSON. `http`: lines of JSON,
    posted."""
    to: str = Field(repr=False)
    """The address; its path and query are never shown, since they may hold a token. For syslog `unix:///dev/log`,
    `udp://host:514`, `tcp://host:601` or `tls://host:6514`; for otlp the collector's address for logs,
    `http://127.0.0.1:4318/v1/logs`; for http any address."""
    what: Literal["journal", "incidents"] = "journal"
    """All that happens, or what is worth a person's eye alone."""
    begin: Literal["now", "start"] = "now"
    """The start of a new exporter: at the present, or at the journal's first record."""
    headers: dict[str, str] = Field(default={}, repr=False)
    """HTTP headers, such as `Authorization`; never shown."""
    timeout_seconds: Seconds = 10
    """How long one delivery may take, in seconds."""

    @model_validator(mode="after")
    def _fits(self) -> "ExporterSettings":
        schemes = SCHEMES[self.type]
        parts = urlsplit(self.to)
        if parts.scheme not in schemes:
            raise ValueError(f"to is no address for {self.type}; it begins with {' or '.join(schemes)} and ://")
        _ = parts.port  # raises for what is no port
        if parts.scheme == "unix" and (parts.netloc or not parts.path.startswith("/")):
            raise ValueError("to names no absolute path; write unix:///dev/log")
        if parts.scheme != "unix" and not parts.hostname:
            raise ValueError("to names no host")
        if parts.username is not None:
            raise ValueError("to has a user in it; put user and password into headers, as Authorization")
        if self.headers and self.type == "syslog":
            raise ValueError("syslog knows no headers")
        return self

    @property
    def server(self) -> str:
        """The address as errors show it: without path and query. Example: `https://siem.example:8088`."""
        parts = urlsplit(self.to)
        return f"{parts.scheme}://{parts.netloc}"

    def masked(self, text: str) -> str:
        """Return a text that a server sent, without the address's path and query, which servers quote in errors."""
        parts = urlsplit(self.to)
        for secret in (self.to, f"{parts.path}?{parts.query}", parts.query, parts.path):
            text = text.replace(secret, "…") if len(secret) > 1 else text
        return text
