"""How fast the wire is: lines a second on one core, and a line of 16 MB.

usage: python -m tests.bench.bench_wire
"""

import sys
from time import perf_counter, process_time

import orjson

from supervisor.protocol.lines import LineSplitter
from supervisor.protocol.messages import parse
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


def report(name: str, stream: bytes) -> None:
    rate = lines_a_second(stream)
    mean = len(stream) / max(stream.count(b"\n"), 1)
    print(f"{name:<28} {rate:>10,.0f} lines/s {1e6 / rate:>8.1f} µs a line  (mean {mean:,.0f} bytes)")


def typical() -> list[bytes]:
    """What agents say, less the CLI's description of itself, which comes once a turn."""
    lines = [line for case in recorded_cases() for line in recorded(case)]
    return [line for line in lines if b'"subtype":"init"' not in line and b'"commands"' not in line]


def main() -> int:
    """Print the figures."""
    lines = typical()
    report("recorded lines", b"\n".join(lines) + b"\n")
    by_kind: dict[str, list[bytes]] = {}
    for line in lines:
        by_kind.setdefault(orjson.loads(line)["type"], []).append(line)
    for kind, several in sorted(by_kind.items()):
        report(f"  {kind}", b"\n".join(several) + b"\n")
    large = {
        "type": "user",
        "message": {"role": "user", "content": [{"type": "tool_result", "content": "x" * CONTENT}]},
    }
    stream = orjson.dumps(large) + b"\n"
    began = perf_counter()
    read(stream)
    print(f"{'one line of 16 MB':<28} {1e3 * (perf_counter() - began):>10.1f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
