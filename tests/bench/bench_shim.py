"""What a shim costs and how fast a tree stands still and is gone. Run as a program; it prints figures and asserts none."""

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import anyio

from supervisor.runtime import containment
from supervisor.runtime.shims import Ended, Frozen, Output, Shim, ShimEvent, ShimSpec

ROUND_TRIPS = 2_000
TREE_SIZE = 20
REPEATS = 10
ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin"}


def resident_kib(pid: int) -> int:
    """Resident memory of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1])


async def until(shim: Shim, kind: type[ShimEvent]) -> ShimEvent:
    """The next event of a kind."""
    async for event in shim.events():
        if isinstance(event, kind):
            return event
    raise AssertionError(f"the agent ended without {kind.__name__}")


async def end(shim: Shim) -> Ended:
    """End the agent and wait until its shim has gone."""
    shim.end_tree()
    ended = await until(shim, Ended)
    async for _ in shim.events():
        pass
    assert isinstance(ended, Ended)
    return ended


async def echo(directory: Path) -> None:
    """Memory, start, and the way of a line to the CLI and back."""
    started = time.perf_counter()
    shim = await Shim.launch(ShimSpec("bench", directory, ["cat"], Path("/"), ENVIRONMENT))
    print(f"launch to hello          {(time.perf_counter() - started) * 1e3:8.1f} ms")
    micros = []
    for number in range(ROUND_TRIPS):
        sent = time.perf_counter()
        shim.send_line(f"k{number}", b"x" * 200 + b"\n")
        await until(shim, Output)
        micros.append((time.perf_counter() - sent) * 1e6)
    print(f"echo round trip          {statistics.median(micros):8.0f} µs median, {sorted(micros)[-20]:.0f} µs p99")
    print(f"resident after {ROUND_TRIPS} lines{resident_kib(shim.pid) / 1024:8.1f} MB")
    await end(shim)


async def flood(directory: Path) -> None:
    """Output from a CLI that prints as fast as it can, to the file and to a reading daemon."""
    size = 200_000_000
    script = f"import os\nfor _ in range({size // 1_000_000}): os.write(1, b'x' * 1_000_000)"
    started, got = time.perf_counter(), 0
    shim = await Shim.launch(ShimSpec("bench", directory, [sys.executable, "-I", "-S", "-c", script], Path("/"), {}))
    async for event in shim.events():
        got += len(event.data) if isinstance(event, Output) else 0
    print(f"output through the shim  {got / 1e6 / (time.perf_counter() - started):8.0f} MB/s")


async def tree(root: Path, groups: containment.Containment | None) -> None:
    """Freeze and end a tree of twenty processes with sessions of their own."""
    frozen, ended = [], []
    for number in range(REPEATS):
        name = f"bench-{number}"
        group = groups.make(name) if groups else None
        script = f"for i in $(seq {TREE_SIZE - 1}); do setsid sleep 300 & done; echo up; read x"
        directory = root / f"{'group' if groups else 'walk'}-{number}"
        shim = await Shim.launch(ShimSpec(name, directory, ["sh", "-c", script], Path("/"), ENVIRONMENT, cgroup=group))
        await until(shim, Output)
        shim.freeze()
        event = await until(shim, Frozen)
        assert isinstance(event, Frozen)
        frozen.append(event.micros / 1e3)
        shim.thaw()
        ended.append((await end(shim)).micros / 1e3)
        if group:
            containment.remove(group)
    label = "cgroup" if groups else "walk"
    for what, times in (("freeze", frozen), ("end", ended)):
        print(
            f"{what} {TREE_SIZE} by {label:<9}     {statistics.median(times):8.2f} ms median, {max(times):.2f} ms worst"
        )


async def run() -> None:
    """Measure all, in turn."""
    groups = containment.Containment.find(f"bench-{os.getpid()}")
    with tempfile.TemporaryDirectory(prefix="chaperon-bench-") as place:
        root = Path(place)
        await echo(root / "echo")
        await flood(root / "flood")
        await tree(root, None)
        if isinstance(groups, containment.Containment):
            await tree(root, groups)
            containment.remove(groups.agents.parent)
        else:
            print(groups.reason)


def main() -> None:
    """Print the figures."""
    anyio.run(run)


if __name__ == "__main__":
    main()
