"""Records for other programs, in the form that `audit.export_format` says: JSON lines, or CSV with a head."""

import csv
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from io import StringIO
from typing import Any, Literal

import orjson

Form = Literal["json", "csv"]

JOURNAL = ("n", "time", "agent", "kind", "facts")
"""Columns of events; `facts` is what each kind has of its own, as one JSON object."""

INCIDENTS = ("time", "severity", "agent", "type", "summary", "way_out", "issue", "report", "id", "seq")

_SEALS = frozenset({"p", "c", "at", "mono"})
"""What an event's line has for checking it, and what its columns say already."""


async def exported(lines: AsyncIterator[bytes], columns: tuple[str, ...], form: Form) -> AsyncIterator[str]:
    """Yield the records as text, one a line, without the newline.

    Args:
        lines: Records as the daemon streams them.
        columns: `JOURNAL` or `INCIDENTS`.
        form: JSON passes them on as they are.
    """
    if form == "csv":
        yield _row(columns)
    async for line in lines:
        yield line.decode() if form == "json" else _row(_cells(orjson.loads(line), columns))


def _cells(record: Mapping[str, Any], columns: tuple[str, ...]) -> list[Any]:
    time = datetime.fromtimestamp(record["at"], UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    facts = {name: value for name, value in record.items() if name not in _SEALS and name not in columns}
    made = {"time": time, "facts": orjson.dumps(facts).decode(), **record}
    return [made.get(name, "") for name in columns]


def _row(cells: Any) -> str:
    text = StringIO()
    csv.writer(text, lineterminator="").writerow(cells)
    return text.getvalue()
