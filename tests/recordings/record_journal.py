"""Add kinds of events to the recorded journal, which has one of every kind with every field set, and lines of a real CLI.

usage: python -m tests.recordings.record_journal

Later versions must read the file and write the same bytes. What stands in it stays, also where a field was added since,
because journals without the field exist.
"""

import dataclasses
import types
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from supervisor.protocol import events, records
from supervisor.runtime.journal.reader import segment_path

JOURNAL = segment_path(Path(__file__).parent / "journal", 1)

TEXT = "é 'quoted' \"twice\" \\ \n\x1b[31m \u2028 \udcff"
"""Of what hostile output has: other scripts, quotes, a newline, an escape sequence, a separator, half a character."""

SCALARS: dict[Any, Any] = {
    str: TEXT,
    int: 2**53 + 1,
    float: 1763712900.123456,
    bool: True,
    Any: {"any": [None, 1.5, TEXT]},
}


def filled(type_: Any) -> Any:
    """Return a value of a type that is no default of it, the same each time."""
    if type_ in SCALARS:
        return SCALARS[type_]
    if isinstance(type_, type) and dataclasses.is_dataclass(type_):
        hints = get_type_hints(type_)
        return type_(**{field.name: filled(hints[field.name]) for field in dataclasses.fields(type_)})
    if isinstance(type_, type) and issubclass(type_, Enum):
        return list(type_)[-1]
    origin, arguments = get_origin(type_), get_args(type_)
    if origin is Literal:
        return arguments[0]
    if origin in (Union, types.UnionType):
        return filled(next(one for one in arguments if one is not type(None)))
    if origin is tuple:
        return (filled(arguments[0]),) * 2 if arguments[-1] is Ellipsis else tuple(map(filled, arguments))
    if origin in (Mapping, dict):
        return {TEXT: filled(arguments[1])}
    raise TypeError(f"No value is known for {type_!r}; add it here.")


def main() -> None:
    """Write an event of each kind that the journal lacks behind the lines that are there."""
    header, *lines = JOURNAL.read_bytes().splitlines(keepends=True)
    kinds, previous = set[type[Any]](), records.line_hash(header)
    for n, line in enumerate(lines, 1):
        kinds.add(type(records.decode(line, n, previous).event))
        previous = records.line_hash(line)
    for kind in get_args(events.AnyEvent):
        if kind not in kinds:
            line, previous = records.encode(len(lines) + 1, filled(kind), previous)
            lines.append(line)
    JOURNAL.write_bytes(b"".join((header, *lines)))


if __name__ == "__main__":
    main()
