"""Two hundred recorded agents at once under one real daemon, or a thousand: what it weighs then, and how long a decision takes.

usage: python -m tests.bench --only fleet
       python -m tests.bench --only fleet_thousand

The daemon, its socket and the shims are the real ones; the CLI's place is taken by a small program that says the CLI's lines at a real
agent's pace, since 200 real ones need 40 GB. A decision is timed by that program, from the hook's line written to its answer read: so
with the shim, the journal and the wait for a processor in it.
"""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import anyio
import anyio.to_thread
import psutil

from supervisor.cli.client import Client, connect
from tests.bench.bench_start import resident_megabytes, serving
from tests.bench.figures import Figure, middle, percentile

AGENTS = 200
CALLS = 12
PAUSE_SECONDS = 4.0
"""Between an agent's calls: real ones make one each 5 to 10 s."""

LONGEST_SECONDS = 400.0
"""A thousand take 150 s to start on two cores."""


def prepare(base: Path, agents: int, calls: int, pause: float) -> list[Path]:
    """A repository, a plan and a stand-in for each agent.

    Args:
        base: Where.
        agents: How many.
        calls: Tool calls that each makes.
        pause: Seconds between them, on average.
    """
    (base / "home").mkdir()
    shutil.copy(Path(__file__).with_name("fleet_agent.py"), base / "claude")
    (base / "claude").chmod(0o755)
    os.mkfifo(base / "gate")
    subprocess.run(["git", "init", "--quiet", str(base / "r0")], check=True)
    repositories = [base / f"r{number}" for number in range(agents)]
    for number, repository in enumerate(repositories):
        if number:
            shutil.copytree(repositories[0], repository, ignore=shutil.ignore_patterns("fleet.json"))
        plan = {"seed": number, "calls": calls, "pause": pause, "gate": str(base / "gate")}
        (repository / "fleet.json").write_text(json.dumps(plan))
    return repositories


Decisions = list[tuple[float, float]]
"""When each was asked for, on the clock that all processes share, and the seconds until it was there."""


def decisions(repositories: list[Path]) -> list[Decisions]:
    """The decisions of each agent, in the order in which they were asked for."""
    return [
        [(asked, seconds) for asked, seconds in json.loads((repository / "taken.json").read_text())]
        for repository in repositories
    ]


def before_the_first_end(taken: list[Decisions]) -> list[float]:
    """The seconds of the decisions that were asked for while all agents were at work.

    All begin at once here, and so they all end within seconds: the ends of a thousand, of which each costs as much
    processor as two calls, are 60 a second and take both processors whole. A thousand real ones that work for an hour
    end one each four seconds.
    """
    ended = min(each[-1][0] for each in taken)
    return [seconds for each in taken for asked, seconds in each if asked < ended]


async def start(daemon: Client, repositories: list[Path]) -> None:
    """Have an agent work in each, and wait until all of them would."""
    for repository in repositories:
        wanted = {"prompt": "go", "repository": str(repository)}
        await anyio.to_thread.run_sync(daemon.post, "/v1/agents", wanted)
    while (await states(daemon)).count("running") < len(repositories):
        await anyio.sleep(0.5)


async def states(daemon: Client) -> list[str]:
    """Each agent's state."""
    return [agent["state"] for agent in await anyio.to_thread.run_sync(daemon.get, "/v1/agents")]


async def over(daemon: Client) -> None:
    """Wait until all have ended: a daemon that ends leaves those that work to the next one."""
    while any(state not in ("done", "failed", "stopped", "lost") for state in await states(daemon)):
        await anyio.sleep(0.5)


class Played(NamedTuple):
    """What a run of all agents took."""

    start_seconds: float
    most_megabytes: float
    busy: float
    """Processors that the daemon used, from the moment when all went on until the last one's last decision."""
    idle: float
    """Processors that nobody used meanwhile."""


async def play(socket: Path, repositories: list[Path], base: Path, pid: int) -> Played:
    """Start all, let them go at once, and wait for all."""
    most = 0.0
    with anyio.fail_after(LONGEST_SECONDS):
        daemon = connect(socket)
        began = perf_counter()
        await start(daemon, repositories)
        started = perf_counter() - began
        process = psutil.Process(pid)
        used, unused, began = sum(process.cpu_times()[:2]), psutil.cpu_times().idle, perf_counter()
        os.close(os.open(base / "gate", os.O_WRONLY))
        while not all((repository / "taken.json").exists() for repository in repositories):
            most = max(most, resident_megabytes(pid))
            await anyio.sleep(1.0)
        seconds = perf_counter() - began
        busy = (sum(process.cpu_times()[:2]) - used) / seconds
        idle = (psutil.cpu_times().idle - unused) / seconds
        await over(daemon)
    return Played(started, most, busy, idle)


def main() -> list[Figure]:
    """Measure two hundred agents at twice the pace of real ones."""
    return measured(AGENTS, CALLS, PAUSE_SECONDS, 50.0)


def thousand() -> list[Figure]:
    """Measure a thousand at the pace of real ones."""
    return measured(1_000, 6, 10.0, 200.0)


def measured(agents: int, calls: int, pause: float, aim: float) -> list[Figure]:
    """Measure so many agents, each with so many calls; the aim is of the 99th percentile, in milliseconds."""
    with tempfile.TemporaryDirectory(prefix="chaperon-bench-") as place:
        base = Path(place)
        repositories = prepare(base, agents, calls, pause)
        with serving(base, CHAPERON_AGENT__COMMAND=str(base / "claude")) as (daemon, _):
            played = anyio.run(play, base / "run" / "chaperon.sock", repositories, base, daemon.pid)
        by_agent = decisions(repositories)
    taken, at_work = [seconds for each in by_agent for _, seconds in each], before_the_first_end(by_agent)
    assert len(taken) == agents * calls
    return [
        Figure(f"{agents:,} agents: all started after", played.start_seconds, "s"),
        Figure(f"{agents:,} agents: resident memory of the daemon", played.most_megabytes, "MB"),
        Figure(f"{agents:,} agents: processors that the daemon uses", played.busy, "of 2"),
        Figure(f"{agents:,} agents: processors that nobody uses", played.idle, "of 2"),
        Figure(f"{agents:,} agents: a decision, median, seen by the CLI", middle(taken) * 1e3, "ms"),
        Figure(f"{agents:,} agents: a decision, 99th percentile, seen by the CLI", percentile(taken, 0.99) * 1e3, "ms", aim),
        Figure("… of those before the first of them ends, median", middle(at_work) * 1e3, "ms"),
        Figure("… of those before the first of them ends, 99th percentile", percentile(at_work, 0.99) * 1e3, "ms", aim),
    ]  # fmt: skip


if __name__ == "__main__":
    print(*main(), sep="\n")
