"""Journals made by hand, to be damaged."""

from pathlib import Path

from supervisor.protocol import records
from supervisor.protocol.events import TimerFired
from supervisor.runtime.journal.reader import segment_path


def write_journal(directory: Path, *sizes: int) -> list[bytes]:
    """Write one file for each size, with so many records; return the records' lines."""
    lines, previous, n = [], records.ORIGIN, 0
    for size in sizes:
        header, previous = records.encode_header(n + 1, previous)
        parts, path = [header], segment_path(directory, n + 1)
        for _ in range(size):
            n += 1
            line, previous = records.encode(n, TimerFired(agent="a", at=1.0, mono=float(n), name=f"t{n}"), previous)
            parts.append(line)
            lines.append(line)
        path.write_bytes(b"".join(parts))
    return lines
