"""Write the recorded journal: one event of every kind with every field set, then lines of the real CLI.

usage: python -m tests.recordings.record_journal

Later versions must read the file and write the same bytes. It is recorded anew only if a kind of event was added; for a
field that was added it stays, because journals without the field exist.
"""

import dataclasses
import types
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from monitors.contract import anyjson
from supervisor.protocol import events, records
from supervisor.runtime.journal.reader import segment_path
from tests.support import recorded

JOURNAL = segment_path(Path(__file__).parent / "journal", 1)

TEXT = "é 'quoted' \"twice\" \\ \n\x1b[31m \u2028 \udcff"
"""Of what hostile output has: other scripts, quotes, a newline, an escape sequence, a separator, half a character."""

CASES = ("asked_permission", "subagent")
"""Recordings whose lines are in the journal: between them they have most kinds of frames."""

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


def recorded_events() -> list[events.AnyEvent]:
    """Return the events of the recorded journal, in order."""
    found: list[events.AnyEvent] = [filled(kind) for kind in get_args(events.AnyEvent)]
    end = 0
    for number, line in enumerate(line for case in CASES for line in recorded(case)):
        end += len(line) + 1
        frame = anyjson.loads(line)
        found.append(
            events.LineReceived(agent="a1", at=1763712900.5 + number, mono=float(number), end=end, frame=frame)
        )
    return found


def main() -> None:
    line, previous = records.encode_header(1, records.ORIGIN)
    written = [line]
    for n, event in enumerate(recorded_events(), 1):
        line, previous = records.encode(n, event, previous)
        written.append(line)
    JOURNAL.parent.mkdir(exist_ok=True)
    JOURNAL.write_bytes(b"".join(written))


if __name__ == "__main__":
    main()
