"""A journal of years: how long a start takes that has lost its snapshot, or the archive as well, and what the list of agents costs.

usage: python -m tests.bench --only many

One stand-in runs under a real daemon, and what the journal says of it is written again under other names. Compared are a start
from the journal alone, one with a snapshot, one that has lost it, and a mere check of the lines, in one run, so that others at
work raise all.
"""

import dataclasses
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter, process_time

import anyio
import psutil

from supervisor.cli.client import connect
from supervisor.protocol.events import AnyEvent
from supervisor.runtime.journal.journal import Journal
from supervisor.runtime.journal.reader import read_lines, read_records
from tests.bench.bench_fleet import over, prepare, start
from tests.bench.bench_start import resident_megabytes, serving
from tests.bench.figures import Figure

EVENTS = int(os.environ.get("CHAPERON_BENCH_EVENTS", "100000"))
"""In the journal. A year of an agent that works all day is about a million."""

CALLS = 30
"""Tool calls of the agent that is written again: about 230 events, like the real ones of an afternoon."""

WAIT_EVERY = 10_000
"""Events after which the writer waits for the disk: what waits in memory is bounded."""


def recorded(base: Path) -> list[AnyEvent]:
    """What the journal of a real daemon says of one agent."""
    (repository,) = prepare(base, 1, CALLS, 0.0)

    async def play() -> None:
        daemon = connect(base / "run" / "chaperon.sock")
        await start(daemon, [repository])
        os.close(os.open(base / "gate", os.O_WRONLY))
        await over(daemon)

    with serving(base, CHAPERON_AGENT__COMMAND=str(base / "claude")):
        anyio.run(play)
    return [record.event for record in read_records(base / "state" / "journal") if record.event.agent]  # type: ignore[misc]


async def write(journal: Path, life: Sequence[AnyEvent], events: int, days: float = 0.0) -> int:
    """Write the life of an agent again and again; return how many there are.

    Args:
        journal: The folder.
        life: Events of one agent.
        events: How many to write.
        days: Over how many of the past they are spread; 0 writes all with the times that they had.
    """
    writer, _ = Journal.open(journal)
    agents = 0
    while writer.last < events:
        earlier = days * 86_400.0 * (1.0 - writer.last / events)
        for event in life:
            writer.append(dataclasses.replace(event, agent=f"m{agents}", at=event.at - earlier))
        agents += 1
        if writer.last % WAIT_EVERY < len(life):
            await writer.written(writer.last)
    await writer.synced(writer.last)
    writer.close()
    return agents


def main() -> list[Figure]:
    """Measure."""
    with (
        tempfile.TemporaryDirectory(prefix="chaperon-bench-") as one,
        tempfile.TemporaryDirectory(prefix="chaperon-bench-") as two,
    ):
        life, base = recorded(Path(one)), Path(two)
        journal = base / "state" / "journal"
        (base / "home").mkdir()
        journal.mkdir(parents=True)
        (base / "state").chmod(0o700)
        agents = anyio.run(write, journal, life, EVENTS)
        began = process_time()
        assert sum(1 for _ in read_lines(journal)) >= EVENTS
        checking = process_time() - began
        with serving(base, CHAPERON_CHECKPOINTS__ENABLED="false") as (daemon, _):
            without, weight = processor_seconds(daemon.pid), resident_megabytes(daemon.pid)
            client = connect(base / "run" / "chaperon.sock")
            began = perf_counter()
            listed = client.get("/v1/agents")
            listing = perf_counter() - began
        with serving(base, CHAPERON_CHECKPOINTS__ENABLED="false") as (daemon, _):
            with_one = processor_seconds(daemon.pid)
        (base / "state" / "snapshot.json").unlink()
        with serving(base, CHAPERON_CHECKPOINTS__ENABLED="false") as (daemon, _):
            by_archive = processor_seconds(daemon.pid)
    assert len(listed) == agents
    return [
        Figure(
            f"{EVENTS:,} events of {agents:,} agents: a start without a snapshot",
            by_archive,
            "s of processor",
            1.5 + 13.5 * EVENTS / 1_000_000,
        ),
        Figure("… without the archive of ended agents as well", without, "s of processor"),
        Figure("… times what it takes to check the journal's lines once", without / checking, "times"),
        Figure("… times a start with a snapshot", without / with_one, "times"),
        Figure("… resident memory", weight, "MB"),
        Figure("… the list of all agents", listing * 1e3, "ms"),
    ]


def processor_seconds(pid: int) -> float:
    """What a process has used so far, in user and system mode."""
    return sum(psutil.Process(pid).cpu_times()[:2])


if __name__ == "__main__":
    print(*main(), sep="\n")
