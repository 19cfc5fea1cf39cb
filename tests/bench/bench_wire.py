"""How fast the wire is: lines a second on one core, and a line of 16 MB.

usage: python -m tests.bench --only wire
"""

from time import perf_counter, process_time

import orjson

from supervisor.protocol.claude.messages import parse
from supervisor.protocol.lines import LineSplitter
from tests.bench.figures import Figure
from tests.support import recorded, recorded_cases

READ_BYTES = 65_536
"""What one read of a pipe brings."""

SECONDS = 1.0
"""How much processor time each figure gets: others on the machine slow it down less than they would wall time."""

CONTENT = 16 << 20


def read(stream: bytes) -> int:
    """Cut the stream into lines, parse each, and return how many there were."""
    splitter = LineSplitter()
    lines = 0
    for start in range(0, len(stream), READ_BYTES):
        for line in splitter.feed(stream[start : start + READ_BYTES]):
            parse(line.data)  # type: ignore[union-attr]  # none is over the cap
            lines += 1
    return lines


def lines_a_second(stream: bytes) -> float:
    """Read the stream again and again for the measured time."""
    began, lines = process_time(), 0
    while (took := process_time() - began) < SECONDS:
        lines += read(stream)
    return lines / took


def report(name: str, stream: bytes) -> float:
    """Print a line about a stream, and return its rate."""
    rate = lines_a_second(stream)
    mean = len(stream) / max(stream.count(b"\n"), 1)
    print(f"{name:<28} {rate:>10,.0f} lines/s {1e6 / rate:>8.1f} µs a line  (mean {mean:,.0f} bytes)")
    return rate


def typical() -> list[bytes]:
    """What agents say, less the CLI's description of itself, which comes once a turn."""
    lines = [line for case in recorded_cases() for line in recorded(case)]
    return [line for line in lines if b'"subtype":"init"' not in line and b'"commands"' not in line]


def main() -> list[Figure]:
    """Print the figures."""
    lines = typical()
    rate = report("recorded lines", b"\n".join(lines) + b"\n")
    by_kind: dict[str, list[bytes]] = {}
    for line in lines:
        by_kind.setdefault(orjson.loads(line)["type"], []).append(line)
    for kind, several in sorted(by_kind.items()):
        report(f"  {kind}", b"\n".join(several) + b"\n")
    return [
        Figure("wire alone: split, decode, parse, one core", rate, "lines/s", 50_000, True),
        Figure("a line of 16 MB through the wire", large_line_milliseconds(), "ms"),
    ]


def large_line_milliseconds() -> float:
    """What a line of 16 MB takes."""
    large = {
        "type": "user",
        "message": {"role": "user", "content": [{"type": "tool_result", "content": "x" * CONTENT}]},
    }
    stream = orjson.dumps(large) + b"\n"
    began = perf_counter()
    read(stream)
    return 1e3 * (perf_counter() - began)


if __name__ == "__main__":
    print(*main(), sep="\n")
