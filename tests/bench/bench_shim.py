"""What a shim costs and how fast a tree stands still and is gone. Run as a program; it prints figures and asserts none."""

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import anyio

from supervisor.runtime.processes.bounds import cgroups
from supervisor.runtime.processes.shim_client import ShimClient, ShimSpec
from supervisor.runtime.processes.shim_events import CliOutput, Frozen, ShimEvent, TreeKilled
from tests.bench.figures import Figure

ROUND_TRIPS = 2_000
TREE_SIZE = 20
REPEATS = 10
ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin"}


def resident_kib(pid: int) -> int:
    """Resident memory of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1])


async def until(shim: ShimClient, kind: type[ShimEvent]) -> ShimEvent:
    """The next event of a kind."""
    async for event in shim.events():
        if isinstance(event, kind):
            return event
    raise AssertionError(f"the agent ended without {kind.__name__}")


async def end(shim: ShimClient) -> TreeKilled:
    """End the agent and wait until its shim has gone."""
    shim.end_tree()
    ended = await until(shim, TreeKilled)
    async for _ in shim.events():
        pass
    assert isinstance(ended, TreeKilled)
    return ended


async def echo(directory: Path) -> list[Figure]:
    """Memory, start, and the way of a line to the CLI and back."""
    started = time.perf_counter()
    shim = await ShimClient.launch(ShimSpec("bench", directory, ["cat"], Path("/"), ENVIRONMENT))
    print(f"launch to hello          {(time.perf_counter() - started) * 1e3:8.1f} ms")
    micros = []
    for number in range(ROUND_TRIPS):
        sent = time.perf_counter()
        shim.send_line(f"k{number}", b"x" * 200 + b"\n")
        await until(shim, CliOutput)
        micros.append((time.perf_counter() - sent) * 1e6)
    print(f"echo round trip          {statistics.median(micros):8.0f} µs median, {sorted(micros)[-20]:.0f} µs p99")
    resident = resident_kib(shim.pid) / 1024
    await end(shim)
    return [
        Figure("resident memory of a shim", resident, "MB", 12),
        Figure("a line to the CLI and its echo back, median", statistics.median(micros), "µs"),
    ]


async def flood(directory: Path) -> None:
    """Output from a CLI that prints as fast as it can, to the file and to a reading daemon."""
    size = 200_000_000
    script = f"import os\nfor _ in range({size // 1_000_000}): os.write(1, b'x' * 1_000_000)"
    started, got = time.perf_counter(), 0
    shim = await ShimClient.launch(
        ShimSpec("bench", directory, [sys.executable, "-I", "-S", "-c", script], Path("/"), {})
    )
    async for event in shim.events():
        got += len(event.data) if isinstance(event, CliOutput) else 0
    print(f"output through the shim  {got / 1e6 / (time.perf_counter() - started):8.0f} MB/s")


async def tree(root: Path, groups: cgroups.Containment | None) -> list[Figure]:
    """Freeze and end a tree of twenty processes with sessions of their own, timed from the word to the shim's answer."""
    frozen, ended = [], []
    for number in range(REPEATS):
        name = f"bench-{number}"
        group = groups.make(name) if groups else None
        script = f"for i in $(seq {TREE_SIZE - 1}); do setsid sleep 300 & done; echo up; read x"
        directory = root / f"{'group' if groups else 'walk'}-{number}"
        shim = await ShimClient.launch(
            ShimSpec(name, directory, ["sh", "-c", script], Path("/"), ENVIRONMENT, cgroup=group)
        )
        await until(shim, CliOutput)
        began = time.perf_counter()
        shim.freeze("f1")
        await until(shim, Frozen)
        frozen.append((time.perf_counter() - began) * 1e3)
        shim.thaw()
        began = time.perf_counter()
        await end(shim)
        ended.append((time.perf_counter() - began) * 1e3)
        if group:
            cgroups.remove(group)
    label = "control group" if groups else "fallback walk"
    return [
        Figure(f"stop decided to all {TREE_SIZE} processes frozen, {label}, median", statistics.median(frozen), "ms", 5),
        Figure(f"the same, worst of {REPEATS}", max(frozen), "ms"),
        Figure(f"stop decided to all {TREE_SIZE} gone and recorded, {label}, median", statistics.median(ended), "ms", 200),
    ]  # fmt: skip


async def run() -> list[Figure]:
    """Measure all, in turn."""
    groups = cgroups.Containment.find(f"bench-{os.getpid()}")
    with tempfile.TemporaryDirectory(prefix="chaperon-bench-") as place:
        root = Path(place)
        found = await echo(root / "echo")
        await flood(root / "flood")
        found += await tree(root, None)
        if isinstance(groups, cgroups.Containment):
            found += await tree(root, groups)
            cgroups.remove(groups.agents.parent)
        else:
            print(groups.reason)
    return found


def main() -> list[Figure]:
    """Measure."""
    return anyio.run(run)


if __name__ == "__main__":
    print(*main(), sep="\n")
