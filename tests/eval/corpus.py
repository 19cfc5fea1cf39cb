"""Reads the corpora: one JSON object a line."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import orjson


@dataclass(frozen=True, slots=True)
class Row:
    """One command, with what somebody thinks of it."""

    command: str
    source: str
    group: str = ""
    deny: bool = False


def labelled(directory: Path) -> list[Row]:
    """The commands that somebody labelled."""
    return [
        Row(row["command"], row["source"], row.get("group") or "", row["expected"] == "deny")
        for row in _rows(directory / "labelled.jsonl")
    ]


def unlabelled(directory: Path) -> list[Row]:
    """Ordinary commands that people look up."""
    return [Row(row["command"], row["source"]) for row in _rows(directory / "unlabelled.jsonl")]


def _rows(path: Path) -> Iterator[dict[str, str]]:
    with path.open("rb") as lines:
        for line in lines:
            yield orjson.loads(line)
