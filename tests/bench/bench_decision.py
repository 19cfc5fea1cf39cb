"""What a decision takes within the daemon, and what the daemon weighs with ten agents and with each further one.

usage: python -m tests.bench --only decision

The daemon's own part of a decision begins with the line that asks, and ends as the answer is given to the shim's socket: review,
detectors, the fold and the write of the journal are in it, and neither shim nor CLI. The weights are the most of a run of stand-ins.
"""

import tempfile
from pathlib import Path

import anyio
import pytest

from supervisor.protocol import events
from supervisor.runtime.processes.shim_client import ShimClient
from tests.bench.bench_fleet import play, prepare
from tests.bench.bench_start import serving
from tests.bench.figures import Figure, middle, percentile
from tests.stages.daemon import Base, ended, served

ROUNDS = 60
COMMANDS = (
    "ls -la src/part{n}",
    "python3 -m pytest tests/test_{n}.py -x 2>&1 | tail -20",
    "git add -A && git commit -m 'Mend sum {n}'",
    "cd src && grep -rn 'def main{n}' . | head",
    "sed -n '{n},40p' src/part.py",
)
"""Each is another one each time; none of them is met before."""

FEW, MORE = 10, 60
"""Agents of the two runs whose weights are compared."""
CALLS, PAUSE_SECONDS = 6, 1.0


async def own_part(root: Path) -> list[float]:
    """Have one agent make its calls; return the seconds of each decision."""
    base = Base(root, {"checkpoints": {"enabled": False}, "interventions": {"enabled": False}})
    base.plan(*(command.replace("{n}", str(number)) for number in range(ROUNDS) for command in COMMANDS))
    asked: dict[str, float] = {}
    taken: list[float] = []

    def saw(event: events.AnyEvent) -> None:
        frame = event.frame if isinstance(event, events.LineReceived) else None
        if frame is not None and frame.get("request", {}).get("input", {}).get("hook_event_name") == "PreToolUse":
            asked[f"answer:{frame['request_id']}"] = event.mono

    with pytest.MonkeyPatch.context() as patched:
        async with served(base) as (daemon, _):
            send = ShimClient.send_line

            def timed(self: ShimClient, key: str, line: bytes) -> None:
                send(self, key, line)
                if key in asked:
                    taken.append(daemon.mono() - asked.pop(key))

            patched.setattr(ShimClient, "send_line", timed)
            daemon.watchers.append(saw)
            await daemon.submit(base.submission(), by="bench")
            await ended(daemon)
    return taken


def weight(agents: int) -> float:
    """The most megabytes of a daemon with so many agents at work."""
    with tempfile.TemporaryDirectory(prefix="chaperon-bench-") as place:
        base = Path(place)
        repositories = prepare(base, agents, CALLS, PAUSE_SECONDS)
        with serving(base, CHAPERON_AGENT__COMMAND=str(base / "claude")) as (daemon, _):
            return anyio.run(play, base / "run" / "chaperon.sock", repositories, base, daemon.pid).most_megabytes


def main() -> list[Figure]:
    """Measure."""
    with tempfile.TemporaryDirectory(prefix="chaperon-bench-") as place:
        taken = anyio.run(own_part, Path(place))
    assert len(taken) == ROUNDS * len(COMMANDS)
    few, more = weight(FEW), weight(MORE)
    return [
        Figure("the daemon's own part of a decision, median", middle(taken) * 1e3, "ms", 1.0),
        Figure("the daemon's own part of a decision, 99th percentile", percentile(taken, 0.99) * 1e3, "ms"),
        Figure(f"resident memory of the daemon with {FEW} agents at work", few, "MB", 80),
        Figure("… of each further agent", (more - few) / (MORE - FEW), "MB", 0.3),
    ]


if __name__ == "__main__":
    print(*main(), sep="\n")
