"""Records for other programs, in the form that `audit.export_format` says: JSON lines, or CSV with a head."""

import csv
from collections.abc import Mapping
from datetime import UTC, datetime
from io import StringIO
from typing import Any, Literal

from monitors.contract import anyjson
from supervisor.cli.following import StreamLine
from supervisor.protocol.plain import harmless

Form = Literal["json", "csv"]

JOURNAL = ("n", "time", "agent", "kind", "facts")
"""Columns of events; `facts` is what each kind has of its own, as one JSON object."""

INCIDENTS = ("time", "severity", "agent", "type", "summary", "way_out", "issue", "report", "id", "seq")

_SEALS = frozenset({"m", "p", "c", "at", "mono"})
"""Fields of an event's line that only serve to check it, or that its columns have already."""


class Export:
    """Records as text, one a line, without the newline.

    Args:
        columns: `JOURNAL` or `INCIDENTS`.
        form: JSON passes them on as they are.
    """

    def __init__(self, columns: tuple[str, ...], form: Form) -> None:
        self._columns, self._form = columns, form

    def head(self) -> list[str]:
        """Return the lines before all records."""
        return [_row(self._columns)] if self._form == "csv" else []

    def lines(self, one: StreamLine) -> list[str]:
        """One record."""
        if self._form == "json":
            return [anyjson.legible(one.line).decode()]
        return [_row(_cells(one.record, self._columns))]


def _cells(record: Mapping[str, Any], columns: tuple[str, ...]) -> list[Any]:
    facts = {name: value for name, value in record.items() if name not in _SEALS and name not in columns}
    made = {"time": _time(record.get("at")), "facts": anyjson.dumps(facts).decode(), **record}
    return [_cell(made.get(name, "")) for name in columns]


def _time(at: object) -> str:
    try:
        moment = datetime.fromtimestamp(at, UTC)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError, OSError):  # whoever wrote the line had another idea of time
        return ""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _cell(value: Any) -> Any:
    """A text in one line, for readers that take a line for a record."""
    return harmless(value).replace("\n", "\\n").replace("\t", "\\t") if isinstance(value, str) else value


def _row(cells: Any) -> str:
    text = StringIO()
    csv.writer(text, lineterminator="").writerow(cells)
    return text.getvalue()
